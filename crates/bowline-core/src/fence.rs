//! The lease fence (safety rail SR-13): no mutation starts without a lease that is valid at that moment.
//!
//! Every caller checks the fence immediately before a request that changes something, in the cloud or in the cluster. Clouds do not
//! support fencing tokens, so a check at the start of a reconcile would be too early.

use std::fmt;

/// Decides whether this process may change anything right now.
pub trait Fence: Send + Sync + fmt::Debug {
    /// Checks that a mutation may start at this moment.
    ///
    /// # Errors
    ///
    /// [`Fenced`] if the lease is not held or has expired, if an administrator paused all changes, or while the cloud rejects our credentials.
    fn check(&self) -> Result<(), Fenced>;

    /// Checks that a status or condition may be written that explains why nothing is changed. Same as `check`, except where the reason that
    /// stops changes is what the condition reports (rejected credentials).
    ///
    /// # Errors
    ///
    /// [`Fenced`] as `check`.
    fn check_telling(&self) -> Result<(), Fenced> {
        self.check()
    }

    /// Why an administrator paused all changes, if that is the case (safety rail SR-15). Then `check` fails. Callers that check here first can wait
    /// for the end of the pause and report it, instead of failing.
    fn paused(&self) -> Option<Pause> {
        None
    }
}

/// A pause of all changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    /// The reason that the administrator gave.
    pub why: String,
    /// What ends the pause; the message continues with it after "until".
    pub until: String,
}

impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "all changes are paused ({}) until {}", self.why, self.until)
    }
}

/// A mutation was stopped before it was sent: this process holds no valid lease, an administrator paused all changes, or the cloud
/// rejects our credentials.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not writing: {why}")]
pub struct Fenced {
    /// Which of these applies, as a message for people.
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
