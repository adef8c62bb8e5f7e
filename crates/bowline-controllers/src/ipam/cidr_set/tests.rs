//! Upstream's rows for the bitmap, under recognisable names, and what they leave out.

use super::*;

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

fn set(cluster: &str, node_mask: u8) -> CidrSet {
    CidrSet::new(net(cluster), node_mask).unwrap()
}

impl CidrSet {
    fn allocate(&mut self) -> Option<IpNet> {
        let candidate = self.candidate()?;
        self.take(&candidate);
        Some(candidate.range)
    }

    fn occupy_range(&mut self, range: &str) {
        let slots = self.slots_of(&net(range)).unwrap();
        self.occupy(&slots);
    }

    fn release_range(&mut self, range: &str) {
        let slots = self.slots_of(&net(range)).unwrap();
        self.release(&slots, &[]);
    }
}

#[test]
fn a_fully_allocated_set_gives_nothing_until_something_is_released() {
    for (cluster, mask, only) in
        [("127.123.234.0/30", 30, "127.123.234.0/30"), ("beef:1234::/30", 30, "beef:1234::/30")]
    {
        let mut set = set(cluster, mask);
        assert_eq!(set.allocate(), Some(net(only)));
        assert_eq!(set.allocate(), None);
        set.release_range(only);
        assert_eq!(set.allocate(), Some(net(only)));
        assert_eq!(set.allocate(), None);
    }
}

#[test]
fn index_to_cidr_block() {
    for (cluster, mask, slot, range) in [
        ("127.123.3.0/16", 24, 0, "127.123.0.0/24"),
        ("127.123.0.0/16", 24, 15, "127.123.15.0/24"),
        ("192.168.5.219/28", 32, 5, "192.168.5.213/32"),
        ("2001:db8:1234:3::/48", 64, 0, "2001:db8:1234::/64"),
        ("2001:db8:1234::/48", 64, 15, "2001:db8:1234:f::/64"),
        ("2001:db8:85a3::8a2e:370:7334/50", 63, 6425, "2001:db8:85a3:3232::/63"),
        ("2001:db8::/32", 48, 0, "2001:db8::/48"),
        ("2001:db8::/32", 48, 15, "2001:db8:f::/48"),
        ("2001:db8:85a3::8a2e:370:7334/32", 48, 6425, "2001:db8:1919::/48"),
        ("2001:db8:1234:ff00::/56", 72, 0, "2001:db8:1234:ff00::/72"),
        ("2001:db8:1234:ff00::/56", 72, 15, "2001:db8:1234:ff00:f00::/72"),
        ("2001:db8:1234:ff00::370:7334/56", 72, 6425, "2001:db8:1234:ff19:1900::/72"),
        ("2001:db8:1234:0:1234::/80", 96, 0, "2001:db8:1234:0:1234::/96"),
        ("2001:db8:1234:0:1234::/80", 96, 15, "2001:db8:1234:0:1234:f::/96"),
        ("2001:db8:1234:ff00::370:7334/80", 96, 6425, "2001:db8:1234:ff00:0:1919::/96"),
        // Not upstream's: the ends of the address space.
        ("255.255.255.0/24", 30, 63, "255.255.255.252/30"),
        ("0.0.0.0/8", 32, 16_777_215, "0.255.255.255/32"),
        ("ffff:ffff:ffff::/48", 64, 65_535, "ffff:ffff:ffff:ffff::/64"),
    ] {
        assert_eq!(set(cluster, mask).range_at(slot), net(range), "slot {slot} of {cluster}");
    }
}

#[test]
fn everything_can_be_allocated_released_and_allocated_again() {
    for (cluster, mask) in [("127.123.234.0/16", 24), ("beef:1234::/16", 24)] {
        let mut set = set(cluster, mask);
        let first: Vec<_> = std::iter::from_fn(|| set.allocate()).collect();
        assert_eq!(first.len(), 256);
        for range in &first {
            set.release_range(&range.to_string());
        }
        let second: Vec<_> = std::iter::from_fn(|| set.allocate()).collect();
        assert_eq!(first, second);
    }
}

