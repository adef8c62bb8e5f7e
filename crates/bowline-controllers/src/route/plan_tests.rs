//! Plans: upstream's table of reconciles, and what it lacks.

use std::fmt::Write as _;

use bowline_cloud::AddressKind;

use super::*;
use crate::route::condition::Network;
use crate::route::verdict::{Fate, Fates, networks};

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

fn addresses(texts: &[&str]) -> Vec<NodeAddress> {
    texts.iter().map(|text| NodeAddress::new(AddressKind::InternalIP, *text)).collect()
}

fn node(name: &str, cidrs: &[&str], ips: &[&str]) -> Arc<NodeView> {
    Arc::new(NodeView {
        name: name.into(),
        uid: format!("uid-{name}").into(),
        pod_cidrs: cidrs.iter().map(|cidr| net(cidr)).collect(),
        addresses: addresses(ips),
        ..NodeView::default()
    })
}

fn route(name: &str, target: &str, cidr: &str) -> Route {
    Route::new(name, (!target.is_empty()).then(|| target.to_owned()), net(cidr))
}

fn aware(name: &str, target: &str, cidr: &str, ips: &[&str]) -> Route {
    let mut route = route(name, target, cidr);
    route.target_addresses = Some(addresses(ips));
    route
}

fn blackhole(name: &str, target: &str, cidr: &str) -> Route {
    let mut route = route(name, target, cidr);
    route.blackhole = true;
    route
}

fn dual_range() -> ClusterRange {
    ClusterRange::new(&[net("10.120.0.0/16"), net("fd00:120::/48")]).unwrap()
}

fn planned(nodes: &[Arc<NodeView>], routes: &[Route]) -> RoutePlan {
    let observed = Observed { nodes: nodes.to_vec(), foreign: BTreeSet::new(), routes: routes.to_vec() };
    plan(&observed, &dual_range())
}

/// The changes in order: `-name` goes, `+node destination` comes; one text for each destination.
fn shown(plan: &RoutePlan) -> Vec<String> {
    let of_one = |steps: &Vec<Planned<RouteChange>>| {
        let mut text = String::new();
        for planned in steps {
            match &planned.step {
                RouteChange::Delete(route) => write!(text, "-{} ", route.name).unwrap(),
                RouteChange::Create { hint, route } => {
                    let target = route.target_node.as_deref().unwrap();
                    assert_eq!(*hint, format!("uid-{target}"), "the hint is the Node's UID");
                    assert!(route.name.is_empty() && !route.blackhole && route.target_addresses.is_some());
                    write!(text, "+{target} {} ", route.destination).unwrap();
                }
            }
        }
        text.trim_end().to_owned()
    };
    plan.changes.values().map(of_one).collect()
}

/// The Nodes whose network is (available, unavailable) once everything went well.
fn in_the_end(plan: &RoutePlan) -> (Vec<String>, Vec<String>) {
    let made: Fates = plan
        .changes
        .values()
        .flatten()
        .filter_map(|planned| match &planned.step {
            RouteChange::Create { route, .. } => Some((route.target_node.clone()?, route.destination)),
            RouteChange::Delete(_) => None,
        })
        .map(|of| (of, Fate::Made))
        .collect();
    let (up, down): (Vec<_>, Vec<_>) =
        networks(&plan.needs, &made).into_iter().partition(|(_, known)| *known == Network::Available);
    let names = |known: Vec<(String, Network)>| known.into_iter().map(|(name, _)| name).collect();
    (names(up), names(down))
}

const A4: &str = "10.120.0.0/24";
const B4: &str = "10.120.1.0/24";
const A6: &str = "fd00:120:0:1::/64";
const B6: &str = "fd00:120:0:2::/64";

struct Case {
    name: &'static str,
    nodes: Vec<Arc<NodeView>>,
    routes: Vec<Route>,
    changes: &'static [&'static str],
    unavailable: &'static [&'static str],
}

fn check(cases: Vec<Case>) {
    for Case { name, nodes, routes, changes, unavailable } in cases {
        let plan = planned(&nodes, &routes);
        assert_eq!(shown(&plan), changes, "{name}");
        let (up, down) = in_the_end(&plan);
        assert_eq!(down, unavailable, "{name}");
        let expected_up: Vec<_> =
            nodes.iter().map(|n| n.name.clone()).filter(|n| !unavailable.contains(&n.as_str())).collect();
        assert_eq!(up, expected_up, "{name}");
    }
}

