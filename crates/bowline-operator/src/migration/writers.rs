//! Who else may write to the cloud for this cluster (I1). A writer is gone when that is proven; what cannot be seen counts as one.

use super::decision::Case;
use super::distribution::{has_manager_inside, made};
use super::observed::{ManagerWorkload, MirrorPod, NodeFacts, Readiness};
use crate::flags::{Component, value_of};
use crate::platform::{InTree, Platform, in_tree};

/// The Leases of the managers inside k3s and RKE2.
const INSIDE_LEASES: [&str; 2] = ["k3s-cloud-controller-manager", "rke2-cloud-controller-manager"];

/// Somebody who writes, or may write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Writer<'a> {
    /// Who.
    pub(super) who: Who<'a>,
    /// Whether it waits for the Lease that ours holds: then there is one writer even if both run.
    pub(super) heeds_lease: bool,
    /// Whether it is known to write. What only cannot be seen is no reason to stop what runs well.
    pub(super) is_certain: bool,
    /// What was seen, for people.
    pub(super) seen: String,
}

impl Writer<'_> {
    /// Whether it is known to write, and nothing that ours does keeps it from that.
    pub(super) fn is_heedless(&self) -> bool {
        self.is_certain && !self.heeds_lease
    }
}

/// Who writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who<'a> {
    /// kube-controller-manager of a node, with the provider inside.
    InTree(&'a MirrorPod),
    /// The manager inside k3s or RKE2 of a server.
    Inside(&'a NodeFacts),
    /// The manager inside k3s or RKE2, by its Lease.
    InsideLease,
    /// Another cloud-controller-manager.
    Manager(&'a ManagerWorkload),
    /// A control-plane node of which nobody knows what runs there.
    Unseen(&'a str),
}

/// Whether kube-controller-manager may have the provider inside. It may be one minor version older than the API server.
pub(super) fn in_tree_is_possible(case: &Case<'_>) -> bool {
    let platform = Platform::from(case.spec.platform);
    let is_inside = has_manager_inside(made(case.observed));
    !is_inside && in_tree(&platform, case.observed.cluster.minor.saturating_sub(1)) != InTree::Gone
}

/// Everyone but ours who writes, or may write.
pub(super) fn others<'a>(case: &Case<'a>) -> Vec<Writer<'a>> {
    let mut found = in_tree_writers(case);
    found.extend(inside_writers(case));
    found.extend(case.observed.managers.iter().filter_map(|manager| manager_writer(case, manager)));
    found
}

/// What `--cloud-provider` of a kube-controller-manager is, if it is a provider inside.
pub(super) fn provider_inside(pod: &MirrorPod) -> Option<String> {
    let is_manager = pod.component == Component::ControllerManager;
    let provider = value_of(&pod.arguments, "cloud-provider").filter(|_| is_manager)?;
    (!provider.is_empty() && provider != "external").then_some(provider)
}

fn in_tree_writers<'a>(case: &Case<'a>) -> Vec<Writer<'a>> {
    let pods =
        || case.observed.control_plane.iter().filter(|pod| pod.component == Component::ControllerManager);
    let mut found: Vec<Writer<'a>> = pods()
        .filter_map(|pod| {
            let provider = provider_inside(pod)?;
            let seen =
                format!("kube-controller-manager on node {} runs with --cloud-provider={provider}", pod.node);
            Some(Writer { who: Who::InTree(pod), heeds_lease: false, is_certain: true, seen })
        })
        .collect();
    if !in_tree_is_possible(case) {
        return found;
    }
    let control_plane: Vec<&NodeFacts> =
        case.observed.nodes.iter().filter(|node| node.control_plane).collect();
    if control_plane.is_empty() {
        let seen = "no control-plane node can be seen, and this version of kube-controller-manager may have the provider inside";
        found.push(unseen("", seen.to_owned()));
    }
    for node in control_plane {
        let mut of_node = pods().filter(|pod| pod.node == node.name).peekable();
        if let Some(why) = unproven(case, node, of_node.peek().copied()) {
            found.push(unseen(&node.name, why));
        }
    }
    found
}

fn unseen(node: &str, seen: String) -> Writer<'_> {
    Writer { who: Who::Unseen(node), heeds_lease: false, is_certain: false, seen }
}

