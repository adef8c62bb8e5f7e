//! The nodes whose removal is announced: since when they leave, and until when they may keep their connections. Pure.
//!
//! Announced is what somebody decided: deletion, the autoscaler's taint, the label that excludes. A node that is not ready has
//! announced nothing, and one that is gone has no connections left. Since when it leaves the cluster tells, so that a restart
//! does not begin the drain anew. The label alone bears no time: then it leaves since this process saw it go.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{NodeSet, NodeView, Text};
use k8s_openapi::jiff::Timestamp;

use super::nodes::{AUTOSCALER_TAINT, is_eligible};

/// A node that leaves.
#[derive(Debug, Clone)]
pub struct Leaving {
    node: Arc<NodeView>,
    since: Timestamp,
}

/// Those that leave, by name.
pub type LeavingNodes = BTreeMap<Text, Leaving>;

/// Who of `nodes` leaves at `now`, after `served` got traffic and `before` left. A node of which nobody can say when it began,
/// such as a control plane that was always excluded, is not among them: it has no connections that could be waited for.
pub fn leaving<'a>(
    before: &LeavingNodes,
    served: &NodeSet,
    nodes: impl IntoIterator<Item = &'a Arc<NodeView>>,
    now: Timestamp,
) -> LeavingNodes {
    let since = |node: &NodeView| {
        let left = before.get(&node.name).filter(|left| left.node.uid == node.uid).map(|left| left.since);
        let seen_to_go = served.nodes.get(&node.name).filter(|was| was.uid == node.uid).map(|_was| now);
        // A time in the future would keep it for as long again.
        [announced_at(node), left, seen_to_go].into_iter().flatten().min().map(|since| since.min(now))
    };
    let ineligible = nodes.into_iter().filter(|node| !is_eligible(node));
    let leaving = ineligible.filter_map(|node| Some(Leaving { node: node.clone(), since: since(node)? }));
    leaving.map(|leaving| (leaving.node.name.clone(), leaving)).collect()
}

/// When the removal of a node was announced, as far as the Node tells. The autoscaler writes the Unix time into its taint.
fn announced_at(node: &NodeView) -> Option<Timestamp> {
    let taints = node.taints.iter().filter(|taint| taint.key == AUTOSCALER_TAINT);
    let tainted =
        taints.filter_map(|taint| Timestamp::from_second(taint.value.as_deref()?.parse().ok()?).ok());
    tainted.chain(node.deleted_at).min()
}

/// Those whose drain of `period` is not over, and when the first of these drains ends.
#[must_use]
pub fn draining(
    leaving: &LeavingNodes,
    period: Duration,
    now: Timestamp,
) -> (BTreeMap<Text, Arc<NodeView>>, Option<Timestamp>) {
    let ends = |leaving: &Leaving| leaving.since.checked_add(period).unwrap_or(Timestamp::MAX);
    let open = || leaving.values().filter(|leaving| ends(leaving) > now);
    let nodes = open().map(|leaving| (leaving.node.name.clone(), leaving.node.clone())).collect();
    (nodes, open().map(ends).min())
}

#[cfg(test)]
mod tests;
