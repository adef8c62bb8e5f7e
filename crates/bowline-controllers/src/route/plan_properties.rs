//! Whatever routes a cloud has: the plan is the same in whatever order they are listed, keeps to the cluster's range and to its own
//! Nodes, and the plan after it is empty.

use std::net::IpAddr;

use bowline_cloud::AddressKind;
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

const RANGES: [&str; 6] =
    ["10.120.0.0/24", "10.120.1.0/24", "10.120.1.7/24", "10.120.2.0/24", "192.168.0.0/24", "0.0.0.0/0"];
const TARGETS: [Option<&str>; 5] = [Some("a"), Some("b"), Some("foreign"), Some("gone"), None];

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

fn addresses(last: u8) -> Vec<NodeAddress> {
    vec![NodeAddress::new(AddressKind::InternalIP, format!("10.0.0.{last}").as_str())]
}

fn node(name: &'static str) -> impl Strategy<Value = Arc<NodeView>> {
    (btree_set(select(&RANGES[..4]), 0..3), 1_u8..3).prop_map(move |(cidrs, last)| {
        Arc::new(NodeView {
            name: name.into(),
            uid: format!("uid-{name}").into(),
            pod_cidrs: cidrs.into_iter().map(net).collect(),
            addresses: addresses(last),
            ..NodeView::default()
        })
    })
}

fn routes() -> impl Strategy<Value = Vec<Route>> {
    let one = (select(&TARGETS[..]), select(&RANGES[..]), any::<bool>(), 0_u8..4, 0_u8..6, any::<bool>());
    vec(one, 0..8).prop_map(|all| {
        let route = |(place, (target, cidr, blackhole, last, lacks, hop)): (
            usize,
            (Option<&str>, &str, bool, u8, u8, bool),
        )| {
            let mut route =
                Route::new(format!("route-{}", place * 7 % 10), target.map(str::to_owned), net(cidr));
            route.blackhole = blackhole && lacks > 2;
            route.target_addresses = (last > 0).then(|| addresses(last));
            route.incomplete = (lacks == 0).then(|| format!("lacks {place}"));
            route.next_hop = hop.then(|| IpAddr::from([10, 0, 0, last]));
            route
        };
        all.into_iter().enumerate().map(route).collect()
    })
}

fn observed() -> impl Strategy<Value = Observed> {
    (node("a"), node("b"), routes()).prop_map(|(a, b, routes)| Observed {
        nodes: vec![a, b],
        foreign: BTreeSet::from(["foreign".to_owned()]),
        routes,
    })
}

fn range() -> ClusterRange {
    ClusterRange::new(&[net("10.120.0.0/16")]).unwrap()
}

/// The cloud after all changes.
fn after(observed: &Observed, plan: &RoutePlan) -> Vec<Route> {
    let mut routes = observed.routes.clone();
    for planned in plan.changes.values().flatten() {
        match &planned.step {
            RouteChange::Delete(gone) => routes.retain(|route| route.name != gone.name),
            RouteChange::Create { route, .. } => {
                let same = |old: &Route| {
                    (&old.target_node, old.destination.trunc()) == (&route.target_node, route.destination)
                };
                routes.retain(|old| !(same(old) && old.incomplete.is_some()));
                let mut made = route.clone();
                made.name = format!("made-{}", routes.len());
                routes.push(made);
            }
        }
    }
    routes
}

proptest! {
    #[test]
    fn the_order_of_routes_and_nodes_does_not_count(observed in observed(), by in any::<u64>()) {
        let one = plan(&observed, &range());
        let mut other = Observed { nodes: observed.nodes.clone(), foreign: observed.foreign.clone(), routes: observed.routes.clone() };
        other.nodes.reverse();
        other.routes.sort_by_key(|route| (route.name.bytes().map(u64::from).sum::<u64>().wrapping_mul(by | 1), route.name.clone()));
        prop_assert_eq!(one, plan(&other, &range()));
    }

    #[test]
    fn only_routes_of_the_range_that_lead_to_nobody_elses_node_are_changed(observed in observed()) {
        let plan = plan(&observed, &range());
        for planned in plan.changes.values().flatten() {
            let (RouteChange::Delete(route) | RouteChange::Create { route, .. }) = &planned.step;
            prop_assert!(range().contains(&route.destination), "{:?}", planned);
            prop_assert_ne!(route.target_node.as_deref(), Some("foreign"));
            if let RouteChange::Delete(route) = &planned.step {
                prop_assert!(observed.routes.contains(route));
            }
        }
    }

    #[test]
    fn the_plan_after_the_plan_is_empty(observed in observed()) {
        let plan_of = |routes: Vec<Route>| {
            plan(&Observed { nodes: observed.nodes.clone(), foreign: observed.foreign.clone(), routes }, &range())
        };
        let first = plan_of(observed.routes.clone());
        let second = plan_of(after(&observed, &first));
        prop_assert!(second.changes.is_empty(), "{:?} and then {:?}", first.changes, second.changes);
    }
}
