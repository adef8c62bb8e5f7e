//! RollingBack and Previous (K6): in the reverse order, and never so that the previous writer makes a second load balancer.

use bowline_cloud::ServiceView;

use super::super::decision::Step;
use super::super::observed::{KubeletEvidence, ManagerWorkload, ServiceFacts, WorkloadKind};
use super::super::writers::{Who, Writer, in_tree_is_possible};
use super::super::{admin, reason::Reason};
use super::{Draft, Outcome, View};
use crate::api::{AdminStep, MigrationKind, Phase};
use crate::flags::Component;
use crate::migration::ManagerMode;

/// Whether there is anything to go back to; if not, why.
pub(in super::super) fn is_possible(view: &View<'_>) -> Result<(), String> {
    let observed = view.case.observed;
    match view.kind {
        MigrationKind::Upgrade => Err("there is no other manager to go back to; to go back to another version, set version".to_owned()),
        MigrationKind::OtherManager if observed.managers.is_empty() => {
            Err("the previous manager was removed after it was kept for as long as was asked for; there is nothing to go back to".to_owned())
        }
        _ => Ok(()),
    }
}

pub(super) fn rolling_back(view: &View<'_>) -> Draft {
    if view.strongest() > ManagerMode::Absent || view.current() > ManagerMode::Absent {
        return stop(view);
    }
    let (steps, admin) = restore(view);
    let outcome = if steps.is_empty() && admin.is_empty() {
        Outcome::Go(Phase::Previous, "the previous writer has the cluster back".to_owned())
    } else {
        Outcome::Stay("our manager is gone; the previous writer is started".to_owned())
    };
    Draft { steps, admin, ..Draft::new(outcome, ManagerMode::Absent) }
}

/// Ours: first no nodes, then (after the kubelets) nothing at all.
fn stop(view: &View<'_>) -> Draft {
    if view.others.iter().any(Writer::is_heedless) {
        let message = "the previous writer writes already, so our manager is stopped at once".to_owned();
        let outcome = view.wait(Reason::ManagerStillRunning, message);
        return Draft { steps: untaints(view), ..Draft::new(outcome, ManagerMode::Absent) };
    }
    let lost = unfindable(view);
    let acts = view.current().acts() || view.strongest().acts();
    if acts && !lost.is_empty() {
        let outcome = Outcome::Block(Reason::RollbackWouldDuplicate, would_duplicate(view, &lost));
        return Draft { hold: true, ..Draft::new(outcome, view.current()) };
    }
    let steps = untaints(view);
    let writes_nodes =
        view.strongest() > ManagerMode::ServiceOnly || view.current() > ManagerMode::ServiceOnly;
    if writes_nodes {
        let message = "our manager lets go of nodes first".to_owned();
        return Draft {
            steps,
            ..Draft::new(view.wait(Reason::ManagerStillRunning, message), ManagerMode::ServiceOnly)
        };
    }
    let kubelets = kubelets_back(view);
    if acts && !kubelets.is_empty() {
        let message =
            "the kubelets are to be set back: see status.migration.steps, or `bowline migrate status`"
                .to_owned();
        return Draft {
            steps,
            admin: kubelets,
            ..Draft::new(Outcome::Stay(message), ManagerMode::ServiceOnly)
        };
    }
    let message = "our manager is being stopped; all its pods have to be gone".to_owned();
    Draft { steps, ..Draft::new(view.wait(Reason::ManagerStillRunning, message), ManagerMode::Absent) }
}

/// What a person can do about it, for each Service.
fn would_duplicate(view: &View<'_>, lost: &[&ServiceFacts]) -> String {
    let names: Vec<String> = lost.iter().take(10).map(|service| service.key()).collect();
    let more = lost.len().saturating_sub(names.len());
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let mut message = format!(
        "the previous writer cannot find the load balancers of {}{more}, and would make others. Delete these Services, or accept it by migration.accept",
        names.join(", ")
    );
    let renamed = |service: &&&ServiceFacts| service.load_balancer_id.is_some();
    if view.kind == MigrationKind::InTree && lost.iter().any(|service| renamed(&service)) {
        let commands: Vec<String> = lost
            .iter()
            .filter(renamed)
            .take(10)
            .map(|service| {
                let id = service.load_balancer_id.as_deref().unwrap_or_default();
                format!("openstack loadbalancer set --name {} {id}", inside_name(&service.uid))
            })
            .collect();
        message.push_str(&format!(
            "; to keep their load balancers, give them the names that the provider inside looks for, then accept these Services: {}",
            commands.join("; ")
        ));
    }
    message
}