#[test]
fn occupied_ranges_are_not_allocated() {
    for (cluster, mask) in [("127.123.234.0/16", 24), ("beef:1234::/16", 24)] {
        let mut set = set(cluster, mask);
        let all: Vec<_> = std::iter::from_fn(|| set.allocate()).collect();
        all.iter().for_each(|range| set.release_range(&range.to_string()));
        let (first, last) = all.split_at(128);
        last.iter().chain(&last[..1]).for_each(|range| set.occupy_range(&range.to_string()));
        let again: Vec<_> = std::iter::from_fn(|| set.allocate()).collect();
        assert_eq!(again, first);
    }
}

#[test]
fn double_occupy_and_double_release_count_once() {
    let mut set = set("10.42.0.0/16", 24);
    for (occupy, range, used) in [
        (true, "10.42.5.0/24", 1),
        (true, "10.42.9.0/24", 2),
        (true, "10.42.8.0/22", 5),
        (true, "10.42.9.0/24", 5),
        (false, "10.42.9.0/24", 4),
        (false, "10.42.9.0/24", 4),
        (false, "10.42.4.0/22", 3),
    ] {
        if occupy {
            set.occupy_range(range);
        } else {
            set.release_range(range);
        }
        assert_eq!(set.used(), used, "{range}");
    }
    let all = std::iter::from_fn(|| set.allocate()).count();
    assert_eq!(all, 253, "none was lost, none is given twice");
    assert_eq!(set.totals(), (5 + 253, 2));
}

#[test]
fn bit_for_cidr() {
    for (cluster, mask, range, slot) in [
        ("127.0.0.0/8", 16, "127.0.0.0/16", Some(0)),
        ("be00::/8", 16, "be00::/16", Some(0)),
        ("127.0.0.0/8", 16, "127.123.0.0/16", Some(123)),
        ("be00::/8", 16, "beef::/16", Some(0xef)),
        ("127.0.0.0/8", 16, "127.168.0.0/16", Some(168)),
        ("be00::/8", 16, "be68::/16", Some(0x68)),
        ("127.0.0.0/8", 16, "127.224.0.0/16", Some(224)),
        ("be00::/8", 16, "be24::/16", Some(0x24)),
        ("192.168.0.0/16", 24, "192.168.12.0/24", Some(12)),
        ("beef::/16", 24, "beef:1200::/24", Some(0x12)),
        ("192.168.0.0/16", 24, "192.168.151.0/24", Some(151)),
        ("beef::/16", 24, "beef:9700::/24", Some(0x97)),
        ("192.168.0.0/16", 24, "127.168.224.0/24", None),
        ("beef::/16", 24, "2001:db00::/24", None),
        // Not upstream's: the other family is nowhere.
        ("0.0.0.0/16", 24, "::/24", None),
    ] {
        let found = set(cluster, mask).slots_of(&net(range));
        assert_eq!(found, slot.map(|slot| slot..slot + 1), "{range} in {cluster}");
    }
}

