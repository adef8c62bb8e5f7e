//! Metrics of the node controller in addition to upstream's, which has none for failed initializations.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Metrics of Nodes that could not be initialized. Clones share the values.
#[derive(Debug, Clone, Default)]
pub struct NodeMetrics {
    /// How many Nodes wait to be initialized after a failed attempt.
    pub failing: Gauge,
    failures: Family<FailureLabels, Counter>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FailureLabels {
    reason: &'static str,
}

impl NodeMetrics {
    /// Registers the metrics.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "bowline_node_initialization_failures",
            "Tries to initialize a node that failed, by reason",
            self.failures.clone(),
        );
        registry.register(
            "bowline_nodes_initialization_failing",
            "Nodes that wait to be initialized after a failed try",
            self.failing.clone(),
        );
    }

    /// Counts a failed attempt.
    pub fn failed(&self, reason: &'static str) {
        self.failures.get_or_create(&FailureLabels { reason }).inc();
    }

    #[cfg(test)]
    pub(super) fn failures(&self, reason: &'static str) -> u64 {
        self.failures.get_or_create(&FailureLabels { reason }).get()
    }
}
