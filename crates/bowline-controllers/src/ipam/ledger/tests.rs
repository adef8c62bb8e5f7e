//! Upstream's rows for the range allocator, under recognisable names, and the faults it has.

use super::*;

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

fn nets(text: &str) -> Vec<IpNet> {
    text.split_whitespace().map(net).collect()
}

fn ledger(cluster: &str, services: &str, v4: u8, v6: u8) -> Ledger {
    Ledger::new(&IpamControllerOptions::new(true, &nets(cluster), &nets(services), v4, v6).unwrap())
}

/// A node whose UID is its name.
fn node(name: &str, ranges: &str) -> NodeView {
    NodeView { name: name.into(), uid: name.into(), pod_cidrs: nets(ranges), ..NodeView::default() }
}

impl Ledger {
    /// A new node of this name asks for ranges.
    fn join(&mut self, name: &str) -> Result<String, IpNet> {
        assert!(self.observe(&node(name, "")).is_empty());
        match self.promise(name) {
            Promise::Write { ranges, .. } => {
                Ok(ranges.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
            }
            Promise::Exhausted(cluster) => Err(cluster),
            Promise::Nothing => panic!("{name} should get something"),
        }
    }

    fn used(&self) -> Vec<usize> {
        self.sets.iter().map(CidrSet::used).collect()
    }
}

const V4: &str = "10.10.0.0/16";
const DUAL: &str = "10.10.0.0/16 ace:cab:deca::/8";

#[test]
fn occupy_pre_existing_cidr() {
    let foreign = |range: &str| Problem::Foreign { range: net(range) };
    let too_many = Problem::TooMany { found: 2, most: 1 };
    for (name, cluster, shown, used, problems) in [
        ("single stack, no node allocation", V4, "", vec![0], vec![]),
        ("dual stack, no node allocation", DUAL, "", vec![0, 0], vec![]),
        ("single stack, correct node allocation", V4, "10.10.0.1/24", vec![1], vec![]),
        ("dual stack, both allocated correctly", DUAL, "10.10.0.1/24 a00::/86", vec![1, 1], vec![]),
        // Upstream ends the process from here on.
        ("single stack, incorrect", V4, "172.10.0.1/24", vec![0], vec![foreign("172.10.0.0/24")]),
        (
            "dual stack node, from a CIDR that does not exist",
            V4,
            "10.10.0.1/24 a00::/86",
            vec![1],
            vec![too_many, foreign("a00::/86")],
        ),
        ("dual stack, bad v4", DUAL, "172.10.0.1/24 a00::/86", vec![0, 1], vec![foreign("172.10.0.0/24")]),
        ("dual stack, bad v6", DUAL, "10.10.0.1/24 cdd::/86", vec![1, 0], vec![foreign("cdd::/86")]),
    ] {
        let mut ledger = ledger(cluster, "", 24, 24);
        assert_eq!(ledger.observe(&node("node0", shown)), problems, "{name}");
        assert_eq!(ledger.used(), used, "{name}");
        assert!(ledger.join("node1").is_ok(), "{name}: all other nodes are served");
    }
}

#[test]
fn allocate_or_occupy_cidr_success() {
    let services = "127.123.234.0/26";
    let (v4, v6) = ("127.123.234.0/8", "ace:cab:deca::/84");
    for (name, cluster, services, masks, taken, expected) in [
        ("no service CIDR: the first range", "127.123.234.0/24", "", (30, 64), "", "127.123.234.0/30"),
        ("the service CIDR is left out", "127.123.234.0/24", services, (30, 64), "", "127.123.234.64/30"),
        (
            "ranges of others are passed over",
            "127.123.234.0/24",
            services,
            (30, 64),
            "127.123.234.64/30 127.123.234.68/30 127.123.234.72/30 127.123.234.80/30",
            "127.123.234.76/30",
        ),
        (
            "dual stack v4, v6",
            &format!("{v4} {v6}"),
            services,
            (24, 98),
            "",
            "127.0.0.0/24 ace:cab:deca::/98",
        ),
        (
            "dual stack v6, v4",
            &format!("{v6} {v4}"),
            services,
            (24, 98),
            "",
            "ace:cab:deca::/98 127.0.0.0/24",
        ),
        ("no double counting", "10.10.0.0/22", "", (24, 64), "10.10.0.0/24 10.10.2.0/24", "10.10.1.0/24"),
    ] {
        let mut ledger = ledger(cluster, services, masks.0, masks.1);
        for (at, range) in taken.split_whitespace().enumerate() {
            assert_eq!(ledger.observe(&node(&format!("old{at}"), range)), [], "{name}");
        }
        assert_eq!(ledger.join("new").unwrap(), expected, "{name}");
    }
}

/// Upstream's seventh row has three cluster CIDRs, which its own flags refuse.
#[test]
fn more_cluster_cidrs_than_families_are_refused_at_the_start() {
    let three = nets("127.123.234.0/8 ace:cab:deca::/84 10.0.0.0/8");
    assert!(IpamControllerOptions::new(true, &three, &[], 24, 98).is_err());
}

#[test]
fn allocate_or_occupy_cidr_failure() {
    let mut ledger = ledger("127.123.234.0/28", "", 30, 64);
    for (at, last) in [0, 4, 8, 12].into_iter().enumerate() {
        ledger.observe(&node(&format!("old{at}"), &format!("127.123.234.{last}/30")));
    }
    assert_eq!(ledger.join("new"), Err(net("127.123.234.0/28")));
}

#[test]
fn release_cidr_success() {
    for released in [&[1][..], &[1, 3], &[0, 1, 2, 3]] {
        let mut ledger = ledger("127.123.234.0/28", "", 30, 64);
        let names: Vec<_> = (0..4).map(|at| format!("old{at}")).collect();
        for (at, name) in names.iter().enumerate() {
            ledger.observe(&node(name, &format!("127.123.234.{}/30", at * 4)));
        }
        assert!(ledger.join("new").is_err());
        for at in released {
            ledger.forget(&names[*at]);
        }
        for at in released {
            let expected = format!("127.123.234.{}/30", at * 4);
            assert_eq!(ledger.join(&format!("new{at}")).unwrap(), expected);
        }
        assert!(ledger.join("one-too-many").is_err());
    }
}

#[test]
fn release_cidr_success_recycles_what_was_handed_out() {
    let mut ledger = ledger("127.123.234.0/28", "", 30, 64);
    for last in [4, 8, 12] {
        ledger.observe(&node(&format!("old{last}"), &format!("127.123.234.{last}/30")));
    }
    assert_eq!(ledger.join("node0").unwrap(), "127.123.234.0/30");
    ledger.forget("node0");
    assert_eq!(ledger.join("node0").unwrap(), "127.123.234.0/30");
}

#[test]
fn node_deletion_release_cidr() {
    let deleted_at = Some(k8s_openapi::jiff::Timestamp::UNIX_EPOCH);
    for (name, deleted_at, gone, next) in [
        ("regular node not under deletion", None, false, "10.10.1.0/24"),
        ("node under deletion", deleted_at, false, "10.10.1.0/24"),
        ("node deleted", None, true, "10.10.0.0/24"),
    ] {
        let mut ledger = ledger(V4, "", 24, 64);
        ledger.observe(&NodeView { deleted_at, ..node("node0", "10.10.0.0/24") });
        if gone {
            ledger.forget("node0");
            ledger.forget("node0");
        }
        assert_eq!(ledger.join("next").unwrap(), next, "{name}");
    }
}

#[test]
fn when_one_family_is_exhausted_nothing_is_taken_from_the_other() {
    let mut ledger = ledger("10.0.0.0/16 fd00::/63", "", 24, 64);
    ledger.join("a").unwrap();
    ledger.join("b").unwrap();
    for _try in 0..1000 {
        assert_eq!(ledger.join("c"), Err(net("fd00::/63")));
    }
    assert_eq!(ledger.used(), [2, 2]);
    ledger.forget("a");
    assert_eq!(ledger.join("c").unwrap(), "10.0.2.0/24 fd00::/64");
}

#[test]
fn what_a_node_was_promised_is_promised_again_until_it_shows_it() {
    let mut ledger = ledger(V4, "", 24, 64);
    assert_eq!(ledger.join("a").unwrap(), "10.10.0.0/24");
    assert_eq!(ledger.join("a").unwrap(), "10.10.0.0/24", "the answer to the write was lost");
    assert_eq!(ledger.join("b").unwrap(), "10.10.1.0/24");
    ledger.written("a");
    assert_eq!(ledger.promise("a"), Promise::Nothing, "written once");
    ledger.observe(&node("a", "10.10.0.0/24"));
    assert_eq!((ledger.promise("a"), ledger.used()), (Promise::Nothing, vec![2]));
}

#[test]
fn a_lost_race_releases_the_promise_and_takes_what_the_node_has() {
    let mut ledger = ledger(V4, "", 24, 64);
    ledger.join("a").unwrap();
    assert_eq!(ledger.observe(&node("a", "10.10.77.0/24")), []);
    ledger.take_back("a");
    assert_eq!(ledger.used(), [1], "the refusal that comes later takes nothing away");
    assert!(ledger.sets[0].any_taken(&(77..78)) && !ledger.sets[0].any_taken(&(0..1)));
}

#[test]
fn an_unwritten_promise_that_another_node_shows_is_exchanged() {
    let mut ledger = ledger(V4, "", 24, 64);
    ledger.join("a").unwrap();
    let held = Problem::Held { range: net("10.10.0.0/24"), by: "a".into() };
    assert_eq!(ledger.observe(&node("b", "10.10.0.0/24")), [held]);
    assert_eq!(ledger.join("a").unwrap(), "10.10.1.0/24");
    assert_eq!(ledger.used(), [2]);
}

#[test]
fn a_refused_promise_is_free_again() {
    let mut ledger = ledger(V4, "", 24, 64);
    ledger.join("a").unwrap();
    ledger.take_back("a");
    assert_eq!(ledger.used(), [0]);
    assert_eq!(ledger.join("a").unwrap(), "10.10.1.0/24", "and the next try takes another");
}

#[test]
fn a_range_held_twice_is_free_only_when_both_nodes_are_gone() {
    let mut ledger = ledger(V4, "", 24, 64);
    assert_eq!(ledger.observe(&node("a", "10.10.4.0/24")), []);
    let held = Problem::Held { range: net("10.10.4.0/23"), by: "a".into() };
    assert_eq!(held.reason(), "CIDRConflict");
    assert_eq!(ledger.observe(&node("b", "10.10.4.0/23")), [held]);
    assert_eq!(ledger.observe(&node("b", "10.10.4.0/23")), [], "told once");
    ledger.forget("a");
    assert_eq!(ledger.used(), [2], "b still has both");
    ledger.forget("b");
    assert_eq!(ledger.used(), [0]);
}

#[test]
fn two_small_ranges_in_one_slot_do_not_collide_and_keep_it_taken() {
    let mut ledger = ledger(V4, "", 24, 64);
    assert_eq!(ledger.observe(&node("a", "10.10.4.0/25")), []);
    assert_eq!(ledger.observe(&node("b", "10.10.4.128/25")), []);
    ledger.forget("a");
    assert_eq!(ledger.used(), [1]);
}

#[test]
fn a_range_among_the_services_is_told_and_never_freed() {
    let mut ledger = ledger(V4, "10.10.128.0/17", 24, 64);
    let inside = Problem::InServices { range: net("10.10.200.0/24"), service: net("10.10.128.0/17") };
    assert_eq!(ledger.observe(&node("a", "10.10.200.0/24")), [inside]);
    ledger.forget("a");
    assert_eq!(ledger.used(), [128]);
}

#[test]
fn a_namesake_inherits_nothing() {
    let mut ledger = ledger(V4, "", 24, 64);
    let named = |uid: &str, ranges: &str| NodeView { uid: uid.into(), ..node("worker", ranges) };
    ledger.observe(&named("u-1", "10.10.0.0/24"));
    ledger.observe(&named("u-2", ""));
    assert_eq!(ledger.join("u-2").unwrap(), "10.10.1.0/24", "u-1 was not told as gone yet");
    ledger.forget("u-1");
    assert_eq!(ledger.used(), [1]);
}

#[test]
fn a_node_that_was_never_observed_is_promised_nothing() {
    let mut ledger = ledger(V4, "", 24, 64);
    assert_eq!(ledger.promise("ghost"), Promise::Nothing);
    assert_eq!(ledger.used(), [0]);
}

#[test]
fn five_thousand_nodes_get_five_thousand_ranges_without_passing_any() {
    let mut ledger = ledger("10.0.0.0/8 fd00::/48", "", 24, 64);
    for at in 0..5_000 {
        let name = format!("node-{at}");
        ledger.observe(&node(&name, ""));
        let Promise::Write { passed, .. } = ledger.promise(&name) else { panic!() };
        assert!(passed.iter().all(|(_, passed)| *passed == 0), "the search goes on where it ended");
    }
    assert_eq!(ledger.used(), [5_000, 5_000]);
}
