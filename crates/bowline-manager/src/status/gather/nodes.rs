//! The Nodes and their servers.

use std::sync::Arc;

use bowline_cloud::NodeView;
use bowline_controllers::node::plan::UNINITIALIZED_TAINT;

use super::listing as paged;
use crate::status::board::Board;
use crate::status::overview::{Listing, NodeCounts, NodeRow};
use crate::status::query::Query;

/// The taints that wait for a manager like this one, and what they mean.
const WAITS: [(&str, &str); 2] = [
    (UNINITIALIZED_TAINT, "to be initialized from its server"),
    ("node.kubernetes.io/network-unavailable", "for its route"),
];

pub(super) fn listing_of(
    nodes: &[Arc<NodeView>],
    known: bool,
    query: &Query,
) -> (Listing<NodeRow>, NodeCounts) {
    let counts = NodeCounts {
        ready: nodes.iter().filter(|node| node.ready == Some(true)).count(),
        waiting: nodes.iter().filter(|node| waits(node).next().is_some()).count(),
    };
    let mut sorted: Vec<&Arc<NodeView>> = nodes.iter().filter(|node| matches(node, &query.node)).collect();
    // Those that wait or are not ready first: with thousands, nobody looks for them.
    sorted.sort_by_key(|node| (waits(node).next().is_none(), node.ready == Some(true), node.name.clone()));
    (paged(sorted.into_iter(), nodes.len(), known, query.node_page, |node| row(node)), counts)
}

pub(super) fn listing(board: &Board, query: &Query) -> (Listing<NodeRow>, NodeCounts) {
    let parts = board.parts();
    let (nodes, known) = match &parts.nodes {
        Some(informer) => {
            let snapshot = informer.snapshot();
            (snapshot.objects().iter().map(|object| object.view.clone()).collect(), informer.has_synced())
        }
        None => (Vec::new(), false),
    };
    listing_of(&nodes, known, query)
}

fn matches(node: &NodeView, filter: &str) -> bool {
    filter.is_empty()
        || node.name.contains(filter)
        || node.provider_id.as_ref().is_some_and(|id| id.contains(filter))
        || node.addresses.iter().any(|address| address.address.contains(filter))
}

fn waits(node: &NodeView) -> impl Iterator<Item = String> {
    let taints = node.taints.iter();
    taints.filter_map(|taint| {
        let (_, what) = WAITS.into_iter().find(|(key, _)| taint.key == *key)?;
        Some(format!("{what} (taint {})", taint.key))
    })
}

fn row(node: &NodeView) -> NodeRow {
    let label = |key: &str| node.labels.get(key).map(ToString::to_string);
    let place: Vec<String> = [
        label("topology.kubernetes.io/zone").filter(|zone| !zone.is_empty()),
        label("node.kubernetes.io/instance-type"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let other = node.taints.iter().filter(|taint| !WAITS.iter().any(|(key, _)| taint.key == *key));
    NodeRow {
        name: node.name.to_string(),
        ready: node.ready,
        provider_id: node.provider_id.as_ref().map(ToString::to_string),
        addresses: node.addresses.iter().map(|a| (a.kind.to_string(), a.address.to_string())).collect(),
        waits: waits(node).collect(),
        taints: other.map(|taint| format!("{}:{}", taint.key, taint.effect)).collect(),
        place: (!place.is_empty()).then(|| place.join(", ")),
        leaving: node.deleted_at.is_some(),
    }
}
