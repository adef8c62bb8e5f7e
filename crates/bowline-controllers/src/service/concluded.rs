//! Tells the provider how a piece of work ended and how long it took, for its own metrics. It changes nothing.

use bowline_cloud::{Reconcile, Reconciled};
use tokio::time::Instant;

use super::memory::Task;
use super::work::{Job, Work};

impl From<Task> for Reconcile {
    fn from(task: Task) -> Self {
        match task {
            Task::Ensure => Self::Ensure,
            Task::Nodes => Self::Update,
            Task::Remove | Task::RemoveOrphan => Self::Delete,
        }
    }
}

impl Work {
    /// The work for a Service came to an end, good or bad; what comes next is another one.
    pub(super) fn concluded(&self, job: &Job, failed: bool) {
        let since = job.memory().since.take().unwrap_or_else(Instant::now);
        let (what, took) = (Reconcile::from(job.task), since.elapsed());
        self.context.cloud.concluded(Reconciled { what, took, failed });
    }
}
