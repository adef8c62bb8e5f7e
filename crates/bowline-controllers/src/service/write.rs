//! The writes of a run to its Service, and what a failed one means for the key. What is written is data, from `patch`.

use std::time::Duration;

use bowline_kube::queue::Outcome;
use bowline_kube::write::{Change, Guard, WriteClass, WriteError, Written};
use k8s_openapi::api::core::v1::Service;
use tracing::warn;

use super::desire::has_finalizer;
use super::message;
use super::noted::with_notes;
use super::patch;
use super::work::{Job, Work};

/// After a conflict: time for the informer to show what changed.
const AFTER_CONFLICT: Duration = Duration::from_secs(1);

impl Work {
    /// Our finalizer is there before the first thing in the cloud is. `Some` if it could not be written.
    pub(super) async fn add_finalizer(&self, job: &Job) -> Option<Outcome> {
        if job.task.is_removal() {
            return None;
        }
        job.memory().works_for(job.service());
        if has_finalizer(job.service()) || job.memory().finalizer_sent {
            return None;
        }
        let outcome = self.write(job, patch::add_finalizer()).await;
        job.memory().finalizer_sent = outcome.is_none();
        outcome
    }

    /// Writes to exactly the Service that was looked at; `None` if it went well or there was nothing to write.
    pub(super) async fn write(&self, job: &Job, change: Change) -> Option<Outcome> {
        self.outcome_of(job, self.patch(job, change, &same(job)).await)
    }

    /// What a failed write means for the key; `None` if it did not fail.
    pub(super) fn outcome_of(&self, job: &Job, written: Result<Written, WriteError>) -> Option<Outcome> {
        let error = written.err()?;
        match error.class() {
            // It is gone, or another has its name: the informer tells, and what we know of it is removed then.
            WriteClass::NotFound => Some(Outcome::Done),
            WriteClass::Conflict => Some(Outcome::RetryAfter(AFTER_CONFLICT)),
            WriteClass::Fenced => Some(self.fenced(job).unwrap_or(Outcome::Failed)),
            _ => {
                warn!(service = %job.key, %error, "could not write, will be tried again");
                self.tell(job.service(), &message::not_synced(&error));
                Some(error.retry_after().map_or(Outcome::Failed, Outcome::RetryAfter))
            }
        }
    }

    /// Writes to exactly the Service that was looked at a change that has the notes of this run in it.
    pub(super) async fn patch_noting(&self, job: &Job, change: Change) -> Result<Written, WriteError> {
        if job.notes.is_empty() {
            return self.patch(job, change, &same(job)).await;
        }
        let unshown = job.memory().notes(job.service(), &job.notes);
        let written = self.patch(job, change, &same(job)).await;
        let mut memory = job.memory();
        if written.is_err() {
            // If it took effect after all, that looks like an edit, and it is looked at once more.
            memory.noted = unshown;
        } else {
            memory.wrote(job.service(), &with_notes(job.service(), &job.notes));
            // The informer may have been faster.
            if let Some(live) = self.context.services.get(&job.key) {
                memory.keeps_only(&live.view);
            }
        }
        written
    }

    /// Writes what people should hear: also while nothing may be changed because the cloud does not know us.
    pub(super) async fn patch_telling(&self, job: &Job, change: Change) -> Result<Written, WriteError> {
        if !job.notes.is_empty() {
            return self.patch_noting(job, change).await;
        }
        let (service, writer) = (job.service(), self.context.writer.telling());
        writer.patch_status::<Service>(Some(&service.namespace), &service.name, &same(job), change).await
    }

    pub(super) async fn patch(
        &self,
        job: &Job,
        change: Change,
        guard: &Guard,
    ) -> Result<Written, WriteError> {
        let service = job.service();
        let writer = &self.context.writer;
        writer.patch_status::<Service>(Some(&service.namespace), &service.name, guard, change).await
    }
}

/// It is still the Service that was looked at.
fn same(job: &Job) -> Guard {
    Guard::Uid(job.service().uid.to_string())
}
