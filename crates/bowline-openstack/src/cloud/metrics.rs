//! How the configuration in use is doing, for the scraper.

use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::config::{ReloadStatus, Reloader};

/// Shows how the configuration is doing.
#[derive(Debug, Default)]
pub(super) struct ConfigMetrics {
    generation: Gauge,
    refused: Gauge,
}

impl ConfigMetrics {
    pub(super) fn show_in(&self, registry: &mut Registry) {
        registry.register(
            "bowline_openstack_config_generation",
            "Counts the configurations that were in use since the start",
            self.generation.clone(),
        );
        registry.register(
            "bowline_openstack_config_refused",
            "1 while the configuration that was found is not used, and the one before stays",
            self.refused.clone(),
        );
    }

    fn set(&self, status: &ReloadStatus) {
        self.generation.set(i64::try_from(status.generation).unwrap_or(i64::MAX));
        self.refused.set(i64::from(status.refused.is_some()));
    }

    /// Keeps them current. Ends with the reloader.
    pub(super) async fn follow(&self, reloader: &Reloader) {
        let mut changes = reloader.subscribe();
        loop {
            self.set(&changes.borrow_and_update().clone());
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}
