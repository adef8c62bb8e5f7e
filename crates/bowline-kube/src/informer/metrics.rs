//! The informers' metrics: how much they hold and how often they had to ask again. One series for each informer.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

type Labels = [(&'static str, String); 1];

/// The metric families all informers of a process share.
#[derive(Debug, Clone, Default)]
pub struct InformerMetrics {
    objects: Family<Labels, Gauge>,
    lists: Family<Labels, Counter>,
    watches: Family<Labels, Counter>,
    failures: Family<Labels, Counter>,
}

impl InformerMetrics {
    /// Registers the families. Call once per registry.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register("bowline_informer_objects", "Objects kept", metrics.objects.clone());
        registry.register(
            "bowline_informer_lists",
            "Complete lists begun; more than one means that a watch could not be resumed",
            metrics.lists.clone(),
        );
        registry.register("bowline_informer_watches", "Watches begun or resumed", metrics.watches.clone());
        registry.register(
            "bowline_informer_failures",
            "Lists and watches that failed",
            metrics.failures.clone(),
        );
        metrics
    }

    /// The series of one informer.
    pub(super) fn meter(&self, name: &str) -> Meter {
        let labels = [("informer", name.to_owned())];
        Meter {
            objects: self.objects.get_or_create_owned(&labels),
            lists: self.lists.get_or_create_owned(&labels),
            watches: self.watches.get_or_create_owned(&labels),
            failures: self.failures.get_or_create_owned(&labels),
        }
    }
}

/// The series of one informer; by default they count for nobody.
#[derive(Debug, Clone, Default)]
pub(super) struct Meter {
    objects: Gauge,
    lists: Counter,
    watches: Counter,
    failures: Counter,
}

impl Meter {
    pub(super) fn objects(&self, count: usize) {
        self.objects.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    pub(super) fn list(&self) {
        self.lists.inc();
    }

    pub(super) fn watch(&self) {
        self.watches.inc();
    }

    pub(super) fn failure(&self) {
        self.failures.inc();
    }
}
