//! Events (core/v1) about objects, as shown by `kubectl describe`, with client-go's limits: repeats increase the count of the first Event,
//! similar events are combined, and events about one object are rate-limited.
//!
//! Recording never blocks and never fails: events inform people, and no work may depend on them. The caller is responsible for the message,
//! which must not contain secrets.

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

/// How many events may wait to be written; further events are dropped and counted.
pub const BUFFER: usize = 1000;

/// Records events of one component. Cheap to clone. Buffered events are still written after the last clone is dropped.
#[derive(Debug, Clone)]
pub struct EventRecorder {
    component: String,
    jobs: mpsc::Sender<Job>,
    clock: Clock,
    metrics: EventMetrics,
    witness: Option<Arc<dyn EventWitness>>,
}

/// Is notified of every event when it is recorded, with the message as it will be written. Must not block.
pub trait EventWitness: fmt::Debug + Send + Sync {
    /// Called for each recorded event.
    fn recorded(&self, object: &ObjectReference, kind: EventKind, reason: &str, message: &str);
}

#[derive(Debug)]
enum Job {
    Write(Box<NewEvent>),
    Flush(oneshot::Sender<()>),
}

/// Not all events were written before the timeout.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("events of {component} were still unwritten after {within:?}")]
pub struct Unflushed {
    /// The component of the recorder.
    pub component: String,
    /// The timeout.
    pub within: Duration,
}

impl EventRecorder {
    /// A recorder for `component` on `host` (may be empty). Spawns the task that writes the events; needs a tokio runtime.
    #[must_use]
    pub fn new(client: Client, component: &str, host: &str, clock: Clock, metrics: EventMetrics) -> Self {
        let (jobs, queue) = mpsc::channel(BUFFER);
        let correlator = EventCorrelator::new(component, host);
        tokio::spawn(sender::write_all(client, correlator, queue, metrics.clone(), component.to_owned()));
        Self { component: component.to_owned(), jobs, clock, metrics, witness: None }
    }

    /// The same recorder, which also notifies `witness` of its events.
    #[must_use]
    pub fn witnessed_by(self, witness: Arc<dyn EventWitness>) -> Self {
        Self { witness: Some(witness), ..self }
    }

    /// Records one event. Never blocks; if [`BUFFER`] events are waiting already, this one is dropped.
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

    /// Waits until all events recorded so far are written or dropped. For shutdown.
    ///
    /// # Errors
    ///
    /// [`Unflushed`] if that takes longer than `within`.
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

/// Counts the events that were not written.
#[derive(Debug, Clone, Default)]
pub struct EventMetrics {
    dropped: Family<DropLabels, Counter>,
}

impl EventMetrics {
    /// New metrics, registered in `registry`.
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
