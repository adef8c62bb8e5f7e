//! The lease fence (safety rail SR-13): no mutation starts without a lease that is valid at that moment.
//!
//! Whoever is about to change something, in the cloud or in the cluster, asks the fence right before the call. The
//! cloud knows no fencing tokens, so the check must sit at the write, not at the start of the work.

use std::fmt;

/// Says whether this process may change things right now.
pub trait Fence: Send + Sync + fmt::Debug {
    /// Checks that a mutation may start at this moment.
    ///
    /// # Errors
    ///
    /// [`Fenced`] when the lease is not held or has run out, or when a person paused all changes.
    fn check(&self) -> Result<(), Fenced>;

    /// Why a person paused all changes, if one did (safety rail SR-15). Then `check` refuses; who asks here first can wait
    /// for the end of the pause instead of failing, and say why it waits.
    fn paused(&self) -> Option<String> {
        None
    }
}

/// A mutation was stopped because this process does not hold a valid lease.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not writing: {why}")]
pub struct Fenced {
    /// What is wrong with the lease.
    pub why: String,
}

/// A fence that is always open: for a process that runs without leader election, and for tests.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unfenced;

impl Fence for Unfenced {
    fn check(&self) -> Result<(), Fenced> {
        Ok(())
    }
}
