//! What a cluster is migrated from, told by evidence. Where two things speak against each other, a person is asked; nobody guesses.

use super::decision::Case;
use super::distribution::{has_manager_inside, made};
use super::mode::ManagerMode;
use super::observed::{KubeletEvidence, ManagerWorkload};
use super::writers::{Who, Writer, in_tree_is_possible, others};
use crate::api::{Evidence, MigrationKind};
use crate::platform::{Platform, detect as platform_of};

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detected {
    /// The kind; or why there is none.
    pub kind: Result<MigrationKind, Unclear>,
    /// What speaks for it.
    pub evidence: Vec<Evidence>,
}

/// Why there is no kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unclear {
    /// It will be known soon; what is waited for.
    NotYet(String),
    /// Somebody has to look.
    Ambiguous(String),
}

/// What the cluster is migrated from.
#[must_use]
pub fn detect(case: &Case<'_>) -> Detected {
    let writers = others(case);
    let kind = recorded(case).map_or_else(|| kind(case, &writers), Ok);
    Detected { kind, evidence: evidence(case, &writers) }
}

/// What our own workload says it came from.
fn recorded(case: &Case<'_>) -> Option<MigrationKind> {
    case.observed.ours.as_ref().filter(|ours| ours.mode.is_none_or(ManagerMode::takes_lease))?.kind
}

fn kind(case: &Case<'_>, writers: &[Writer<'_>]) -> Result<MigrationKind, Unclear> {
    is_one_cloud(case)?;
    is_one_writer(writers)?;
    let inside = has_manager_inside(made(case.observed));
    let named_inside = case.observed.nodes.iter().any(|node| matches!(node.scheme(), Some("k3s" | "rke2")));
    let is_ours = case.observed.ours.as_ref().is_some_and(|ours| ours.mode.is_none_or(ManagerMode::acts));
    if case.observed.managers.iter().any(was_leading) {
        return Ok(MigrationKind::OtherManager);
    }
    if writers.iter().any(|writer| matches!(writer.who, Who::InTree(_))) {
        return Ok(MigrationKind::InTree);
    }
    if inside && (named_inside || writers.iter().any(|writer| !matches!(writer.who, Who::Manager(_)))) {
        return Ok(MigrationKind::Embedded);
    }
    if is_ours {
        return Ok(MigrationKind::Upgrade);
    }
    if let Some(writer) = writers.first() {
        return Err(Unclear::Ambiguous(format!("{}; nobody can say whether it writes", writer.seen)));
    }
    unseen_holder(case)?;
    Ok(if is_fresh(case) { MigrationKind::Fresh } else { MigrationKind::None })
}

/// A manager that runs, or was stopped by the operator.
fn was_leading(manager: &ManagerWorkload) -> bool {
    manager.desired > 0 || manager.live().next().is_some() || manager.previous_replicas.is_some()
}

/// Nodes of other clouds are left alone; but one of ours there must be, or one that nobody has named yet.
fn is_one_cloud(case: &Case<'_>) -> Result<(), Unclear> {
    let found = platform_of(case.observed.nodes.iter().map(|node| node.provider_id.as_deref()));
    let wanted = Platform::from(case.spec.platform);
    let others = !found.platforms.is_empty() || !found.unknown.is_empty();
    let is_possible =
        found.platforms.contains_key(&wanted) || found.without > 0 || !found.embedded.is_empty();
    if !others || is_possible {
        return Ok(());
    }
    let names: Vec<String> =
        found.platforms.keys().map(ToString::to_string).chain(found.unknown.into_keys()).collect();
    Err(Unclear::Ambiguous(format!(
        "platform is {wanted}, but the provider IDs of all nodes are of {}; make an object for that platform",
        names.join(", ")
    )))
}

