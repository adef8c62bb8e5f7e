//! The node predicates of upstream, case by case.

use bowline_cloud::{AddressKind, NodeAddress, Taint, Text};
use k8s_openapi::jiff::Timestamp;

use super::*;

type Edit = fn(&mut NodeView);

fn node(name: &str, edit: impl FnOnce(&mut NodeView)) -> NodeView {
    let mut node = NodeView {
        name: name.into(),
        provider_id: Some(format!("fake://{name}").into()),
        ready: Some(true),
        ..NodeView::default()
    };
    edit(&mut node);
    node
}

fn label(node: &mut NodeView, value: &str) {
    node.labels.insert(EXCLUDE_LABEL.into(), value.into());
}

fn taint(node: &mut NodeView, key: &str) {
    node.taints.push(Taint { key: key.into(), value: None, effect: "NoSchedule".into() });
}

fn ip(address: &str) -> NodeAddress {
    NodeAddress::new(AddressKind::InternalIP, address)
}

fn set(nodes: &[NodeView]) -> BTreeMap<Text, Arc<NodeView>> {
    let nodes: Vec<_> = nodes.iter().cloned().map(Arc::new).collect();
    select(&nodes)
}

#[test]
fn the_stable_set_as_upstream() {
    let cases: [(&str, Edit, bool); 13] = [
        ("ready", |_| {}, true),
        ("not ready: health is left to the load balancer", |n| n.ready = Some(false), true),
        ("readiness never reported", |n| n.ready = None, true),
        ("unschedulable", |n| n.unschedulable = true, true),
        ("no provider ID", |n| n.provider_id = None, true),
        ("uninitialized", |n| taint(n, "node.cloudprovider.kubernetes.io/uninitialized"), true),
        ("excluded by the label alone", |n| label(n, ""), false),
        ("exclusion false", |n| label(n, "false"), true),
        ("exclusion 0", |n| label(n, "0"), true),
        ("exclusion true", |n| label(n, "true"), false),
        ("exclusion foo", |n| label(n, "foo"), false),
        ("autoscaler taint", |n| taint(n, AUTOSCALER_TAINT), false),
        ("being deleted", |n| n.deleted_at = Some(Timestamp::UNIX_EPOCH), false),
    ];
    for (name, edit, eligible) in cases {
        assert_eq!(is_eligible(&node("a", edit)), eligible, "{name}");
    }
}

/// What is worth a look, and what is not, whatever else changes with it.
const DECISIVE: [(&str, Edit, Edit, bool); 8] = [
    ("addresses, unlike upstream", |_| {}, |n| n.addresses = vec![ip("10.0.0.9")], true),
    ("nothing", |_| {}, |_| {}, false),
    ("becomes excluded", |_| {}, |n| label(n, ""), true),
    ("is excluded no longer", |n| label(n, "true"), |_| {}, true),
    ("exclusion false is none", |_| {}, |n| label(n, "false"), false),
    ("excluded by another word", |n| label(n, "true"), |n| label(n, ""), false),
    ("provider ID changes", |_| {}, |n| n.provider_id = Some("fake://other".into()), true),
    ("provider ID set", |n| n.provider_id = None, |_| {}, true),
];

const OF_NO_INTEREST: [(&str, Edit); 6] = [
    ("readiness", |n| n.ready = Some(false)),
    ("readiness no longer reported", |n| n.ready = None),
    ("autoscaler taint", |n| taint(n, AUTOSCALER_TAINT)),
    ("another taint", |n| taint(n, "any")),
    ("another label", |n| n.labels.insert("a".into(), "b".into())),
    ("deletion", |n| n.deleted_at = Some(Timestamp::UNIX_EPOCH)),
];

#[test]
fn should_sync_updated_node_as_upstream_individual() {
    for (name, old, new, worth) in DECISIVE {
        assert_eq!(is_worth_a_look(&node("a", old), &node("a", new)), worth, "{name}");
    }
    for (name, edit) in OF_NO_INTEREST {
        let (before, after) = (node("a", |_| {}), node("a", edit));
        assert!(!is_worth_a_look(&before, &after) && !is_worth_a_look(&after, &before), "{name}");
    }
}

#[test]
fn should_sync_updated_node_as_upstream_compounded() {
    for (name, old, new, worth) in DECISIVE {
        for others in 0_u32..1 << OF_NO_INTEREST.len() {
            let chosen = || OF_NO_INTEREST.iter().enumerate().filter(move |(at, _)| others & (1 << at) != 0);
            let after = node("a", |n| {
                new(n);
                chosen().for_each(|(_, (_, edit))| edit(n));
            });
            let with: Vec<_> = chosen().map(|(_, (name, _))| name).collect();
            assert_eq!(is_worth_a_look(&node("a", old), &after), worth, "{name}, with {with:?}");
        }
    }
}

#[test]
fn list_with_predicates_as_upstream() {
    let nodes = [node("b", |_| {}), node("a", |_| {}), node("c", |n| label(n, ""))];
    assert_eq!(set(&nodes).keys().collect::<Vec<_>>(), ["a", "b"]);
    assert!(set(&[node("c", |n| label(n, ""))]).is_empty());
    assert!(set(&[]).is_empty());
}

#[test]
fn the_epoch_grows_only_when_a_name_a_provider_id_or_an_address_changes() {
    let first = next_set(&NodeSet::default(), set(&[node("a", |_| {}), node("b", |_| {})]));
    assert_eq!(first.epoch, 1);
    let unready = next_set(&first, set(&[node("a", |n| n.ready = Some(false)), node("b", |_| {})]));
    assert_eq!(unready.epoch, 1, "readiness plays no role");
    assert_eq!(unready.nodes["a"].ready, Some(false), "but the views are the latest");
    let moved =
        next_set(&first, set(&[node("a", |n| n.addresses = vec![ip("10.0.0.9")]), node("b", |_| {})]));
    assert_eq!(moved.epoch, 2, "another address");
    let other_machine = next_set(&first, set(&[node("a", |n| n.provider_id = None), node("b", |_| {})]));
    assert_eq!(other_machine.epoch, 2);
    assert_eq!(next_set(&first, set(&[node("a", |_| {})])).epoch, 2, "one less");
    assert_eq!(next_set(&first, set(&[node("a", |_| {}), node("c", |_| {})])).epoch, 2, "another");
    assert_eq!(next_set(&NodeSet::default(), set(&[])).epoch, 0, "nothing is still nothing");
}