/// What the provider inside kube-controller-manager calls the load balancer of a Service.
fn inside_name(uid: &str) -> String {
    let service = ServiceView { uid: uid.into(), ..ServiceView::default() };
    service.default_load_balancer_name()
}

/// Services whose load balancers the previous writer would not find, and that nobody has accepted.
fn unfindable<'a>(view: &View<'a>) -> Vec<&'a ServiceFacts> {
    // Only managers outside note the id of a load balancer: what had an address and no id was made by the provider inside.
    let known = |service: &ServiceFacts| {
        let before = view.snapshot.filter(|snapshot| !snapshot.late);
        let key = service.key();
        before.is_some_and(|snapshot| {
            snapshot.service_uids.get(&key) == Some(&service.uid)
                && !snapshot.load_balancers.contains_key(&key)
        })
    };
    let can_find = |service: &ServiceFacts| match view.kind {
        // It looks for the annotation, and for the same name as we do.
        MigrationKind::OtherManager => true,
        // It knows only those that it has made itself.
        MigrationKind::InTree => known(service),
        // Nobody is there to find anything.
        _ => false,
    };
    let accept = &view.case.spec.migration.accept;
    let services = view.case.observed.services.iter().filter(|service| {
        !service.ingress.is_empty() && !service.deleting && !accept.contains(&service.key())
    });
    services.filter(|service| !can_find(service)).collect()
}

fn untaints(view: &View<'_>) -> Vec<Step> {
    let ours = view.case.observed.nodes.iter().filter(|node| node.uninitialized && node.tainted_at.is_some());
    ours.map(|node| Step::UntaintNode { name: node.name.clone(), uid: node.uid.clone() }).collect()
}

/// Only the provider inside needs kubelets that write addresses.
fn kubelets_back(view: &View<'_>) -> Vec<AdminStep> {
    let in_tree = in_tree_is_possible(view.case);
    let is_external =
        view.case.observed.nodes.iter().any(|node| {
            admin::is_claimed(view.case, node) && node.kubelet(in_tree) == KubeletEvidence::External
        });
    if view.kind != MigrationKind::InTree || !is_external {
        return Vec::new();
    }
    admin::to_go_back(view.case, Component::Kubelet)
}

/// What lets the previous writer run again. Ours has no process any more.
fn restore(view: &View<'_>) -> (Vec<Step>, Vec<AdminStep>) {
    let steps = untaints(view);
    match view.kind {
        MigrationKind::OtherManager => {
            let stopped = view.case.observed.managers.iter().filter(|manager| manager.desired == 0);
            let starts = stopped.filter_map(|manager| scale_up(view, manager));
            (steps.into_iter().chain(starts).collect(), Vec::new())
        }
        MigrationKind::InTree if !admin::is_inside_again(view.case) => {
            (steps, admin::to_go_back(view.case, Component::ControllerManager))
        }
        MigrationKind::Embedded if !view.others.iter().any(|writer| matches!(writer.who, Who::Inside(_))) => {
            (steps, admin::to_go_back(view.case, Component::ControllerManager))
        }
        _ => (steps, Vec::new()),
    }
}

fn scale_up(view: &View<'_>, manager: &ManagerWorkload) -> Option<Step> {
    let in_snapshot =
        view.snapshot.and_then(|snapshot| snapshot.previous_replicas.get(&manager.workload.key()));
    let replicas = manager.previous_replicas.or(in_snapshot.copied()).filter(|replicas| *replicas > 0)?;
    let is_ours_to_start = manager.workload.kind != WorkloadKind::Pod;
    is_ours_to_start.then(|| Step::ScaleUp { workload: manager.workload.clone(), replicas })
}

pub(super) fn previous(view: &View<'_>) -> Draft {
    let outcome = if view.case.spec.migration.rollback {
        Outcome::Stay("as it was before; to begin anew, set migration.rollback: false".to_owned())
    } else {
        Outcome::Go(Phase::Detect, "the way back is no longer asked for".to_owned())
    };
    Draft::new(outcome, ManagerMode::Absent)
}
