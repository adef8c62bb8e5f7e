//! Why a migration is blocked, in one word. Each ends by itself when what it names is no longer so.

use std::fmt;

/// Why it does not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// What the cluster has now cannot be told for certain.
    AmbiguousTopology,
    /// A check of the preflight has failed.
    PreflightFailed,
    /// The cluster's name is not the one in the names of its load balancers, or not the one it was installed with (I3).
    ClusterNameMismatch,
    /// The hand-over would make, take away or move something that nobody has accepted.
    HandOverChanges,
    /// The previous manager uses another Lease than the one that ours is told to use, or none.
    LeaseMismatch,
    /// The previous writer has not stopped, or it cannot be seen that it has.
    WriterStillActive,
    /// A writer that does not heed our Lease has appeared beside ours; ours was paused.
    WriterAppeared,
    /// Our manager did not get the Lease.
    LeaseNotAcquired,
    /// Our manager would make a load balancer for a Service that has one, or has made one.
    UnexpectedCreate,
    /// Services were not all taken over in time.
    AdoptionStalled,
    /// Nodes stayed uninitialised; the taints were removed again.
    NodesUninitialized,
    /// Our manager does not run with all its controllers.
    ManagerNotReady,
    /// Something is not as it was before.
    VerifyFailed,
    /// The previous writer could not find load balancers that exist now.
    RollbackWouldDuplicate,
    /// Our manager has not stopped.
    ManagerStillRunning,
    /// A rule that holds always would have been broken by the next step.
    InvariantViolated,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::AmbiguousTopology,
        Self::PreflightFailed,
        Self::ClusterNameMismatch,
        Self::HandOverChanges,
        Self::LeaseMismatch,
        Self::WriterStillActive,
        Self::WriterAppeared,
        Self::LeaseNotAcquired,
        Self::UnexpectedCreate,
        Self::AdoptionStalled,
        Self::NodesUninitialized,
        Self::ManagerNotReady,
        Self::VerifyFailed,
        Self::RollbackWouldDuplicate,
        Self::ManagerStillRunning,
        Self::InvariantViolated,
    ];
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
