//! Decides what to do for one Node, and what follows from a failed write. Pure: the ledger is a value, and nothing is reported here.

use bowline_cloud::NodeView;
use bowline_kube::queue::Outcome;
use bowline_kube::write::{WriteClass, WriteError};
use ipnet::IpNet;
use serde_json::{Value, json};

use super::ledger::{Ledger, Promise};

/// What to do for a Node.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing: the Node has ranges, is being deleted, or its ranges were written and the informer has not received them yet.
    Leave,
    /// Write these ranges.
    Assign {
        /// One range from each cluster CIDR.
        ranges: Vec<IpNet>,
        /// How many taken slots the search in each cluster CIDR skipped; empty if the reservation is an earlier one.
        passed: Vec<(IpNet, usize)>,
    },
    /// Wait until a range of this cluster CIDR is free.
    Wait {
        /// The cluster CIDR.
        exhausted: IpNet,
    },
}

/// Whether a Node needs ranges: it has none and is not being deleted.
pub(super) fn lacks_ranges(node: &NodeView) -> bool {
    node.pod_cidrs.is_empty() && node.deleted_at.is_none()
}

/// Decides what to do for a Node. Ranges in the result are already reserved in the ledger.
pub(super) fn plan(node: &NodeView, ledger: &mut Ledger) -> Step {
    if !lacks_ranges(node) {
        return Step::Leave;
    }
    match ledger.promise(&node.uid) {
        Promise::Nothing => Step::Leave,
        Promise::Write { ranges, passed } => Step::Assign { ranges, passed },
        Promise::Exhausted(exhausted) => Step::Wait { exhausted },
    }
}

/// The merge patch that sets the ranges of a Node, and the first one also in the older, singular field. A merge patch replaces the whole
/// list; a strategic merge patch would merge it with the list of another writer.
pub(super) fn merge_patch(ranges: &[IpNet]) -> Value {
    json!({"spec": {"podCIDR": ranges.first(), "podCIDRs": ranges}})
}

/// What follows from a failed write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Afterwards {
    /// Whether the reservation is kept: unless the API server rejected the write, it may have been executed.
    pub(super) keep: bool,
    /// Whether an event is emitted.
    pub(super) tell: bool,
    /// The outcome for the queue.
    pub(super) outcome: Outcome,
}

/// Decides what follows from a failed write. `failures` is the number of earlier failures of this Node in a row.
pub(super) fn after(error: &WriteError, failures: u32) -> Afterwards {
    match error.class() {
        // The Node was deleted, or replaced by another of this name: the informer reports it.
        WriteClass::NotFound => Afterwards { keep: false, tell: false, outcome: Outcome::Done },
        // The ranges of a Node are immutable: it has others by now, which the informer reports soon. If the write is rejected again, the
        // reason is another one, such as an admission policy, and an event is needed.
        WriteClass::Invalid => Afterwards { keep: false, tell: failures > 0, outcome: Outcome::Failed },
        // Temporary, and nothing that an administrator has to fix.
        WriteClass::Fenced | WriteClass::Conflict => {
            Afterwards { keep: true, tell: false, outcome: Outcome::Failed }
        }
        WriteClass::Forbidden | WriteClass::Transient => {
            let outcome = error.retry_after().map_or(Outcome::Failed, Outcome::RetryAfter);
            Afterwards { keep: true, tell: true, outcome }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patch_names_the_first_range_twice_as_upstream_does() {
        let ranges: Vec<IpNet> = ["10.0.1.0/24", "fd00:0:0:1::/64"].map(|net| net.parse().unwrap()).to_vec();
        assert_eq!(
            merge_patch(&ranges),
            json!({"spec": {"podCIDR": "10.0.1.0/24", "podCIDRs": ["10.0.1.0/24", "fd00:0:0:1::/64"]}})
        );
    }

    #[test]
    fn only_a_refusal_ends_a_promise() {
        let what = || "patch nodes a".to_owned();
        let lost = WriteError::Transient { what: what(), why: "no answer".to_owned(), retry_after: None };
        assert!(after(&lost, 0).keep, "it may have been written");
        let refused = WriteError::Invalid { what: what(), message: "422".to_owned() };
        assert_eq!(after(&refused, 0), Afterwards { keep: false, tell: false, outcome: Outcome::Failed });
        assert_eq!(after(&refused, 1), Afterwards { keep: false, tell: true, outcome: Outcome::Failed });
        let gone = WriteError::Gone { what: what() };
        assert_eq!(after(&gone, 0), Afterwards { keep: false, tell: false, outcome: Outcome::Done });
    }
}
