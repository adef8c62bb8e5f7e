//! Leader election on a Kubernetes Lease, with the algorithm of client-go, so that a Go replica and ours can share
//! one Lease while a cluster moves from one to the other.
//!
//! - `record` is the Lease as plain data, `plan` decides what to do with it: both pure.
//! - `elector` performs the steps against the API server and tells the rest of the process how it went.
//! - `fence` is asked right before every mutation. It, not the elector's state, is what keeps two leaders apart.
//!
//! Who loses never tries again: the process must exit, because nobody can say what its work in flight still does.

mod announce;
mod config;
mod elector;
mod fence;
mod freed;
mod health;
mod metrics;
mod plan;
mod record;
#[cfg(test)]
mod tests;

use std::time::Duration;

use tokio::time::Instant;

pub use self::{
    announce::{News, announce, lease_reference},
    config::{LeaseConfig, LeaseConfigError},
    elector::{Elector, Ended, ReleaseError, Released},
    fence::LeaseFence,
    health::{ElectionHealth, Stale},
    metrics::LeaseMetrics,
    plan::{Candidate, Observed, Step, plan, renewal},
    record::LeaseRecord,
};

/// How this process stands in the election.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leadership {
    /// Somebody else leads, or nobody yet. A change of `holder` is the news of a new leader.
    Standby {
        /// Who holds the Lease, as far as we saw.
        holder: Option<String>,
    },
    /// This process leads.
    Leading {
        /// Since when.
        since: Instant,
        /// When the last renewal that succeeded was sent. Moves without waking those who watch.
        renewed: Instant,
        /// The UID of the Lease, for events about it.
        lease_uid: Option<String>,
    },
    /// This process led, or gave up, and will not lead again.
    Lost {
        /// What happened.
        why: Lost,
    },
}

/// Why a process no longer takes part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// No renewal succeeded in time.
    #[error("the lease could not be renewed within {after:?}; the last failure was: {last_failure}")]
    RenewDeadline {
        /// The renew deadline.
        after: Duration,
        /// The last failure seen.
        last_failure: String,
    },
    /// Somebody else holds the Lease.
    #[error("the lease was taken over by {0}")]
    TakenBy(String),
    /// The process made no progress, so its elector no longer takes part.
    #[error("the process ran none of its tasks for {after:?}, so it no longer renews its lease")]
    Hung {
        /// How long it was waited for.
        after: Duration,
    },
    /// We gave it back.
    #[error("the lease was released")]
    Released,
}