#[test]
fn occupy_touches_all_slots_of_larger_and_smaller_ranges() {
    for (cluster, mask, range, slots) in [
        ("127.0.0.0/8", 16, "127.0.0.0/8", 0..256),
        ("2001:beef:1200::/40", 48, "2001:beef:1200::/40", 0..256),
        ("127.0.0.0/8", 16, "127.0.0.0/2", 0..256),
        ("2001:beef:1200::/40", 48, "2001:beef:1234::/34", 0..256),
        ("127.0.0.0/8", 16, "127.0.0.0/16", 0..1),
        ("2001:beef:1200::/40", 48, "2001:beef:1200::/48", 0..1),
        ("127.0.0.0/8", 32, "127.0.0.0/16", 0..65_536),
        ("2001:beef:1200::/48", 64, "2001:beef:1200::/48", 0..65_536),
        ("127.0.0.0/7", 16, "127.0.0.0/15", 256..258),
        ("2001:beef:7f00::/39", 48, "2001:beef:7f00::/47", 256..258),
        ("127.0.0.0/7", 15, "127.0.0.0/15", 128..129),
        ("2001:beef:7f00::/39", 47, "2001:beef:7f00::/47", 128..129),
        ("127.0.0.0/7", 18, "127.0.0.0/15", 1024..1032),
        ("2001:beef:7f00::/39", 50, "2001:beef:7f00::/47", 1024..1032),
        // Not upstream's: smaller than a slot.
        ("127.0.0.0/8", 16, "127.3.4.0/24", 3..4),
        ("2001:beef::/48", 64, "2001:beef:0:7::ff/128", 7..8),
    ] {
        let mut set = set(cluster, mask);
        let found = set.slots_of(&net(range)).unwrap();
        assert_eq!(found, slots, "{range} in {cluster}");
        set.occupy(&found);
        assert_eq!(set.used(), slots.len());
        let free_before = slots.start > 0 && set.any_taken(&(0..slots.start));
        let free_after = slots.end < set.slots() && set.any_taken(&(slots.end..set.slots()));
        assert!(set.any_taken(&slots) && !free_before && !free_after);
    }
}

#[test]
fn limits_of_the_number_of_ranges() {
    let mut v4 = set("127.0.0.0/8", 32);
    assert_eq!([v4.allocate(), v4.allocate()], [Some(net("127.0.0.0/32")), Some(net("127.0.0.1/32"))]);
    let cluster = net("beef:1234::/32");
    let too_many = CidrSetError::TooMany { cluster, node_mask: 49, most: 16 };
    assert_eq!(CidrSet::new(cluster, 49), Err(too_many));
    let mut v6 = set("2001:beef:1234:369b::/60", 64);
    let two = [net("2001:beef:1234:3690::/64"), net("2001:beef:1234:3691::/64")].map(Some);
    assert_eq!([v6.allocate(), v6.allocate()], two);
    // Not upstream's from here on.
    let cluster = net("0.0.0.0/0");
    assert_eq!(CidrSet::new(cluster, 32), Err(CidrSetError::TooMany { cluster, node_mask: 32, most: 24 }));
    let cluster = net("10.0.0.0/16");
    for node_mask in [15, 33] {
        assert_eq!(CidrSet::new(cluster, node_mask), Err(CidrSetError::Misfit { cluster, node_mask }));
    }
}

#[test]
fn a_released_range_rests_until_the_search_comes_round() {
    let mut set = set("10.0.0.0/22", 24);
    assert_eq!(set.allocate(), Some(net("10.0.0.0/24")));
    set.release_range("10.0.0.0/24");
    let order: Vec<_> = std::iter::from_fn(|| set.allocate().map(|range| range.to_string())).collect();
    assert_eq!(order, ["10.0.1.0/24", "10.0.2.0/24", "10.0.3.0/24", "10.0.0.0/24"]);
}

#[test]
fn a_search_tells_how_many_taken_ranges_it_passed() {
    let mut set = set("10.0.0.0/16", 24);
    assert_eq!(set.candidate().unwrap().passed, 0);
    set.occupy_range("10.0.0.0/17");
    assert_eq!(set.candidate().unwrap().passed, 128);
    set.occupy_range("10.0.128.0/17");
    set.next = 200;
    set.release_range("10.0.7.0/24");
    let found = set.candidate().unwrap();
    assert_eq!((found.range, found.passed), (net("10.0.7.0/24"), 63), "round the end: 200..256, then 0..7");
}

#[test]
fn what_others_still_use_is_not_released() {
    let mut set = set("10.0.0.0/16", 24);
    set.occupy_range("10.0.0.0/20");
    let kept = [set.slots_of(&net("10.0.3.0/24")).unwrap(), 100..200];
    let all = set.slots_of(&net("10.0.0.0/20")).unwrap();
    set.release(&all, &kept);
    assert_eq!(set.used(), 1);
    assert!(set.any_taken(&(3..4)));
}
