//! The events of this controller: upstream's reasons and texts, which people and tests match on. Pure.

use std::collections::BTreeSet;
use std::fmt::Display;

use bowline_cloud::{EventKind, NodeSet, PAUSED, Refusal};

use super::memory::Task;
use super::moved::Moved;
use crate::rails::adopt_only::NotAdopted;
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

/// The longest text of an event that is shown whole.
const LONGEST: usize = 1024;

/// What is said where not all problems fit.
const REST: &str = "all of them are in the log of the cloud controller manager";

/// As many problems as fit into so many bytes, and how many are left out.
pub(super) fn fitting(problems: &[String], most: usize) -> String {
    let all = problems.join("; ");
    if all.len() <= most {
        return all;
    }
    let room = most.saturating_sub(REST.len() + "; and 000 more: ".len());
    let mut text = String::new();
    for (place, problem) in problems.iter().enumerate() {
        let joint = if place == 0 { "" } else { "; " };
        if text.len() + joint.len() + problem.len() > room {
            let left = problems.len() - place;
            return if place == 0 {
                format!("{}… ({} in all: {REST})", cut(problem, room), problems.len())
            } else {
                format!("{text}; and {left} more: {REST}")
            };
        }
        text.push_str(joint);
        text.push_str(problem);
    }
    text
}

/// The beginning of a text, of so many bytes at most.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// A failure without the ids of its requests: with them every retry would be an event of its own, and not one that is counted. They
/// are in the condition of the Service and in the log.
fn without_request_ids(error: &dyn Display) -> String {
    const BEGINS: &str = " (request id ";
    let text = error.to_string();
    let mut parts = text.split(BEGINS);
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((_id, rest)) => kept.push_str(rest),
            None => kept.push_str(&format!("{BEGINS}{part}")),
        }
    }
    kept
}

/// It cannot be done as it is.
pub(super) fn refused(refusal: &Refusal) -> Message {
    let beginning = not_synced(&"").text.len();
    not_synced(&fitting(&refusal.problems, LONGEST - beginning))
}

/// A step failed.
pub(super) fn failed(task: Task, nodes: &NodeSet, error: &dyn Display) -> Message {
    let error = without_request_ids(error);
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
        Task::Remove => {
            let why = without_request_ids(why);
            not_synced(&format!("failed to check if load balancer exists before cleanup: {why}"))
        }
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

/// The published address is another one than before.
pub(super) fn moved(moved: &Moved) -> Message {
    let list = |of: &BTreeSet<String>| of.iter().cloned().collect::<Vec<_>>().join(", ");
    let why = if moved.why.is_empty() {
        "it was changed in the cloud, or by an earlier process of this controller".to_owned()
    } else {
        moved.why.join("; ")
    };
    let beginning = format!("The address changed from {} to {}: ", list(&moved.from), list(&moved.to));
    let end = ". DNS records and clients that use the old address have to be changed";
    let room = LONGEST.saturating_sub(beginning.len() + end.len());
    warning("LoadBalancerAddressChanged", format!("{beginning}{}{end}", cut(&why, room)))
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

/// Safety rail SR-19 keeps a broken load balancer.
pub(super) fn replacement_held(why: &str) -> Message {
    warning("LoadBalancerReplacementHeld", format!("Not replaced: {why}"))
}

/// Adopt-only mode holds it.
pub(super) fn not_adopted(held: &NotAdopted) -> Message {
    warning("LoadBalancerNotAdopted", format!("Held back: {held}"))
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
    fn a_retry_that_fails_with_another_request_id_is_the_same_event() {
        let text = |n: u32| {
            failed(Task::Ensure, &nodes(1), &format!("502 (request id req-{n}); then 503 (request id x{n})"))
                .text
        };
        assert_eq!(text(1), text(2));
        assert!(text(1).ends_with("502; then 503"), "{}", text(1));
        let odd = failed(Task::Ensure, &nodes(1), &"502 (request id without an end").text;
        assert!(odd.ends_with("502 (request id without an end"), "{odd}");
    }

    #[test]
    fn of_many_problems_as_many_are_told_as_fit_and_how_many_more_there_are() {
        let problems: Vec<String> = (0..12).map(|n| format!("problem {n:02} {}", "x".repeat(120))).collect();
        let text = refused(&Refusal { problems: problems.clone() }).text;
        assert!(text.len() <= LONGEST, "{}", text.len());
        let told = problems.iter().filter(|problem| text.contains(problem.as_str())).count();
        assert!(told >= 6 && text.ends_with(&format!("; and {} more: {REST}", 12 - told)), "{text}");
        let few = Refusal { problems: problems[..3].to_vec() };
        assert!(refused(&few).text.ends_with(&problems[..3].join("; ")));
        let one = Refusal { problems: vec!["ü".repeat(2000), "other".to_owned()] };
        let text = refused(&one).text;
        assert!(text.len() <= LONGEST && text.contains("… (2 in all"), "{text}");
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
