//! Since when nodes leave, and until when.

use bowline_cloud::Taint;

use super::super::nodes::{EXCLUDE_LABEL, next_set, select};
use super::*;

type Edit = fn(&mut NodeView);

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + second).unwrap()
}

fn node(edit: impl FnOnce(&mut NodeView)) -> [Arc<NodeView>; 1] {
    let mut node = NodeView { name: "a".into(), uid: "u-1".into(), ..NodeView::default() };
    edit(&mut node);
    [Arc::new(node)]
}

fn excluded(node: &mut NodeView) {
    node.labels.insert(EXCLUDE_LABEL.into(), "".into());
}

fn tainted(node: &mut NodeView, value: Option<&str>) {
    let value = value.map(Into::into);
    node.taints.push(Taint { key: AUTOSCALER_TAINT.into(), value, effect: "NoSchedule".into() });
}

fn served(nodes: &[Arc<NodeView>]) -> NodeSet {
    next_set(&NodeSet::default(), select(nodes))
}

/// Since when the node leaves, if it was served before and was seen at `at(100)`; and if nobody saw it before.
fn since(edit: Edit) -> [Option<Timestamp>; 2] {
    let since = |served: &NodeSet| {
        let leaving = leaving(&LeavingNodes::new(), served, &node(edit), at(100));
        leaving.get("a").map(|leaving| leaving.since)
    };
    [since(&served(&node(|_| {}))), since(&NodeSet::default())]
}

#[test]
fn only_what_is_announced_leaves_and_the_cluster_tells_since_when() {
    let cases: [(&str, Edit, [Option<i64>; 2]); 9] = [
        ("nothing", |_| {}, [None, None]),
        ("not ready", |n| n.ready = Some(false), [None, None]),
        ("unschedulable", |n| n.unschedulable = true, [None, None]),
        ("being deleted", |n| n.deleted_at = Some(at(40)), [Some(40); 2]),
        ("tainted", |n| tainted(n, Some("1000030")), [Some(30); 2]),
        (
            "tainted, then deleted",
            |n| {
                tainted(n, Some("1000030"));
                n.deleted_at = Some(at(40));
            },
            [Some(30); 2],
        ),
        ("tainted, in the future", |n| tainted(n, Some("9999999999")), [Some(100); 2]),
        ("tainted, without a time", |n| tainted(n, None), [Some(100), None]),
        ("excluded, which bears no time", excluded, [Some(100), None]),
    ];
    for (name, edit, expected) in cases {
        assert_eq!(since(edit), expected.map(|second| second.map(at)), "{name}");
    }
}

#[test]
fn it_leaves_since_it_was_first_seen_until_it_is_back_or_another() {
    let was = served(&node(|_| {}));
    let first = leaving(&LeavingNodes::new(), &was, &node(excluded), at(100));
    let gone = NodeSet::default();
    let later = leaving(&first, &gone, &node(excluded), at(200));
    assert_eq!(later["a"].since, at(100));
    assert!(leaving(&later, &gone, &node(|_| {}), at(300)).is_empty(), "it is back");
    assert!(leaving(&later, &gone, &[], at(300)).is_empty(), "it is gone");
    let namesake = node(|n| {
        excluded(n);
        n.uid = "u-2".into();
    });
    assert!(leaving(&later, &gone, &namesake, at(300)).is_empty(), "another of that name");
}

#[test]
fn a_drain_ends_when_its_period_is_over() {
    let leaving =
        leaving(&LeavingNodes::new(), &NodeSet::default(), &node(|n| n.deleted_at = Some(at(0))), at(5));
    let names = |now| {
        let (nodes, ends) = draining(&leaving, Duration::from_secs(30), now);
        (nodes.into_keys().collect::<Vec<_>>(), ends)
    };
    assert_eq!(names(at(5)), (vec!["a".into()], Some(at(30))));
    assert_eq!(names(at(29)), (vec!["a".into()], Some(at(30))));
    assert_eq!(names(at(30)), (vec![], None));
    assert_eq!(draining(&leaving, Duration::MAX, at(5)).1, Some(Timestamp::MAX));
}
