//! The Nodes and their servers.

use std::sync::Arc;

use bowline_cloud::NodeView;
use bowline_controllers::node::plan::UNINITIALIZED_TAINT;

use super::{NODES_PER_PAGE, listing as paged};
use crate::status::board::Board;
use crate::status::overview::{Listing, NodeCounts, NodeRow};
use crate::status::query::Query;

/// The taints that wait for a cloud controller manager, and what they wait for.
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
    // Nodes that wait or are not ready come first: among thousands, users would not find them otherwise.
    sorted.sort_by_key(|node| (waits(node).next().is_none(), node.ready == Some(true), node.name.clone()));
    (
        paged(sorted.into_iter(), nodes.len(), known, (query.node_page, NODES_PER_PAGE), |node| row(node)),
        counts,
    )
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

#[cfg(test)]
mod tests {
    use bowline_cloud::{AddressKind, NodeAddress, Taint};

    use super::*;

    fn node(number: usize) -> Arc<NodeView> {
        let waits = number == 4_321;
        let taint = || Taint { key: UNINITIALIZED_TAINT.into(), value: None, effect: "NoSchedule".into() };
        Arc::new(NodeView {
            name: format!("node-{number}").into(),
            provider_id: (!waits).then(|| format!("test:///{number}").into()),
            taints: if waits { vec![taint()] } else { Vec::new() },
            addresses: vec![NodeAddress::new(
                AddressKind::InternalIP,
                format!("10.0.{}.{}", number / 256, number % 256),
            )],
            ready: Some(number != 17),
            ..NodeView::default()
        })
    }

    #[test]
    fn of_five_thousand_nodes_fifty_are_shown_and_those_that_wait_or_are_not_ready_come_first() {
        let nodes: Vec<_> = (0..5_000).map(node).collect();
        let (list, counts) = listing_of(&nodes, true, &Query::default());
        assert_eq!((list.rows.len(), list.total, list.pages), (50, 5_000, 100));
        assert_eq!((counts.ready, counts.waiting), (4_999, 1));
        assert_eq!((list.rows[0].name.as_str(), list.rows[1].name.as_str()), ("node-4321", "node-17"));
        assert!(list.rows[0].waits[0].contains("uninitialized"), "{:?}", list.rows[0]);
        for filter in ["test:///77", "10.0.1.9", "node-4999"] {
            let (found, _) = listing_of(&nodes, true, &Query { node: filter.to_owned(), ..Query::default() });
            assert!((1..=200).contains(&found.matching), "{filter}: {}", found.matching);
        }
    }
}