/// Why nobody knows whether kube-controller-manager of a node has relinquished.
fn unproven(case: &Case<'_>, node: &NodeFacts, pod: Option<&MirrorPod>) -> Option<String> {
    let name = &node.name;
    if node.readiness != Readiness::Ready {
        return Some(format!(
            "control-plane node {name} is not ready, so what is known of its kube-controller-manager may be old"
        ));
    }
    let Some(pod) = pod else {
        return Some(format!(
            "there is no mirror pod of kube-controller-manager on control-plane node {name}"
        ));
    };
    if provider_inside(pod).is_some() {
        return None;
    }
    let Some(started) = pod.started_at.filter(|_| pod.ready) else {
        return Some(format!("kube-controller-manager on node {name} is not running yet with its new flags"));
    };
    let snapshot = case.status.migration.as_ref().and_then(|migration| migration.snapshot.as_ref());
    let before = snapshot.and_then(|snapshot| snapshot.in_tree.get(name));
    before.filter(|before| started <= **before).map(|_| {
        format!("kube-controller-manager on node {name} has not started anew since its flags changed")
    })
}

fn inside_writers<'a>(case: &Case<'a>) -> Vec<Writer<'a>> {
    if !has_manager_inside(made(case.observed)) {
        return Vec::new();
    }
    let servers = case.observed.nodes.iter().filter(|node| node.control_plane);
    let mut found: Vec<Writer<'a>> = servers.filter_map(inside_writer).collect();
    let alive = case
        .observed
        .leases
        .iter()
        .find(|lease| INSIDE_LEASES.contains(&lease.name.as_str()) && !lease.is_over());
    if let (Some(lease), true) = (alive, found.is_empty()) {
        let seen =
            format!("Lease {} of the manager inside has not been left for its whole duration", lease.key());
        found.push(Writer { who: Who::InsideLease, heeds_lease: false, is_certain: lease.is_alive(), seen });
    }
    found
}

fn inside_writer(node: &NodeFacts) -> Option<Writer<'_>> {
    let name = &node.name;
    let Some(arguments) = node.node_args.as_deref().filter(|_| node.readiness == Readiness::Ready) else {
        return Some(unseen(
            name,
            format!("server {name} does not say what it was started with, or is not ready"),
        ));
    };
    if is_switched_off(arguments) {
        return None;
    }
    let seen = format!(
        "server {name} runs the cloud-controller-manager inside it: it was started without disable-cloud-controller"
    );
    Some(Writer { who: Who::Inside(node), heeds_lease: false, is_certain: true, seen })
}

/// Whether the manager inside is switched off. A flag without a value is followed by another flag, or by `true`.
fn is_switched_off(arguments: &[String]) -> bool {
    let value = value_of(arguments, "disable-cloud-controller");
    value.is_some_and(|value| value.is_empty() || value == "true")
}

fn manager_writer<'a>(case: &Case<'a>, manager: &'a ManagerWorkload) -> Option<Writer<'a>> {
    let live = manager.live().count();
    if manager.desired == 0 && live == 0 {
        return None;
    }
    let unreachable: Vec<&str> = manager
        .live()
        .filter_map(|pod| pod.node.as_deref())
        .filter(|node| case.observed.node(node).is_none_or(|node| node.readiness == Readiness::Unknown))
        .collect();
    let mut seen = format!(
        "{} ({}) shall have {} pods and has {live}",
        manager.workload.key(),
        manager.product,
        manager.desired
    );
    if !unreachable.is_empty() {
        seen.push_str(&format!("; nodes that cannot be reached: {}", unreachable.join(", ")));
    }
    Some(Writer {
        who: Who::Manager(manager),
        heeds_lease: heeds_lease(case, manager),
        is_certain: true,
        seen,
    })
}

/// Where the Lease of a manager is; `None` if it takes none.
pub(super) fn lease_of(manager: &ManagerWorkload) -> Option<(String, String)> {
    let value = |flag| value_of(&manager.arguments, flag).filter(|value: &String| !value.is_empty());
    if value("leader-elect").is_some_and(|value| value == "false") {
        return None;
    }
    let namespace = value("leader-elect-resource-namespace").unwrap_or_else(|| "kube-system".to_owned());
    let name = value("leader-elect-resource-name").unwrap_or_else(|| "cloud-controller-manager".to_owned());
    Some((namespace, name))
}

/// Whether a manager waits for the Lease that ours is told to hold.
pub(super) fn heeds_lease(case: &Case<'_>, manager: &ManagerWorkload) -> bool {
    lease_of(manager).is_some_and(|(namespace, name)| {
        namespace == case.spec.lease_namespace && name == case.spec.lease_name
    })
}

/// What writers were seen, as one text.
pub(super) fn describe(writers: &[Writer<'_>]) -> String {
    writers.iter().map(|writer| writer.seen.as_str()).collect::<Vec<_>>().join("; ")
}
