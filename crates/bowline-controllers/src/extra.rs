//! Runs the provider-specific controllers of a cloud ([`ExtraController`]): passes each object to them, and writes the result.
//!
//! `plan` compares the result with the object, `execute` writes the difference. This file is the loop around them: events of the informer
//! become keys of a queue, and at most one worker processes a key at a time.

mod execute;
mod plan;
mod removed;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bowline_cloud::{CloudError, ErrorClass, EventKind, ExtraController, Watched, Watches};
use bowline_kube::informer::{Change, Informer, ObjectKey};
use bowline_kube::queue::{Backoff, KeyedQueue, Outcome, Picked, Priority, QueueSettings, run_workers};
use tokio_util::sync::CancellationToken;
use tracing::warn;

pub use plan::{MetadataChange, plan};

use crate::controller::{Controller, ControllerContext, Stopped};
use crate::rails::pause;
use crate::registry::ControllerName;
use crate::view::reference;
use removed::Removed;

/// How many objects are processed concurrently: enough to hide the latency of cloud calls, few enough for the API.
const WORKERS: usize = 4;

/// The back-off after a failure.
const BACKOFF: Backoff = Backoff { base: Duration::from_secs(1), max: Duration::from_secs(300) };

/// Runs a provider-specific controller in the manager.
pub struct Extra {
    name: ControllerName,
    controller: Arc<dyn ExtraController>,
}

impl Extra {
    /// Wraps a provider-specific controller.
    #[must_use]
    pub fn new(controller: Arc<dyn ExtraController>) -> Self {
        let canonical = controller.name().to_owned();
        let alias = controller.alias().map_or_else(|| canonical.clone(), str::to_owned);
        Self { name: ControllerName::new(&canonical, &alias, &canonical, &canonical), controller }
    }
}

#[async_trait]
impl Controller for Extra {
    fn name(&self) -> &ControllerName {
        &self.name
    }

    async fn run(&self, context: ControllerContext, cancel: CancellationToken) -> Result<(), Stopped> {
        let settings = QueueSettings { backoff: BACKOFF, ..QueueSettings::default() };
        let queue = KeyedQueue::new(self.name.canonical.clone(), settings);
        queue.report_to(&context.queues);
        match self.controller.watches() {
            Watches::Nodes => self.drive(context.nodes.clone(), Watched::Node, context, queue, cancel).await,
            Watches::Services => {
                self.drive(context.services.clone(), Watched::Service, context, queue, cancel).await;
            }
        }
        Ok(())
    }
}

impl Extra {
    async fn drive<V: PartialEq + Send + Sync + 'static>(
        &self,
        objects: Informer<Arc<V>>,
        watched: fn(Arc<V>) -> Watched,
        context: ControllerContext,
        queue: KeyedQueue<ObjectKey>,
        cancel: CancellationToken,
    ) {
        let removed = Removed::default();
        let work = Arc::new(Work { controller: self.controller.clone(), context, removed: removed.clone() });
        let changes = objects.subscribe();
        let find = move |key: &ObjectKey| objects.get(key).map(|object| watched(object.view.clone()));
        let handler = move |picked: Picked<ObjectKey>| {
            let (work, object) = (work.clone(), find(&picked.key));
            async move { work.on(&picked.key, object).await }
        };
        let feed = async {
            let mut changes = changes;
            while let Some(Some(change)) = cancel.run_until_cancelled(changes.next()).await {
                if let Change::Deleted { old } = &change {
                    removed.add(&old.key, watched(old.view.clone()));
                }
                queue.add(change.key().clone(), Priority::User);
            }
        };
        tokio::join!(feed, run_workers(WORKERS, queue.clone(), handler, cancel.clone()));
    }
}

/// The dependencies of a reconcile.
struct Work {
    controller: Arc<dyn ExtraController>,
    context: ControllerContext,
    removed: Removed,
}

impl Work {
    async fn on(&self, key: &ObjectKey, object: Option<Watched>) -> Outcome {
        // The controller reads and changes in one call, so it is not called during a pause.
        if pause::judge(self.context.fence.as_ref()).is_err() {
            return Outcome::RetryAfter(pause::LOOK_AGAIN);
        }
        let tried = async {
            self.finish_removed(key).await?;
            match &object {
                Some(object) => self.reconcile(object).await,
                None => Ok(Outcome::Done),
            }
        };
        match tried.await {
            Ok(outcome) => outcome,
            // Retried at a constant interval without back-off, because the object itself did not fail.
            Err(error) if self.is_shut_out(&error) => Outcome::RetryAfter(pause::LOOK_AGAIN),
            Err(error) => {
                warn!(controller = self.controller.name(), object = %key, %error, "failed, will be tried again");
                if let Some(object) = &object {
                    let message = format!("{}: {error}", self.controller.name());
                    self.context.events.event(
                        &reference(object),
                        EventKind::Warning,
                        "ReconcileFailed",
                        &message,
                    );
                }
                error.asked_to_wait().map_or(Outcome::Failed, Outcome::RetryAfter)
            }
        }
    }

    /// Whether all changes are stopped: because of a pause, the lease, or rejected credentials.
    fn is_shut_out(&self, error: &CloudError) -> bool {
        match error.class() {
            ErrorClass::Fenced => true,
            ErrorClass::Unauthenticated => self.context.fence.check().is_err(),
            _ => false,
        }
    }

    /// Reports deleted objects to the controller, oldest first, before it gets a new object of the same name.
    async fn finish_removed(&self, key: &ObjectKey) -> Result<(), CloudError> {
        while let Some(gone) = self.removed.first(key) {
            self.controller.removed(&gone, self.context.fence.as_ref()).await?;
            self.removed.forget_first(key);
        }
        Ok(())
    }

    async fn reconcile(&self, object: &Watched) -> Result<Outcome, CloudError> {
        let answer = self.controller.reconcile(object, self.context.fence.as_ref()).await?;
        let change = plan(object, &answer);
        if !change.is_empty()
            && let Some(outcome) = execute::write(&self.context.writer, object, &change).await
        {
            return Ok(outcome);
        }
        Ok(answer.again_after.map_or(Outcome::Done, Outcome::RetryAfter))
    }
}

#[cfg(test)]
mod tests;
