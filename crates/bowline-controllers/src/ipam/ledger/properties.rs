//! Whatever nodes, watchers and the API server do, in whatever order: no range is promised twice, and none is lost.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const NODES: usize = 12;

#[derive(Debug, Clone)]
enum Event {
    /// The node appears, or is told again, without ranges.
    Seen(usize),
    /// A worker asks for it.
    Asks(usize),
    /// The API server accepts, or refuses, what was promised.
    Accepted(usize),
    Refused(usize),
    /// The node shows what it was promised.
    Shows(usize),
    /// Somebody else gave it ranges, of any size and anywhere.
    Foreign(usize, Vec<IpNet>),
    /// The node is deleted.
    Gone(usize),
}

/// Ranges in and around the cluster CIDR 10.1.0.0/20, larger and smaller than a slot.
fn v4_range() -> impl Strategy<Value = IpNet> {
    (0_u8..=2, any::<u8>(), 14_u8..=26).prop_map(|(second, third, length)| {
        IpNet::new([10, second, third % 32, 0].into(), length).unwrap().trunc()
    })
}

fn v6_range() -> impl Strategy<Value = IpNet> {
    (0_u16..24, 58_u8..=66).prop_map(|(part, length)| {
        let address = std::net::Ipv6Addr::new(0xfd00, 0, 0, part, 0, 0, 0, 0);
        IpNet::new(address.into(), length).unwrap().trunc()
    })
}

fn event() -> impl Strategy<Value = Event> {
    let node = || 0..NODES;
    prop_oneof![
        4 => node().prop_map(Event::Seen),
        6 => node().prop_map(Event::Asks),
        3 => node().prop_map(Event::Accepted),
        1 => node().prop_map(Event::Refused),
        3 => node().prop_map(Event::Shows),
        1 => (node(), proptest::collection::vec(prop_oneof![v4_range(), v6_range()], 1..3))
            .prop_map(|(node, ranges)| Event::Foreign(node, ranges)),
        3 => node().prop_map(Event::Gone),
    ]
}

fn view(at: usize, ranges: &[IpNet]) -> NodeView {
    let name = format!("n{at}");
    NodeView {
        uid: name.as_str().into(),
        name: name.into(),
        pod_cidrs: ranges.to_vec(),
        ..NodeView::default()
    }
}

impl Ledger {
    fn held(&self, at: usize) -> Vec<IpNet> {
        self.nodes.get(&format!("n{at}")).map_or_else(Vec::new, |entry| entry.holding.ranges().to_vec())
    }

    fn happens(&mut self, event: &Event) {
        match event {
            // A node that shows ranges cannot lose them: the API server forbids it.
            Event::Seen(at) if self.held(*at).is_empty() => drop(self.observe(&view(*at, &[]))),
            Event::Asks(at) => self.ask(*at),
            Event::Accepted(at) => self.written(&format!("n{at}")),
            Event::Refused(at) => self.take_back(&format!("n{at}")),
            Event::Shows(at) if !self.held(*at).is_empty() => {
                let problems = self.observe(&view(*at, &self.held(*at)));
                assert!(problems.is_empty(), "we gave it: {problems:?}");
            }
            Event::Foreign(at, ranges) => drop(self.observe(&view(*at, ranges))),
            Event::Gone(at) => self.forget(&format!("n{at}")),
            Event::Seen(_) | Event::Shows(_) => {}
        }
    }

    /// A promise has one range of each family, and none that anybody else has.
    fn ask(&mut self, at: usize) {
        let full: Vec<bool> = self.sets.iter().map(|set| set.used() == set.slots()).collect();
        let before: Vec<usize> = self.sets.iter().map(CidrSet::used).collect();
        match self.promise(&format!("n{at}")) {
            Promise::Nothing => {}
            Promise::Exhausted(_) => {
                assert!(full.contains(&true));
                // It may have given back an old promise; it has taken nothing.
                assert!(self.sets.iter().zip(before).all(|(set, before)| set.used() <= before));
                assert!(self.held(at).is_empty());
            }
            Promise::Write { ranges, .. } => {
                assert_eq!(ranges.len(), self.sets.len());
                for range in &ranges {
                    let taken = (0..NODES)
                        .filter(|other| *other != at)
                        .flat_map(|other| self.held(other))
                        .chain(self.services.clone())
                        .find(|other| overlap(other, range));
                    assert_eq!(taken, None, "{range} was promised");
                }
            }
        }
    }

    /// Taken is what somebody touches, no more and no less.
    fn check(&self) {
        for set in &self.sets {
            let ranges = (0..NODES).flat_map(|at| self.held(at)).chain(self.services.clone());
            let touched: BTreeSet<usize> =
                ranges.filter_map(|range| set.slots_of(&range)).flatten().collect();
            assert_eq!(set.used(), touched.len());
            assert!(touched.iter().all(|slot| set.any_taken(&(*slot..slot + 1))));
        }
    }
}

proptest! {
    #[test]
    fn no_range_is_promised_twice_and_none_is_lost(events in proptest::collection::vec(event(), 1..200)) {
        let nets = |text: &str| text.split(' ').map(|net| net.parse().unwrap()).collect::<Vec<IpNet>>();
        let (cluster, services) = (nets("10.1.0.0/20 fd00::/60"), nets("10.1.3.0/24"));
        let options = IpamControllerOptions::new(true, &cluster, &services, 24, 64).unwrap();
        let mut ledger = Ledger::new(&options);
        for event in &events {
            ledger.happens(event);
            ledger.check();
        }
        (0..NODES).for_each(|at| ledger.happens(&Event::Gone(at)));
        prop_assert_eq!(ledger.sets.iter().map(CidrSet::used).collect::<Vec<_>>(), [1, 0]);
        for at in 0..15 {
            ledger.observe(&view(at, &[]));
            let promised = matches!(ledger.promise(&format!("n{at}")), Promise::Write { .. });
            prop_assert!(promised, "everything released can be handed out again");
        }
    }
}
