//! Metrics of what the rails of the lifecycle controller hold back.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// The metrics of node deletion. Clones share the values.
#[derive(Debug, Clone, Default)]
pub struct NodeDeletionMetrics {
    /// 1 while the breaker is open: so many Nodes seem gone that none is deleted.
    pub breaker_open: Gauge,
    /// Nodes that a rail held back in the last pass, by rail.
    pub held: Family<RailLabels, Gauge>,
    /// Nodes that were deleted because their machine was gone.
    pub deleted: Counter,
}

/// The rail that held something back.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RailLabels {
    /// `claim`, `evidence`, `grace`, `budget`, `breaker`, `pause` or [`SKIP`].
    pub rail: &'static str,
}

/// All values of the label `rail`: each is exported from the start.
pub(super) const RAILS: [&str; 7] = ["claim", "evidence", "grace", "budget", "breaker", "pause", SKIP];

/// The value of the label `rail` for Nodes that `--skip-node-deletion` keeps.
pub const SKIP: &str = "skip";

impl NodeDeletionMetrics {
    /// How many Nodes a rail held back in the last pass.
    #[must_use]
    pub fn held_by(&self, rail: &'static str) -> i64 {
        self.held.get_or_create(&RailLabels { rail }).get()
    }

    /// Registers the metrics.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "bowline_node_deletion_breaker_open",
            "Whether so many nodes look gone that none is deleted",
            self.breaker_open.clone(),
        );
        registry.register(
            "bowline_node_deletions_held",
            "Nodes not ready that a safety rail kept from being tainted or deleted at the last look, by rail",
            self.held.clone(),
        );
        registry.register(
            "bowline_nodes_deleted",
            "Nodes deleted because their machine was gone",
            self.deleted.clone(),
        );
    }
}