#[test]
fn reconcile_of_two_single_stack_nodes() {
    let two = || vec![node("a", &[A4], &["192.0.2.1"]), node("b", &[B4], &["192.0.2.2"])];
    let case = |name, routes, changes| Case { name, nodes: two(), routes, changes, unavailable: &[] };
    check(vec![
        case("present", vec![route("r1", "a", A4), route("r2", "b", B4)], &[]),
        case("one of two", vec![route("r1", "a", A4)], &["+b 10.120.1.0/24"]),
        case("none", vec![], &["+a 10.120.0.0/24", "+b 10.120.1.0/24"]),
        case(
            "surplus",
            vec![route("r1", "a", A4), route("r2", "b", B4), route("r3", "c", "10.120.2.0/24")],
            &["-r3"],
        ),
        case("one wrong target", vec![route("r1", "a", A4), route("r2", "a", B4)], &["-r2 +b 10.120.1.0/24"]),
        case(
            "blackhole in range deleted",
            vec![route("r1", "a", A4), route("r2", "b", B4), blackhole("r3", "", "10.120.9.0/24")],
            &["-r3"],
        ),
        case(
            "blackhole out of range kept",
            vec![route("r1", "a", A4), route("r2", "b", B4), blackhole("r3", "", "10.1.2.0/24")],
            &[],
        ),
    ]);
}

#[test]
fn reconcile_by_addresses() {
    let two = || vec![node("a", &[A4], &["192.0.2.1", "192.0.2.9"]), node("b", &[B4], &["192.0.2.2"])];
    let case = |name, routes, changes| Case { name, nodes: two(), routes, changes, unavailable: &[] };
    let b = || aware("r2", "b", B4, &["192.0.2.2"]);
    check(vec![
        case(
            "address-aware routes without addresses (recreated)",
            vec![aware("r1", "a", A4, &[]), aware("r2", "b", B4, &[])],
            &["-r1 +a 10.120.0.0/24", "-r2 +b 10.120.1.0/24"],
        ),
        case(
            "addresses changed (recreated)",
            vec![aware("r1", "a", A4, &["192.0.2.1", "192.0.2.77"]), b()],
            &["-r1 +a 10.120.0.0/24"],
        ),
        case(
            "single: addresses changed",
            vec![aware("r1", "a", A4, &["192.0.2.1"]), b()],
            &["-r1 +a 10.120.0.0/24"],
        ),
        case("in another order", vec![aware("r1", "a", A4, &["192.0.2.9", "192.0.2.1"]), b()], &[]),
        case("a cloud that lists none is not troubled", vec![route("r1", "a", A4), b()], &[]),
    ]);
}

#[test]
fn reconcile_of_dual_stack_nodes() {
    let two = || vec![node("a", &[A4, A6], &[]), node("b", &[B4, B6], &[])];
    let all = || vec![route("r1", "a", A4), route("r2", "b", B4), route("r3", "a", A6), route("r4", "b", B6)];
    let case = |name, routes, changes| Case { name, nodes: two(), routes, changes, unavailable: &[] };
    check(vec![
        case(
            "none",
            vec![],
            &["+a 10.120.0.0/24", "+b 10.120.1.0/24", "+a fd00:120:0:1::/64", "+b fd00:120:0:2::/64"],
        ),
        case("all present", all(), &[]),
        case(
            "swapped",
            vec![route("r1", "b", A4), route("r2", "a", B4), route("r3", "a", A6), route("r4", "b", B6)],
            &["-r1 +a 10.120.0.0/24", "-r2 +b 10.120.1.0/24"],
        ),
        case(
            "partly",
            vec![route("r1", "a", A4), route("r4", "b", B6)],
            &["+b 10.120.1.0/24", "+a fd00:120:0:1::/64"],
        ),
        case(
            "surplus",
            [all(), vec![route("r5", "c", "10.120.5.0/24"), route("r6", "c", "fd00:120:0:5::/64")]].concat(),
            &["-r5", "-r6"],
        ),
    ]);
}

#[test]
fn reconcile_of_a_node_without_cidr() {
    check(vec![Case {
        name: "node without CIDR",
        nodes: vec![node("a", &[A4], &[]), node("b", &[], &[])],
        routes: vec![route("r1", "a", A4), route("r2", "b", B4)],
        changes: &["-r2"],
        unavailable: &["b"],
    }]);
    let plan = planned(&[node("b", &[], &[])], &[]);
    assert!(plan.needs.is_empty(), "without pod range and routes nothing is said of a Node");
}

#[test]
fn reconcile_of_a_duplicate_pod_cidr_on_one_node() {
    let plan = planned(&[node("a", &[A4, A4], &[])], &[]);
    assert_eq!(shown(&plan), ["+a 10.120.0.0/24"]);
}

#[test]
fn a_blackhole_to_a_known_node_is_replaced_in_one_go() {
    let plan = planned(&[node("a", &[A4], &[])], &[blackhole("r1", "a", A4)]);
    assert_eq!(shown(&plan), ["-r1 +a 10.120.0.0/24"]);
    let beside = planned(&[node("a", &[A4], &[])], &[blackhole("r1", "a", A4), route("r2", "a", A4)]);
    assert_eq!(shown(&beside), ["-r1"], "a good one beside it is enough");
}

#[test]
fn destinations_are_compared_as_networks_not_as_texts() {
    let plan = planned(
        &[node("a", &["10.120.0.7/24", "fd00:0120:0000:1::/64"], &[])],
        &[route("r1", "a", A4), route("r2", "a", A6)],
    );
    assert_eq!(plan.changes, BTreeMap::new());
}

