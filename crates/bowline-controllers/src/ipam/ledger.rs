//! Records which Node has which range: the sets of free ranges, and for each Node (by UID) its ranges or its reservation. A pure value that
//! each new leader rebuilds from the Nodes of the API server.
//!
//! The ranges of a Node are immutable, so the ledger follows the Nodes. Invalid ranges (foreign, or used twice) are recorded like all
//! others, so that no other Node gets them, and reported as [`Problem`]s. A slot becomes free only when the last Node that overlaps it is
//! gone.

use std::collections::BTreeMap;
use std::mem;
use std::ops::Range;

use bowline_cloud::NodeView;
use ipnet::IpNet;

use super::cidr_set::{Candidate, CidrSet};
use super::options::IpamControllerOptions;
use super::problem::Problem;

/// The ranges of all Nodes.
#[derive(Debug)]
pub(super) struct Ledger {
    sets: Vec<CidrSet>,
    services: Vec<IpNet>,
    nodes: BTreeMap<String, Entry>,
    /// The number of slots that Nodes and service CIDRs occupy, counted once for each of them. If it exceeds the number of taken slots,
    /// some are shared.
    claims: usize,
}

#[derive(Debug)]
struct Entry {
    name: String,
    holding: Holding,
}

/// The ranges of one Node.
#[derive(Debug, Default, PartialEq, Eq)]
enum Holding {
    #[default]
    Nothing,
    /// Reserved by us, but not on the Node in the informer's cache yet. `written` means that the API server has accepted the write.
    Promised { ranges: Vec<IpNet>, written: bool },
    /// The ranges on the Node.
    Shown(Vec<IpNet>),
}

impl Holding {
    fn ranges(&self) -> &[IpNet] {
        match self {
            Self::Nothing => &[],
            Self::Promised { ranges, .. } | Self::Shown(ranges) => ranges,
        }
    }
}

/// The result for a Node that needs ranges.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Promise {
    /// Write these: one range for each cluster CIDR, in their order.
    Write {
        /// The reserved ranges.
        ranges: Vec<IpNet>,
        /// For a new reservation, how many taken slots the search in each cluster CIDR skipped.
        passed: Vec<(IpNet, usize)>,
    },
    /// The Node has its ranges, or the ledger does not know it.
    Nothing,
    /// This cluster CIDR has no free range. Nothing was reserved in any other.
    Exhausted(IpNet),
}

impl Ledger {
    /// A ledger without Nodes, in which only the service CIDRs are taken.
    pub(super) fn new(options: &IpamControllerOptions) -> Self {
        let services = options.service_cidrs().to_vec();
        let mut ledger = Self { sets: options.sets(), services, nodes: BTreeMap::new(), claims: 0 };
        for service in ledger.services.clone() {
            ledger.occupy(&service);
        }
        ledger
    }

    /// The sets, for metrics.
    pub(super) fn sets(&self) -> &[CidrSet] {
        &self.sets
    }

    /// Records the ranges of a Node, and returns what is wrong with them. Releases its reservation if the Node has other ranges.
    pub(super) fn observe(&mut self, node: &NodeView) -> Vec<Problem> {
        let shown: Vec<IpNet> = node.pod_cidrs.iter().map(IpNet::trunc).collect();
        let entry = self.nodes.entry(node.uid.to_string()).or_insert_with(|| Entry::of(node));
        match &entry.holding {
            Holding::Promised { .. } if shown.is_empty() => return Vec::new(),
            held if held.ranges() == shown => {
                if !shown.is_empty() {
                    entry.holding = Holding::Shown(shown);
                }
                return Vec::new();
            }
            _other => {}
        }
        self.release(&node.uid);
        if shown.is_empty() {
            return Vec::new();
        }
        let problems = self.problems(&shown);
        shown.iter().for_each(|range| self.occupy(range));
        self.hold(&node.uid, Holding::Shown(shown));
        problems
    }

    /// Drops a deleted Node, and releases the slots that nothing else occupies.
    pub(super) fn forget(&mut self, uid: &str) {
        self.release(uid);
        self.nodes.remove(uid);
    }

    /// Reserves ranges for a Node: one from each cluster CIDR, or none. An earlier reservation that may have been written is returned
    /// again, unless another Node has one of its ranges by now.
    pub(super) fn promise(&mut self, uid: &str) -> Promise {
        // Nothing is reserved for an unknown Node: the ledger would get no delete event, and the reservation would leak.
        let Some(entry) = self.nodes.get(uid) else { return Promise::Nothing };
        match &entry.holding {
            Holding::Shown(_) | Holding::Promised { written: true, .. } => return Promise::Nothing,
            Holding::Promised { ranges, .. } => {
                let ranges = ranges.clone();
                if !ranges.iter().any(|range| self.shown_by_another(uid, range)) {
                    return Promise::Write { ranges, passed: Vec::new() };
                }
                self.release(uid);
            }
            Holding::Nothing => {}
        }
        self.promise_new(uid)
    }

