//! Asks the cloud from time to time who we are to it, and says loudly when it no longer knows us (safety rail SR-3): in
//! the log, in `/readyz?verbose`, as a metric and as an event. That nothing is changed meanwhile is the fence's matter.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{Cloud, EventKind};
use bowline_controllers::identity::CloudIdentity;
use bowline_controllers::rails::identity::{Loss, WORD_COUNTS_FOR};
use bowline_kube::events::EventRecorder;
use k8s_openapi::api::core::v1::ObjectReference;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{error, info};

use crate::serving::{CheckOutcome, CheckSets, HealthRegistry};

/// How often the cloud is asked while all is well.
const ASK_EVERY: Duration = Duration::from_secs(60);

/// The same while it does not know us: everything waits for the answer.
const ASK_WHILE_LOST: Duration = Duration::from_secs(5);

/// How long one question may take.
const DEADLINE: Duration = Duration::from_secs(30);

/// Whatever happens, the cloud is not asked more often than this.
const APART: Duration = Duration::from_secs(1);

const _: () = assert!(
    ASK_EVERY.as_secs() + DEADLINE.as_secs() < WORD_COUNTS_FOR.as_secs(),
    "the cloud's word must be renewed before it no longer counts"
);

/// Whether the cloud knows us. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct IdentityMetrics {
    lost: Gauge,
    losses: Counter,
}

impl IdentityMetrics {
    /// New metrics, shown by `registry`.
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "bowline_cloud_identity_lost",
            "1 while the cloud does not accept our identity, or takes us for another: nothing is changed then",
            metrics.lost.clone(),
        );
        registry.register(
            "bowline_cloud_identity_losses",
            "How often the cloud began not to accept our identity",
            metrics.losses.clone(),
        );
        metrics
    }
}

/// Keeps an eye on the identity.
pub(crate) struct IdentityKeeper {
    /// The cloud.
    pub(crate) cloud: Arc<dyn Cloud>,
    /// Who we are to it.
    pub(crate) identity: CloudIdentity,
    /// Where losses are counted.
    pub(crate) metrics: IdentityMetrics,
    /// For events about losses.
    pub(crate) events: EventRecorder,
    /// What these events are about.
    pub(crate) about: ObjectReference,
}

impl IdentityKeeper {
    /// Starts, and shows the identity in `health`; ends when the answer is dropped.
    pub(crate) fn start(self, health: &HealthRegistry) -> DropGuard {
        let shown = self.identity.watch();
        health.add("cloud-identity", CheckSets::READY_ONLY, move || {
            shown
                .borrow()
                .as_ref()
                .map_or(CheckOutcome::Healthy, |loss| CheckOutcome::Degraded(loss.to_string()))
        });
        let end = CancellationToken::new();
        let ended = end.clone();
        tokio::spawn(async move {
            ended.run_until_cancelled(async { tokio::join!(self.ask_forever(), self.tell_forever()) }).await
        });
        end.drop_guard()
    }

    async fn ask_forever(&self) {
        let mut changes = self.identity.watch();
        loop {
            // From before the question: a refusal that comes while it is out needs another.
            changes.mark_unchanged();
            // An answer that does not come says nothing; the next question will.
            drop(timeout(DEADLINE, self.identity.ask(self.cloud.as_ref())).await);
            sleep(APART).await;
            let lost = changes.borrow().is_some();
            let pause = if lost { ASK_WHILE_LOST } else { ASK_EVERY };
            drop(timeout(pause.saturating_sub(APART), changes.changed()).await);
        }
    }

    async fn tell_forever(&self) {
        let mut changes = self.identity.watch();
        let mut was_lost = false;
        loop {
            let loss = changes.borrow_and_update().clone();
            if loss.is_some() || was_lost {
                self.tell(loss.as_ref());
            }
            was_lost = loss.is_some();
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    fn tell(&self, loss: Option<&Loss>) {
        self.metrics.lost.set(i64::from(loss.is_some()));
        let (kind, reason, message) = match loss {
            Some(loss) => {
                self.metrics.losses.inc();
                (EventKind::Warning, "CloudIdentityLost", loss.to_string())
            }
            None => (
                EventKind::Normal,
                "CloudIdentityFound",
                "the cloud accepts our identity again; changes are made again".to_owned(),
            ),
        };
        match kind {
            EventKind::Warning => error!("{message}"),
            EventKind::Normal => info!("{message}"),
        }
        self.events.event(&self.about, kind, reason, &message);
    }
}

#[cfg(test)]
mod tests;
