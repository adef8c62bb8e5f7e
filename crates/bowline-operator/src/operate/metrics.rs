//! What the operator counts.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PassLabels {
    name: String,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PhaseLabels {
    name: String,
    phase: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WriteLabels {
    name: String,
    what: &'static str,
}

/// What the operator counts. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct OperatorMetrics {
    passes: Family<PassLabels, Counter>,
    phases: Family<PhaseLabels, Gauge>,
    writes: Family<WriteLabels, Counter>,
}

impl OperatorMetrics {
    /// New metrics, shown by `registry`.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "bowline_operator_reconciles",
            "Passes over a CloudControllerManager by result: ok, or the reason of what is wrong",
            metrics.passes.clone(),
        );
        registry.register(
            "bowline_operator_phase",
            "1 for the phase that the migration of a CloudControllerManager is in",
            metrics.phases.clone(),
        );
        registry.register(
            "bowline_operator_applied_objects",
            "Objects that were created, updated, recreated or deleted",
            metrics.writes.clone(),
        );
        metrics
    }

    pub(crate) fn pass(&self, name: &str, result: &'static str) {
        self.passes.get_or_create(&PassLabels { name: name.to_owned(), result }).inc();
    }

    pub(crate) fn phase(&self, name: &str, phase: &str, before: Option<&str>) {
        let labels = |phase: &str| PhaseLabels { name: name.to_owned(), phase: phase.to_owned() };
        if let Some(before) = before.filter(|before| *before != phase) {
            self.phases.remove(&labels(before));
        }
        self.phases.get_or_create(&labels(phase)).set(1);
    }

    pub(crate) fn written(&self, name: &str, what: &'static str) {
        self.writes.get_or_create(&WriteLabels { name: name.to_owned(), what }).inc();
    }
}
