//! Whether what was installed may go (K7): never while somebody depends on it, unless a person says so.

use super::decision::{Case, Step};
use super::mode::ManagerMode;
use super::observed::{OurWorkload, ServiceFacts};
use crate::api::DeletionPolicy;

/// What becomes of an object that is being deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Uninstall {
    /// It stays as it is, and why.
    Refused {
        /// What to do.
        message: String,
    },
    /// These steps, then the manager goes; look again.
    Stopping {
        /// What to do first.
        steps: Vec<Step>,
        /// What is waited for.
        message: String,
    },
    /// Nothing of ours runs: what the inventory lists may be deleted, the finalizer last.
    Removable,
}

/// What becomes of an object that is being deleted.
#[must_use]
pub fn uninstall(case: &Case<'_>) -> Uninstall {
    if let Some(unread) = case.observed.unread.first() {
        return Uninstall::Refused { message: format!("{} could not be read: {}", unread.what, unread.why) };
    }
    let is_orphaning = case.spec.deletion_policy == DeletionPolicy::Orphan;
    let served: Vec<&ServiceFacts> =
        case.observed.services.iter().filter(|service| is_served(service)).collect();
    let is_running = case.observed.ours.as_ref().is_some_and(|ours| ours.strongest() > ManagerMode::Absent);
    let has_acted = case.observed.ours.as_ref().is_some_and(|ours| ours.mode.is_none_or(ManagerMode::acts));
    if has_acted && !is_orphaning && !served.is_empty() {
        let names: Vec<String> = served.iter().take(10).map(|service| service.key()).collect();
        return Uninstall::Refused {
            message: format!(
                "{} Services have load balancers: {}. Delete them first; or set deletionPolicy: Orphan, then their load balancers stay and nobody looks after them",
                served.len(),
                names.join(", ")
            ),
        };
    }
    let steps = untaints(case);
    let is_there =
        case.observed.ours.as_ref().is_some_and(|ours| is_running || ours.mode != Some(ManagerMode::Absent));
    if is_there || !steps.is_empty() {
        return Uninstall::Stopping { steps, message: waiting(case) };
    }
    Uninstall::Removable
}

/// A Service that has, or is about to give back, a load balancer.
fn is_served(service: &ServiceFacts) -> bool {
    !service.ingress.is_empty() || service.has_finalizer || service.load_balancer_id.is_some()
}

fn untaints(case: &Case<'_>) -> Vec<Step> {
    let ours = case.observed.nodes.iter().filter(|node| node.uninitialized && node.tainted_at.is_some());
    ours.map(|node| Step::UntaintNode { name: node.name.clone(), uid: node.uid.clone() }).collect()
}

fn waiting(case: &Case<'_>) -> String {
    let pods = case.observed.ours.as_ref().map_or(0, |ours: &OurWorkload| ours.live().count());
    let tainted =
        case.observed.nodes.iter().filter(|node| node.uninitialized && node.tainted_at.is_none()).count();
    let mut text = format!("our manager is being stopped: {pods} pods are left");
    if case.observed.static_pods.iter().any(|one| one.pod.may_run()) {
        text.push_str(&format!(
            "; take the manifests of static pods away from {} of their nodes",
            crate::render::MANIFESTS
        ));
    }
    if tainted > 0 {
        text.push_str(&format!(
            "; {tainted} nodes wait to be initialised, and will until another manager runs"
        ));
    }
    text
}