#[test]
fn routes_outside_the_range_are_never_taken_away_nor_doubled() {
    let wide = ["10.0.0.0/8", "10.120.0.0/15", "0.0.0.0/0", "192.168.0.0/24"];
    let listed: Vec<_> = wide.iter().map(|cidr| route("x", "gone", cidr)).collect();
    let plan = planned(&[node("a", &["192.168.7.0/24"], &["192.0.2.1"])], &listed);
    assert_eq!(shown(&plan), ["+a 192.168.7.0/24"], "a pod range outside is served all the same");
    let stale = aware("r", "a", "192.168.7.0/24", &["192.0.2.99"]);
    let plan = planned(&[node("a", &["192.168.7.0/24"], &["192.0.2.1"])], &[stale]);
    assert_eq!(shown(&plan), Vec::<String>::new(), "what may not go is not made a second time");
    let dead = blackhole("r", "a", "192.168.7.0/24");
    let plan = planned(&[node("a", &["192.168.7.0/24"], &[])], &[dead]);
    assert_eq!((shown(&plan).len(), in_the_end(&plan).1), (0, vec!["a".to_owned()]));
}

#[test]
fn nodes_of_other_clouds_keep_what_they_have() {
    let observed = Observed {
        nodes: vec![node("a", &[A4], &[])],
        foreign: BTreeSet::from(["edge".to_owned()]),
        routes: vec![route("r1", "a", A4), route("r2", "edge", B4)],
    };
    let plan = plan(&observed, &dual_range());
    assert_eq!((plan.changes.len(), plan.ours), (0, 1));
    assert!(!plan.needs.contains_key("edge"));
}

#[test]
fn an_incomplete_route_is_asked_for_again_as_it_is_and_not_taken_away() {
    let incomplete = |name: &str| {
        let mut route = Route::via(name, "192.0.2.7".parse().unwrap(), net(A4));
        route.target_node = Some("a".to_owned());
        route.incomplete = Some("its port is shut".to_owned());
        route
    };
    let nodes = [node("a", &[A4], &["192.0.2.1", "192.0.2.7"])];
    let plan = planned(&nodes, &[incomplete("r1")]);
    assert_eq!(shown(&plan), ["+a 10.120.0.0/24"]);
    let step = &plan.changes[&net(A4)][0];
    assert_eq!(step.reason, "the route to the pods of Node a is incomplete: its port is shut");
    let RouteChange::Create { route: asked, .. } = &step.step else { panic!("{step:?}") };
    assert_eq!(asked.next_hop, Some("192.0.2.7".parse().unwrap()), "the hop that it has");
    let beside = planned(&nodes, &[incomplete("r1"), route("r2", "a", A4)]);
    assert_eq!(shown(&beside), Vec::<String>::new(), "a good one beside it is enough");
    let unwanted = planned(&[node("b", &[B4], &[])], &[incomplete("r1"), route("r2", "b", B4)]);
    assert_eq!(shown(&unwanted), ["-r1"], "what nobody wants is not completed");
}

#[test]
fn a_next_hop_that_no_node_has_is_named_and_one_of_another_clouds_node_is_left_alone() {
    let hop = |name: &str, hop: &str, cidr: &str| Route::via(name, hop.parse().unwrap(), net(cidr));
    let edge = node("edge", &[], &["192.0.2.8"]);
    let ours = node("a", &[A4], &["192.0.2.1"]);
    let listed =
        vec![hop("r1", "192.0.2.1", A4), hop("r2", "192.0.2.8", B4), hop("r3", "192.0.2.9", "10.120.9.0/24")];
    let routes = crate::route::target::with_targets(listed, &[ours.clone(), edge]);
    let observed = Observed { nodes: vec![ours], foreign: BTreeSet::from(["edge".to_owned()]), routes };
    let plan = plan(&observed, &dual_range());
    assert_eq!(shown(&plan), ["-r3"]);
    let reason = &plan.changes.values().next().unwrap()[0].reason;
    assert_eq!(reason, "it leads to 192.0.2.9, which no Node has");
}

#[test]
fn every_change_says_why() {
    let plan = planned(
        &[node("a", &[A4], &["192.0.2.1"])],
        &[
            aware("r1", "a", A4, &[]),
            route("r2", "a", B4),
            route("r3", "gone", "10.120.2.0/24"),
            route("r4", "", "10.120.3.0/24"),
            blackhole("r5", "a", "10.120.4.0/24"),
        ],
    );
    let reasons: Vec<_> = plan.changes.values().flatten().map(|planned| planned.reason.as_str()).collect();
    assert_eq!(
        reasons,
        [
            "the addresses of Node a have changed",
            "the pods of Node a have no route",
            "10.120.1.0/24 is not a pod range of Node a",
            "there is no Node gone",
            "the cloud does not know which Node it leads to",
            "it leads nowhere",
        ]
    );
    assert_eq!((plan.removals().len(), plan.ours), (5, 5));
}
