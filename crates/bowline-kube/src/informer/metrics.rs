//! Metrics of the informers: how many objects they cache, which version they have reached, how often they had to list again. One series for
//! each informer. Three families have upstream's names and labels, with the closest meaning that applies here.

use std::time::Duration;

use kube::Resource;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Upstream's buckets.
const SECONDS: [f64; 12] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
/// Resource versions may have any number of digits. As upstream does, the gauge shows the last 15, which a float64 sample holds exactly.
const SHOWN_VERSIONS: u128 = 1_000_000_000_000_000;

type Labels = [(&'static str, String); 1];
type UpstreamLabels = [(&'static str, String); 4];

/// The metric families that all informers of a process share.
#[derive(Debug, Clone)]
pub struct InformerMetrics {
    objects: Family<Labels, Gauge>,
    lists: Family<Labels, Counter>,
    watches: Family<Labels, Counter>,
    failures: Family<Labels, Counter>,
    queued: Family<UpstreamLabels, Gauge>,
    processing: Family<UpstreamLabels, Histogram, fn() -> Histogram>,
    version: Family<UpstreamLabels, Gauge>,
}

impl Default for InformerMetrics {
    fn default() -> Self {
        Self {
            objects: Family::default(),
            lists: Family::default(),
            watches: Family::default(),
            failures: Family::default(),
            queued: Family::default(),
            processing: Family::new_with_constructor(processing_times),
            version: Family::default(),
        }
    }
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
        registry.register(
            "informer_queued_items",
            "Changes that subscribers were not told yet, summed over the subscribers",
            metrics.queued.clone(),
        );
        registry.register(
            "informer_processing_latency_seconds",
            "How long it took to take in an event or a complete list, subscribers' work not included",
            metrics.processing.clone(),
        );
        registry.register(
            "informer_store_resource_version",
            "The 15 least significant digits of the latest resource version seen on an object",
            metrics.version.clone(),
        );
        metrics
    }

    /// The series of one informer of `K`.
    pub(super) fn meter<K: Resource<DynamicType = ()>>(&self, name: &str) -> Meter {
        let labels = [("informer", name.to_owned())];
        let upstream = [
            ("name", name.to_owned()),
            ("group", K::group(&()).into_owned()),
            ("version", K::version(&()).into_owned()),
            ("resource", K::plural(&()).into_owned()),
        ];
        Meter {
            objects: self.objects.get_or_create_owned(&labels),
            lists: self.lists.get_or_create_owned(&labels),
            watches: self.watches.get_or_create_owned(&labels),
            failures: self.failures.get_or_create_owned(&labels),
            queued: self.queued.get_or_create_owned(&upstream),
            processing: self.processing.get_or_create_owned(&upstream),
            version: self.version.get_or_create_owned(&upstream),
        }
    }
}

/// The series of one informer. The default is not registered anywhere.
#[derive(Debug, Clone)]
pub(super) struct Meter {
    objects: Gauge,
    lists: Counter,
    watches: Counter,
    failures: Counter,
    queued: Gauge,
    processing: Histogram,
    version: Gauge,
}

impl Default for Meter {
    fn default() -> Self {
        Self {
            objects: Gauge::default(),
            lists: Counter::default(),
            watches: Counter::default(),
            failures: Counter::default(),
            queued: Gauge::default(),
            processing: processing_times(),
            version: Gauge::default(),
        }
    }
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

    pub(super) fn queued(&self, untold: usize) {
        self.queued.set(i64::try_from(untold).unwrap_or(i64::MAX));
    }

    pub(super) fn processed(&self, time: Duration) {
        self.processing.observe(time.as_secs_f64());
    }

    pub(super) fn version(&self, version: u128) {
        self.version.set(i64::try_from(version % SHOWN_VERSIONS).unwrap_or(i64::MAX));
    }
}

fn processing_times() -> Histogram {
    Histogram::new(SECONDS)
}
