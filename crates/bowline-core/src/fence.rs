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
    /// [`Fenced`] when the lease is not held or has run out, when a person paused all changes, or while the cloud does not
    /// know us.
    fn check(&self) -> Result<(), Fenced>;

    /// Checks that people may be told, on an object of the cluster, why nothing is changed. As `check`, unless what stops changes is
    /// just what they should hear of.
    ///
    /// # Errors
    ///
    /// [`Fenced`] as `check`.
    fn check_telling(&self) -> Result<(), Fenced> {
        self.check()
    }

    /// Why a person paused all changes, if one did (safety rail SR-15). Then `check` refuses; who asks here first can wait
    /// for the end of the pause instead of failing, and say why it waits.
    fn paused(&self) -> Option<Pause> {
        None
    }
}

/// A pause of all changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    /// What the person said.
    pub why: String,
    /// What has to happen for it to end, to be read after "until".
    pub until: String,
}

impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "all changes are paused ({}) until {}", self.why, self.until)
    }
}

/// A mutation was stopped before it began: this process does not hold a valid lease, or a person paused all changes, or the
/// cloud does not know who we are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not writing: {why}")]
pub struct Fenced {
    /// Which of these it is, in words for a person.
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