    /// The API server accepted the write of the reserved ranges.
    pub(super) fn written(&mut self, uid: &str) {
        if let Some(Entry { holding: Holding::Promised { written, .. }, .. }) = self.nodes.get_mut(uid) {
            *written = true;
        }
    }

    /// Releases a reservation that the API server rejected, unless the Node has ranges by now.
    pub(super) fn take_back(&mut self, uid: &str) {
        let entry = self.nodes.get(uid);
        let promised = entry.is_some_and(|entry| matches!(entry.holding, Holding::Promised { .. }));
        if promised {
            self.release(uid);
        }
    }

    fn promise_new(&mut self, uid: &str) -> Promise {
        let mut found: Vec<Candidate> = Vec::with_capacity(self.sets.len());
        for set in &self.sets {
            match set.candidate() {
                Some(candidate) => found.push(candidate),
                None => return Promise::Exhausted(set.cluster()),
            }
        }
        for (set, candidate) in self.sets.iter_mut().zip(&found) {
            set.take(candidate);
            self.claims += 1;
        }
        let ranges: Vec<IpNet> = found.iter().map(|candidate| candidate.range).collect();
        let passed = self.sets.iter().zip(&found).map(|(set, found)| (set.cluster(), found.passed)).collect();
        self.hold(uid, Holding::Promised { ranges: ranges.clone(), written: false });
        Promise::Write { ranges, passed }
    }

    fn hold(&mut self, uid: &str, holding: Holding) {
        if let Some(entry) = self.nodes.get_mut(uid) {
            entry.holding = holding;
        }
    }

    fn occupy(&mut self, range: &IpNet) {
        for set in &mut self.sets {
            if let Some(slots) = set.slots_of(range) {
                set.occupy(&slots);
                self.claims += slots.len();
            }
        }
    }

    /// Releases the slots of a Node, except those that others occupy too.
    fn release(&mut self, uid: &str) {
        let Some(entry) = self.nodes.get_mut(uid) else { return };
        let holding = mem::take(&mut entry.holding);
        // Compares with all Nodes only if slots are shared, which is rare.
        let shared = self.claims > self.sets.iter().map(CidrSet::used).sum();
        let others = self.nodes.values().flat_map(|entry| entry.holding.ranges()).chain(&self.services);
        let others: Vec<IpNet> = if shared { others.copied().collect() } else { Vec::new() };
        for set in &mut self.sets {
            let kept: Vec<_> = others.iter().filter_map(|range| set.slots_of(range)).collect();
            for range in holding.ranges() {
                let Some(freed) = set.slots_of(range) else { continue };
                let touched: Vec<_> = kept.iter().filter(|kept| intersect(kept, &freed)).cloned().collect();
                set.release(&freed, &touched);
                self.claims -= freed.len();
            }
        }
    }

    /// What is wrong with the ranges of a Node. They must not be recorded yet.
    fn problems(&self, shown: &[IpNet]) -> Vec<Problem> {
        let mut problems = Vec::new();
        if shown.len() > self.sets.len() {
            problems.push(Problem::TooMany { found: shown.len(), most: self.sets.len() });
        }
        for range in shown {
            let mut slots = self.sets.iter().filter_map(|set| Some((set, set.slots_of(range)?))).peekable();
            if slots.peek().is_none() {
                problems.push(Problem::Foreign { range: *range });
            } else if slots.any(|(set, slots)| set.any_taken(&slots)) {
                // Only in case of a conflict, because this checks all Nodes.
                problems.extend(self.conflict(range));
            }
        }
        problems
    }

    fn conflict(&self, range: &IpNet) -> Option<Problem> {
        if let Some(service) = self.services.iter().find(|service| overlap(service, range)) {
            return Some(Problem::InServices { range: *range, service: *service });
        }
        let holds = |entry: &&Entry| entry.holding.ranges().iter().any(|held| overlap(held, range));
        let holder = self.nodes.values().find(holds)?;
        Some(Problem::Held { range: *range, by: holder.name.clone() })
    }

    fn shown_by_another(&self, uid: &str, range: &IpNet) -> bool {
        let others = self.nodes.iter().filter(|(other, _)| *other != uid);
        others
            .flat_map(|(_, entry)| match &entry.holding {
                Holding::Shown(ranges) => ranges.as_slice(),
                _ => &[],
            })
            .any(|shown| overlap(shown, range))
    }
}

impl Entry {
    fn of(node: &NodeView) -> Self {
        Self { name: node.name.to_string(), holding: Holding::Nothing }
    }
}

/// Two CIDRs overlap only if one contains the other.
fn overlap(one: &IpNet, other: &IpNet) -> bool {
    one.contains(other) || other.contains(one)
}

fn intersect(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
