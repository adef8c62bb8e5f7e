//! Routes to the pods of Nodes.

use std::collections::BTreeSet;
use std::sync::Arc;

use bowline_cloud::{AddressKind, NodeAddress, NodeView, Route, RouteChange};
use ipnet::IpNet;
use proptest::prelude::*;

use crate::route::plan::{Observed, RoutePlan, Standing, plan};
use crate::route::range::ClusterRange;

const NAMES: [&str; 4] = ["a", "b", "c", "elsewhere"];
const RANGES: [&str; 5] = ["10.244.0.0/24", "10.244.1.0/24", "fd00::/64", "10.244.0.0/15", "192.168.0.0/24"];

fn net() -> impl Strategy<Value = IpNet> {
    prop::sample::select(&RANGES).prop_map(|text| text.parse().expect("a network"))
}

fn addresses() -> impl Strategy<Value = Vec<NodeAddress>> {
    let one = prop::sample::select(vec!["10.0.0.1", "10.0.0.2"]);
    prop::collection::vec(one.prop_map(|text| NodeAddress::new(AddressKind::InternalIP, text)), 0..3)
}

fn node(name: &'static str) -> impl Strategy<Value = Arc<NodeView>> {
    (prop::collection::vec(net(), 0..3), addresses()).prop_map(move |(pod_cidrs, addresses)| {
        Arc::new(NodeView {
            name: name.into(),
            uid: name.into(),
            pod_cidrs,
            addresses,
            ..NodeView::default()
        })
    })
}

fn nodes() -> impl Strategy<Value = Vec<Arc<NodeView>>> {
    let [a, b, c, _elsewhere] = NAMES;
    (node(a), node(b), node(c), 0_usize..4)
        .prop_map(|(a, b, c, count)| [a, b, c].into_iter().take(count).collect())
}

fn route() -> impl Strategy<Value = Route> {
    let target = prop::option::of(prop::sample::select(&NAMES).prop_map(str::to_owned));
    let hop = prop::option::of(prop::sample::select(vec!["10.0.0.1", "10.0.0.2"]));
    let lacks = prop::option::weighted(0.2, Just("its port lets no traffic through".to_owned()));
    let parts = (target, hop, prop::option::of(addresses()), net(), prop::bool::weighted(0.2), lacks);
    parts.prop_map(|(target, hop, listed, destination, blackhole, incomplete)| {
        let mut route = Route::new("", target, destination);
        route.next_hop = hop.map(|hop| hop.parse().expect("an address"));
        (route.target_addresses, route.blackhole, route.incomplete) = (listed, blackhole, incomplete);
        route
    })
}

/// Routes, each with a name of its own, as clouds give them.
fn routes() -> impl Strategy<Value = Vec<Route>> {
    prop::collection::vec(route(), 0..8).prop_map(|mut routes| {
        for (number, route) in routes.iter_mut().enumerate() {
            route.name = format!("r{number}");
        }
        routes
    })
}

fn range() -> ClusterRange {
    let cidrs = ["10.244.0.0/16", "fd00::/48"].map(|text| text.parse().expect("a network"));
    ClusterRange::new(&cidrs).expect("a range")
}

fn foreign() -> BTreeSet<String> {
    ["elsewhere".to_owned()].into()
}

fn planned(nodes: &[Arc<NodeView>], routes: Vec<Route>) -> RoutePlan {
    plan(&Observed { nodes: nodes.to_vec(), foreign: foreign(), routes }, &range())
}

/// The cloud after a plan: a route that is completed is the one that was there.
fn performed(mut routes: Vec<Route>, plan: &RoutePlan) -> Vec<Route> {
    for (number, step) in plan.changes.values().flatten().enumerate() {
        match &step.step {
            RouteChange::Delete(gone) => routes.retain(|route| route != gone),
            RouteChange::Create { route, .. } => {
                let same = |there: &&mut Route| {
                    there.incomplete.is_some()
                        && there.target_node == route.target_node
                        && there.destination.trunc() == route.destination
                };
                let mut lacking: Vec<&mut Route> = routes.iter_mut().filter(same).collect();
                for there in &mut lacking {
                    there.incomplete = None;
                }
                if lacking.is_empty() {
                    let mut made = route.clone();
                    made.name = format!("made-{number}");
                    routes.push(made);
                }
            }
        }
    }
    routes
}

proptest! {
    #[test]
    fn the_plan_after_the_plan_is_empty(nodes in nodes(), routes in routes()) {
        let first = planned(&nodes, routes.clone());
        let again = planned(&nodes, performed(routes, &first));
        prop_assert!(again.changes.is_empty(), "{:?}\nafter {:?}", again.changes, first.changes);
        let needs: Vec<_> = again.needs.values().flatten().collect();
        prop_assert!(needs.iter().all(|need| need.standing != Standing::ToBeMade), "{:?}", needs);
    }

    #[test]
    fn the_order_of_routes_and_nodes_does_not_count(nodes in nodes(), routes in routes()) {
        let (mut other_nodes, mut other_routes) = (nodes.clone(), routes.clone());
        other_nodes.reverse();
        other_routes.reverse();
        prop_assert_eq!(planned(&nodes, routes), planned(&other_nodes, other_routes));
    }

    #[test]
    fn only_routes_of_ours_go_and_none_that_a_node_needs(nodes in nodes(), routes in routes()) {
        for step in planned(&nodes, routes).changes.into_values().flatten() {
            let RouteChange::Delete(route) = step.step else { continue };
            prop_assert!(range().contains(&route.destination), "outside of our range: {route:?}");
            prop_assert!(route.target_node.as_ref().is_none_or(|node| !foreign().contains(node)), "{route:?}");
            let needed = nodes.iter().any(|node| {
                route.target_node.as_deref() == Some(&*node.name)
                    && node.pod_cidrs.contains(&route.destination)
                    && !route.blackhole
                    && route.target_addresses.is_none()
            });
            prop_assert!(!needed, "a Node needs it: {route:?}");
        }
    }
}
