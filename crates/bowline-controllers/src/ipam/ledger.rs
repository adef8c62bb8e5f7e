//! Who holds which range: the sets of free ranges, and for each node (by UID) what it has or was promised. A pure value,
//! made anew from the nodes of the API server whenever this process begins to lead.
//!
//! A node's ranges are never changed once it has them, so the ledger follows what nodes show and never argues. Ranges that
//! should not be (foreign, or held twice) are written down like all others, so that nobody else is given them, and told as
//! [`Problem`]s. A slot is free again only when the last node that touches it is gone.

use std::collections::BTreeMap;
use std::mem;
use std::ops::Range;

use bowline_cloud::NodeView;
use ipnet::IpNet;

use super::cidr_set::{Candidate, CidrSet};
use super::options::IpamControllerOptions;
use super::problem::Problem;

/// Who holds what.
#[derive(Debug)]
pub(super) struct Ledger {
    sets: Vec<CidrSet>,
    services: Vec<IpNet>,
    nodes: BTreeMap<String, Entry>,
    /// Slots that nodes and services touch, counted once for each of them: more than are taken means that some are shared.
    claims: usize,
}

#[derive(Debug)]
struct Entry {
    name: String,
    holding: Holding,
}

/// What one node has.
#[derive(Debug, Default, PartialEq, Eq)]
enum Holding {
    #[default]
    Nothing,
    /// Promised by us. The node does not show it yet; `written` says that the API server has accepted it.
    Promised { ranges: Vec<IpNet>, written: bool },
    /// What the node shows.
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

/// The answer to a node that needs ranges.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Promise {
    /// These are to be written: one range for each cluster CIDR, in their order.
    Write {
        /// The ranges.
        ranges: Vec<IpNet>,
        /// For a new promise, what the search in each cluster CIDR had to pass.
        passed: Vec<(IpNet, usize)>,
    },
    /// It has its ranges, or nothing is known of such a node.
    Nothing,
    /// This cluster CIDR has no free range. Nothing was taken from any other.
    Exhausted(IpNet),
}

impl Ledger {
    /// The ledger before any node is known: only service ranges are taken.
    pub(super) fn new(options: &IpamControllerOptions) -> Self {
        let services = options.service_cidrs().to_vec();
        let mut ledger = Self { sets: options.sets(), services, nodes: BTreeMap::new(), claims: 0 };
        for service in ledger.services.clone() {
            ledger.occupy(&service);
        }
        ledger
    }

    /// The sets, for their metrics.
    pub(super) fn sets(&self) -> &[CidrSet] {
        &self.sets
    }

    /// Takes in what a node shows, and says what is wrong with it. What it was promised and does not show is released
    /// when it shows something else.
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

    /// Forgets a node that is gone, and releases what nobody else holds.
    pub(super) fn forget(&mut self, uid: &str) {
        self.release(uid);
        self.nodes.remove(uid);
    }

    /// Promises ranges to a node: one of each cluster CIDR, or none at all. What it was promised before and may have been
    /// written is promised again, unless another node shows it in the meantime.
    pub(super) fn promise(&mut self, uid: &str) -> Promise {
        // A node that was not observed would not be told as gone either: what it is promised would be lost.
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

    /// The API server has accepted what was promised.
    pub(super) fn written(&mut self, uid: &str) {
        if let Some(Entry { holding: Holding::Promised { written, .. }, .. }) = self.nodes.get_mut(uid) {
            *written = true;
        }
    }

    /// Takes a promise back that the API server has refused, unless the node shows ranges by now.
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

    /// Releases what a node holds, except the slots that others touch too.
    fn release(&mut self, uid: &str) {
        let Some(entry) = self.nodes.get_mut(uid) else { return };
        let holding = mem::take(&mut entry.holding);
        // Looks at all nodes only if there is something to find, which is rare.
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

    /// What is wrong with ranges that a node shows and that are not written down yet.
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
                // Only now, and not for every node: this looks at all of them.
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
