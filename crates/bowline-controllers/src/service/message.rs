//! The events of this controller: upstream's reasons and texts, which people and tests match on. Pure.

use std::fmt::Display;

use bowline_cloud::{EventKind, NodeSet, PAUSED};

use super::memory::Task;
use crate::rails::pause::Paused;

/// How many node names a message shows.
const MOST_NAMES: usize = 20;

/// An event in the making.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) kind: EventKind,
    pub(super) reason: &'static str,
    pub(super) text: String,
}

fn normal(reason: &'static str, text: impl Into<String>) -> Message {
    Message { kind: EventKind::Normal, reason, text: text.into() }
}

fn warning(reason: &'static str, text: impl Into<String>) -> Message {
    Message { kind: EventKind::Warning, reason, text: text.into() }
}

/// The first step is about to be made.
pub(super) fn begins(task: Task, nodes: &NodeSet) -> Vec<Message> {
    match task {
        Task::Ensure => {
            let mut messages = vec![normal("EnsuringLoadBalancer", "Ensuring load balancer")];
            messages.extend(no_nodes(nodes));
            messages
        }
        Task::Nodes => Vec::new(),
        Task::Remove | Task::RemoveOrphan => vec![normal("DeletingLoadBalancer", "Deleting load balancer")],
    }
}

/// All is as wanted.
pub(super) fn done(task: Task, nodes: &NodeSet) -> Message {
    match task {
        Task::Ensure => normal("EnsuredLoadBalancer", "Ensured load balancer"),
        Task::Nodes => no_nodes(nodes)
            .unwrap_or_else(|| normal("UpdatedLoadBalancer", "Updated load balancer with new hosts")),
        Task::Remove | Task::RemoveOrphan => normal("DeletedLoadBalancer", "Deleted load balancer"),
    }
}

fn no_nodes(nodes: &NodeSet) -> Option<Message> {
    let text = "There are no available nodes for LoadBalancer";
    nodes.nodes.is_empty().then(|| warning("UnAvailableLoadBalancer", text))
}

/// A step failed.
pub(super) fn failed(task: Task, nodes: &NodeSet, error: &dyn Display) -> Message {
    match task {
        Task::Ensure => not_synced(&format!("failed to ensure load balancer: {error}")),
        Task::Remove => not_synced(&format!("failed to delete load balancer: {error}")),
        Task::RemoveOrphan => {
            warning("DeleteLoadBalancerFailed", format!("Error deleting load balancer: {error}"))
        }
        Task::Nodes => {
            let (names, total) = (limited_names(nodes), nodes.nodes.len());
            warning(
                "UpdateLoadBalancerFailed",
                format!(
                    "Error updating load balancer with new hosts {names} [node names limited, total number of nodes: {total}], error: {error}"
                ),
            )
        }
    }
}

/// What is in the cloud could not be seen.
pub(super) fn unknown(task: Task, nodes: &NodeSet, why: &dyn Display) -> Message {
    match task {
        Task::Remove => not_synced(&format!("failed to check if load balancer exists before cleanup: {why}")),
        _ => failed(task, nodes, why),
    }
}

/// The Service could not be brought to what it asks for.
pub(super) fn not_synced(why: &dyn Display) -> Message {
    warning("SyncLoadBalancerFailed", format!("Error syncing load balancer: {why}"))
}

/// Nothing is written for it, says its owner.
pub(super) fn paused(said: &str) -> Message {
    normal(
        "LoadBalancerPaused",
        format!(
            "Nothing is changed for this Service while its annotation {PAUSED} is {said:?}; remove it to go on"
        ),
    )
}

/// Nothing is written for anybody.
pub(super) fn cluster_paused(paused: &Paused) -> Message {
    normal("LoadBalancerPaused", format!("Waiting to change the load balancer: {paused}"))
}

/// It takes its time.
pub(super) fn waits(reason: &str) -> Message {
    normal("WaitingForLoadBalancer", format!("Waiting for the cloud: {reason}"))
}

/// Safety rail SR-7 wants a second look.
pub(super) fn held(what: &str) -> Message {
    warning("LoadBalancerChangeHeld", format!("Looking again before a large removal: {what}"))
}

/// Safety rail SR-10 stopped a create.
pub(super) fn too_many_creates(why: &dyn Display) -> Message {
    warning("LoadBalancerCreateHeld", format!("Not created: {why}"))
}

/// Sorted names as Go prints a list, cut at [`MOST_NAMES`].
fn limited_names(nodes: &NodeSet) -> String {
    let mut names: Vec<String> = nodes.nodes.keys().take(MOST_NAMES).map(ToString::to_string).collect();
    let more = nodes.nodes.len().saturating_sub(MOST_NAMES);
    if more > 0 {
        names.push(format!("<{more} more>"));
    }
    format!("[{}]", names.join(" "))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn nodes(count: usize) -> NodeSet {
        let nodes = (0..count).map(|n| (format!("n{n:02}").into(), Arc::default())).collect();
        NodeSet { epoch: 1, nodes: Arc::new(nodes), ..NodeSet::default() }
    }

    #[test]
    fn a_failed_update_of_the_nodes_names_twenty_of_them() {
        let text = failed(Task::Nodes, &nodes(2), &"no").text;
        assert_eq!(
            text,
            "Error updating load balancer with new hosts [n00 n01] [node names limited, total number of nodes: 2], error: no"
        );
        let text = failed(Task::Nodes, &nodes(25), &"no").text;
        assert!(text.contains("n19 <5 more>] [node names limited, total number of nodes: 25]"), "{text}");
    }

    #[test]
    fn a_load_balancer_without_nodes_is_told_of() {
        assert_eq!(begins(Task::Ensure, &nodes(0)).len(), 2);
        assert_eq!(done(Task::Nodes, &nodes(0)).reason, "UnAvailableLoadBalancer");
        assert_eq!(done(Task::Nodes, &nodes(1)).reason, "UpdatedLoadBalancer");
    }
}
