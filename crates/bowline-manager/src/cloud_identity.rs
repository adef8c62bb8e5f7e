//! Periodically checks this process's identity in the cloud, and reports when the cloud no longer accepts it (safety rail SR-3): in the
//! log, in `/readyz?verbose`, as a metric and as an event. Blocking changes meanwhile is the job of the identity's fence.

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

/// The interval between checks while the identity is accepted.
const ASK_EVERY: Duration = Duration::from_secs(60);

/// The interval between checks while the identity is lost. It is short because all changes wait for the result.
const ASK_WHILE_LOST: Duration = Duration::from_secs(5);

/// The timeout of one check.
const DEADLINE: Duration = Duration::from_secs(30);

/// The minimum time between two checks, even if the identity changes often.
const APART: Duration = Duration::from_secs(1);

const _: () = assert!(
    ASK_EVERY.as_secs() + DEADLINE.as_secs() < WORD_COUNTS_FOR.as_secs(),
    "the cloud's word must be renewed before it no longer counts"
);

/// Metrics about lost identities. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct IdentityMetrics {
    lost: Gauge,
    losses: Counter,
}

impl IdentityMetrics {
    /// Creates the metrics and adds them to `registry`.
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

/// Checks the identity periodically and reports its changes.
pub(crate) struct IdentityKeeper {
    pub(crate) cloud: Arc<dyn Cloud>,
    /// The shared identity state, which also closes the fence.
    pub(crate) identity: CloudIdentity,
    pub(crate) metrics: IdentityMetrics,
    /// Emits events about lost and recovered identities.
    pub(crate) events: EventRecorder,
    /// The object of these events: the main Lease.
    pub(crate) about: ObjectReference,
}

impl IdentityKeeper {
    /// Starts the checks and adds them to `health`. They end when the returned guard is dropped.
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
            // Marked before the check: a loss reported while the check is running requires another check.
            changes.mark_unchanged();
            // A timeout is ignored: it proves nothing, and the next check follows.
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
