//! Events (core/v1) about objects, as `kubectl describe` shows them, with client-go's limits: repeats are counted on
//! the first Event, similar ones are combined, and one object cannot flood the API server.
//!
//! Recording never blocks and never fails: an event is a note to people, and no work may depend on it. What goes into a
//! message is the caller's matter; no secret belongs there.

mod bounded;
mod correlator;
mod sender;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bowline_core::EventKind;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};
use tokio::sync::{mpsc, oneshot};

pub use self::correlator::{Decision, EventCorrelator, NewEvent};
use crate::clock::Clock;

/// How many events may wait to be written; what comes after is dropped and counted.
pub const BUFFER: usize = 1000;

/// Records events of one component. Cheap to clone; when the last clone is gone, what is buffered is still written.
#[derive(Debug, Clone)]
pub struct EventRecorder {
    component: String,
    jobs: mpsc::Sender<Job>,
    clock: Clock,
    metrics: EventMetrics,
    witness: Option<Arc<dyn EventWitness>>,
}

/// Is told of every event when it is recorded, with its message as it is written. Never blocks.
pub trait EventWitness: fmt::Debug + Send + Sync {
    /// An event was recorded.
    fn recorded(&self, object: &ObjectReference, kind: EventKind, reason: &str, message: &str);
}

#[derive(Debug)]
enum Job {
    Write(Box<NewEvent>),
    Flush(oneshot::Sender<()>),
}

/// Not all events could be written in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("events of {component} were still unwritten after {within:?}")]
pub struct Unflushed {
    /// Whose events.
    pub component: String,
    /// How long we waited.
    pub within: Duration,
}

impl EventRecorder {
    /// A recorder for `component` on `host` (may be empty). Spawns the task that writes; needs a tokio runtime.
    #[must_use]
    pub fn new(client: Client, component: &str, host: &str, clock: Clock, metrics: EventMetrics) -> Self {
        let (jobs, queue) = mpsc::channel(BUFFER);
        let correlator = EventCorrelator::new(component, host);
        tokio::spawn(sender::write_all(client, correlator, queue, metrics.clone(), component.to_owned()));
        Self { component: component.to_owned(), jobs, clock, metrics, witness: None }
    }

    /// The same recorder, which tells `witness` of its events too.
    #[must_use]
    pub fn witnessed_by(self, witness: Arc<dyn EventWitness>) -> Self {
        Self { witness: Some(witness), ..self }
    }

    /// Records one event. Never blocks; if too many wait already, this one is dropped.
    pub fn event(&self, object: &ObjectReference, kind: EventKind, reason: &str, message: &str) {
        tracing::debug!(object = ?object.name, kind = kind.as_str(), reason, message, "event");
        let message = correlator::truncate(message);
        if let Some(witness) = &self.witness {
            witness.recorded(object, kind, reason, message);
        }
        let event = Box::new(NewEvent {
            object: object.clone(),
            kind,
            reason: reason.to_owned(),
            message: message.to_owned(),
            at: self.clock.now(),
        });
        if self.jobs.try_send(Job::Write(event)).is_err() {
            self.metrics.dropped(&self.component, "buffer-full");
        }
    }

    /// Waits until all events recorded so far are written or given up. For shutdown.
    ///
    /// # Errors
    ///
    /// [`Unflushed`] when that takes longer than `within`.
    pub async fn flush(&self, within: Duration) -> Result<(), Unflushed> {
        let (done, wait) = oneshot::channel();
        let flushed = tokio::time::timeout(within, async {
            self.jobs.send(Job::Flush(done)).await.is_ok() && wait.await.is_ok()
        });
        if flushed.await == Ok(true) {
            return Ok(());
        }
        Err(Unflushed { component: self.component.clone(), within })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DropLabels {
    component: String,
    why: &'static str,
}

/// Counts the events that nobody will see.
#[derive(Debug, Clone, Default)]
pub struct EventMetrics {
    dropped: Family<DropLabels, Counter>,
}

impl EventMetrics {
    /// New metrics, shown by `registry`.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "bowline_events_dropped",
            "Kubernetes Events that were not written, by component and why",
            metrics.dropped.clone(),
        );
        metrics
    }

    fn dropped(&self, component: &str, why: &'static str) {
        self.dropped.get_or_create(&DropLabels { component: component.to_owned(), why }).inc();
    }

    #[cfg(test)]
    fn count(&self, component: &str, why: &'static str) -> u64 {
        self.dropped.get_or_create(&DropLabels { component: component.to_owned(), why }).get()
    }
}
