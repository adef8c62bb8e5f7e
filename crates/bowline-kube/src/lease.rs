//! Leader election on a Kubernetes Lease, with the algorithm of client-go, so that a Go replica and a Bowline replica can share one Lease
//! during a migration.
//!
//! - `record` is the Lease as plain data, `plan` decides the next step: both are pure.
//! - `elector` performs the steps against the API server and publishes the result to the rest of the process.
//! - `fence` is checked immediately before every mutation. It, and not the elector's state, prevents two leaders from writing at the same
//!   time.
//!
//! A process that lost the lease never tries again: it must exit, because the state of its work in flight is unknown.

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

/// The state of this process in the leader election.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leadership {
    /// Another process leads, or none yet. A change of `holder` means that there is a new leader.
    Standby {
        /// The holder of the Lease as last observed.
        holder: Option<String>,
    },
    /// This process leads.
    Leading {
        /// The send time of the request that made it the leader.
        since: Instant,
        /// The send time of the last successful renewal. It changes without notifying watchers of this value.
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

/// Why a process no longer takes part in the election.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// No renewal succeeded before the renew deadline.
    #[error("the lease could not be renewed within {after:?}; the last failure was: {last_failure}")]
    RenewDeadline {
        /// The renew deadline.
        after: Duration,
        /// The last failure seen.
        last_failure: String,
    },
    /// Another process holds the Lease.
    #[error("the lease was taken over by {0}")]
    TakenBy(String),
    /// The process made no progress, so its elector no longer takes part.
    #[error("the process ran none of its tasks for {after:?}, so it no longer renews its lease")]
    Hung {
        /// How long it made no progress.
        after: Duration,
    },
    /// This process released the Lease.
    #[error("the lease was released")]
    Released,
}
