//! What to do about one node, and what to make of an answer to a write. Pure: the ledger is a value, and nobody is told.

use bowline_cloud::NodeView;
use bowline_kube::queue::Outcome;
use bowline_kube::write::{WriteClass, WriteError};
use ipnet::IpNet;
use serde_json::{Value, json};

use super::ledger::{Ledger, Promise};

/// What to do about a node.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing: it has ranges, is being deleted, or was promised some that it will show soon.
    Leave,
    /// Write these ranges.
    Assign {
        /// One of each cluster CIDR.
        ranges: Vec<IpNet>,
        /// What the search in each cluster CIDR had to pass; empty if the promise is an old one.
        passed: Vec<(IpNet, usize)>,
    },
    /// Wait until a range of this cluster CIDR is free.
    Wait {
        /// The cluster CIDR.
        exhausted: IpNet,
    },
}

/// Whether a node lacks ranges and may get some.
pub(super) fn lacks_ranges(node: &NodeView) -> bool {
    node.pod_cidrs.is_empty() && node.deleted_at.is_none()
}

/// What to do about a node. What it says to assign is promised in the ledger already.
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

/// The merge patch that gives a node its ranges: the first one also in the old, singular field. A merge patch replaces the
/// list whole; a strategic one would mix it with what another writer has put there.
pub(super) fn merge_patch(ranges: &[IpNet]) -> Value {
    json!({"spec": {"podCIDR": ranges.first(), "podCIDRs": ranges}})
}

/// What to make of a failed write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Afterwards {
    /// Whether the promise stands: unless the server has refused it, it may have been written.
    pub(super) keep: bool,
    /// Whether people are told.
    pub(super) tell: bool,
    /// What becomes of the key.
    pub(super) outcome: Outcome,
}

/// What to make of a failed write, after that many failures of this node in a row.
pub(super) fn after(error: &WriteError, failures: u32) -> Afterwards {
    match error.class() {
        // The node is gone, or another has its name: the informer will tell.
        WriteClass::NotFound => Afterwards { keep: false, tell: false, outcome: Outcome::Done },
        // Ranges of a node cannot be changed: it has others by now, which the informer tells in a moment. Refused again,
        // it is something else, such as a policy, and a person must know.
        WriteClass::Invalid => Afterwards { keep: false, tell: failures > 0, outcome: Outcome::Failed },
        // Not now, and nothing that a person could mend.
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
