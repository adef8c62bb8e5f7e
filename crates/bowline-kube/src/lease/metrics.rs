//! The metrics of the leader election, with client-go's names.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct NameLabel {
    name: String,
}

/// Exports, for each Lease of this process, whether this process holds it.
#[derive(Debug, Clone, Default)]
pub struct LeaseMetrics {
    leading: Family<NameLabel, Gauge>,
    slow_path: Family<NameLabel, Counter>,
}

impl LeaseMetrics {
    /// New metrics, registered in `registry`.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "leader_election_master_status",
            "Whether this process leads: 1 for the leader, 0 for a standby, by name of the Lease",
            metrics.leading.clone(),
        );
        registry.register(
            "leader_election_slowpath",
            "Renewals that had to read the Lease first, by name of the Lease",
            metrics.slow_path.clone(),
        );
        metrics
    }

    pub(super) fn set_leading(&self, lease: &str, leading: bool) {
        self.leading.get_or_create(&NameLabel { name: lease.to_owned() }).set(i64::from(leading));
    }

    pub(super) fn count_slow_path(&self, lease: &str) {
        self.slow_path.get_or_create(&NameLabel { name: lease.to_owned() }).inc();
    }

    #[cfg(test)]
    pub(super) fn slow_path(&self, lease: &str) -> u64 {
        self.slow_path.get_or_create(&NameLabel { name: lease.to_owned() }).get()
    }
}