fn is_one_writer(writers: &[Writer<'_>]) -> Result<(), Unclear> {
    let managers = writers.iter().filter(|writer| matches!(writer.who, Who::Manager(_))).count();
    let inside = writers.iter().any(|writer| matches!(writer.who, Who::InTree(_) | Who::Inside(_)));
    if managers + usize::from(inside) <= 1 {
        return Ok(());
    }
    let seen: Vec<&str> = writers.iter().map(|writer| writer.seen.as_str()).collect();
    Err(Unclear::Ambiguous(format!(
        "more than one writer is there already: {}; stop all but one",
        seen.join("; ")
    )))
}

/// A Lease that somebody renews, of whom nothing else can be seen.
fn unseen_holder(case: &Case<'_>) -> Result<(), Unclear> {
    let held = case
        .observed
        .leases
        .iter()
        .find(|lease| lease.name.contains("cloud-controller-manager") && !lease.is_over());
    let Some(lease) = held else { return Ok(()) };
    let ours = case.observed.ours.as_ref();
    if ours.is_some_and(|ours| ours.may_be(lease.holder.as_deref())) {
        return Ok(());
    }
    let (key, holder) = (lease.key(), lease.holder.clone().unwrap_or_default());
    Err(if lease.seen_renewed {
        Unclear::Ambiguous(format!(
            "Lease {key} is renewed by {holder}, and no workload is known that does so; stop it, or give its Deployment or DaemonSet the label k8s-app=openstack-cloud-controller-manager"
        ))
    } else {
        Unclear::NotYet(format!(
            "Lease {key} names {holder}; it is watched for its {} s",
            lease.duration.as_secs()
        ))
    })
}

/// Nobody has served this cluster yet: no load balancer, no node that its kubelet has finished by itself.
fn is_fresh(case: &Case<'_>) -> bool {
    let in_tree = in_tree_is_possible(case);
    let served = case
        .observed
        .services
        .iter()
        .any(|service| !service.ingress.is_empty() || service.load_balancer_id.is_some());
    !served && case.observed.nodes.iter().all(|node| node.kubelet(in_tree) == KubeletEvidence::External)
}

fn evidence(case: &Case<'_>, writers: &[Writer<'_>]) -> Vec<Evidence> {
    let item = |object: String, shows: String| Evidence { object, shows };
    let mut found = vec![item(
        "cluster".to_owned(),
        format!("Kubernetes 1.{}, {:?}", case.observed.cluster.minor, made(case.observed)),
    )];
    found.extend(writers.iter().map(|writer| item(object_of(writer), writer.seen.clone())));
    for lease in &case.observed.leases {
        let state = if lease.is_over() {
            "is over"
        } else if lease.seen_renewed {
            "is renewed"
        } else {
            "is held"
        };
        found.push(item(
            format!("lease/{}", lease.key()),
            format!("{state}; holder {:?}", lease.holder.as_deref().unwrap_or_default()),
        ));
    }
    let nodes = platform_of(case.observed.nodes.iter().map(|node| node.provider_id.as_deref()));
    let waiting = case.observed.nodes.iter().filter(|node| node.uninitialized).count();
    found.push(item(
        "nodes".to_owned(),
        format!("{} in all, {} without a provider ID, {waiting} uninitialised; platforms {:?}, inside {:?}, others {:?}", case.observed.nodes.len(), nodes.without, nodes.platforms, nodes.embedded, nodes.unknown),
    ));
    let served = case.observed.services.iter().filter(|service| !service.ingress.is_empty()).count();
    found.push(item(
        "services".to_owned(),
        format!("{} of type LoadBalancer, {served} with an address", case.observed.services.len()),
    ));
    found
}

fn object_of(writer: &Writer<'_>) -> String {
    match writer.who {
        Who::InTree(pod) => format!("pod/kube-system/{}", pod.name),
        Who::Inside(node) => format!("node/{}", node.name),
        Who::InsideLease => "lease".to_owned(),
        Who::Manager(manager) => manager.workload.key(),
        Who::Unseen(node) => format!("node/{node}"),
    }
}
