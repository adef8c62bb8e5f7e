//! A shared handle on the deletion budget: the controller spends it, administrators read and reset its breaker. It survives a restart of
//! the controller within the process.

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

    /// Whether the breaker is open: so many Nodes seem gone that none is deleted.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.budget().is_open()
    }

    /// Confirms that the Nodes that seem gone are gone: they are deleted as fast as the budget allows. Returns whether the breaker was
    /// open.
    pub fn reset(&self) -> bool {
        self.budget().reset()
    }

    /// Locks the budget. Callers must not hold the guard across an await.
    pub(super) fn budget(&self) -> MutexGuard<'_, DeletionBudget> {
        self.budget.lock()
    }

    /// The current time of the budget, since this handle was created.
    pub(super) fn now(&self) -> Duration {
        self.started.elapsed()
    }
}
