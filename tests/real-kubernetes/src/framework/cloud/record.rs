//! What was asked of the cloud, by whom, and what a right manager would never have asked.

use std::collections::{BTreeMap, BTreeSet};

use crate::framework::protocol::Request;

/// The record. It only grows.
#[derive(Debug, Default)]
pub struct Record {
    /// Changes by kind.
    pub changes: BTreeMap<&'static str, usize>,
    /// Reads by kind.
    pub reads: BTreeMap<&'static str, usize>,
    /// What must never happen.
    pub wrongs: Vec<String>,
    /// The UIDs of all Services that ever had a load balancer.
    pub served: BTreeSet<String>,
    /// Who called so far.
    pub callers: BTreeSet<u32>,
    last_writer: Option<u32>,
    former_writers: BTreeSet<u32>,
}

impl Record {
    /// All changes.
    #[must_use]
    pub fn total_changes(&self) -> usize {
        self.changes.values().sum()
    }

    pub(super) fn wrong(&mut self, what: String) {
        self.wrongs.push(what);
    }

    /// Counts a call. A process that changes something after its successor has is a wrong: two led at once.
    pub(super) fn count(&mut self, request: &Request) {
        self.callers.insert(request.caller);
        let Some(kind) = request.call.change() else {
            *self.reads.entry(request.call.read()).or_default() += 1;
            return;
        };
        *self.changes.entry(kind).or_default() += 1;
        if self.last_writer == Some(request.caller) {
            return;
        }
        if self.former_writers.contains(&request.caller) {
            self.wrong(format!(
                "process {} changes something after its successor did: {kind}",
                request.caller
            ));
        }
        self.former_writers.extend(self.last_writer.replace(request.caller));
    }
}
