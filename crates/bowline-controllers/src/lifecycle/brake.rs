//! The deletion budget where others can reach it: the controller spends it, people look at its breaker and reset it. It
//! outlives a restart of the controller within the process.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::rails::deletion_budget::{DeletionBudget, DeletionLimits};

/// A handle on the deletion budget. Clones share it.
#[derive(Debug, Clone)]
pub struct DeletionBrake {
    budget: Arc<Mutex<DeletionBudget>>,
    started: Instant,
}

impl DeletionBrake {
    pub(super) fn new(limits: DeletionLimits) -> Self {
        Self { budget: Arc::new(Mutex::new(DeletionBudget::new(limits))), started: Instant::now() }
    }

    /// Whether so many nodes look gone that none is deleted.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.budget().is_open()
    }

    /// Says that the nodes that look gone are gone indeed: they go, as fast as the budget allows. Answers whether the
    /// breaker was open.
    pub fn reset(&self) -> bool {
        self.budget().reset()
    }

    /// Never held over an await.
    pub(super) fn budget(&self) -> MutexGuard<'_, DeletionBudget> {
        self.budget.lock()
    }

    /// The budget's time.
    pub(super) fn now(&self) -> Duration {
        self.started.elapsed()
    }
}
