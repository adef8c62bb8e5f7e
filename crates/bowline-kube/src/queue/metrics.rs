//! Metrics of the work queues, with upstream's names, labels and buckets, so that upstream's dashboards work unchanged.
//!
//! A [`Collector`] reads gauges and counters from the queues at each scrape, so "unfinished work" is correct at that moment and not only at
//! the last change. Only the histograms and the panic counter are recorded as events happen. The label `name` is the queue's name: there is
//! one series for each queue.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use super::Load;

type Labels = [(&'static str, String); 1];
type Histograms = Family<Labels, Histogram, fn() -> Histogram>;

/// A queue that reports its load at a scrape.
pub(super) trait LoadSource: fmt::Debug + Send + Sync {
    fn load(&self) -> Load;
}

/// The metric families that all queues of a process share.
#[derive(Debug, Clone)]
pub struct QueueMetrics {
    queues: Arc<Queues>,
    queue_seconds: Histograms,
    work_seconds: Histograms,
    panics: Family<Labels, Counter>,
}

impl QueueMetrics {
    /// Registers the families. Call once per registry: a second call would export every series twice.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            queues: Arc::new(Queues::default()),
            queue_seconds: Family::new_with_constructor(upstream_buckets),
            work_seconds: Family::new_with_constructor(upstream_buckets),
            panics: Family::default(),
        };
        registry.register(
            "workqueue_queue_duration_seconds",
            "How long a key waited in the queue before a worker took it",
            metrics.queue_seconds.clone(),
        );
        registry.register(
            "workqueue_work_duration_seconds",
            "How long a run on a key took",
            metrics.work_seconds.clone(),
        );
        registry.register(
            "bowline_workqueue_panics",
            "Runs that panicked and were caught; each is a bug",
            metrics.panics.clone(),
        );
        registry.register_collector(Box::new(Arc::clone(&metrics.queues)));
        metrics
    }

    /// Exports a queue under `name`, in place of any other queue that had this name.
    pub(super) fn observe(&self, name: &str, source: &Arc<dyn LoadSource>) -> RunTimes {
        let labels = labels(name);
        self.queues.add(name, Arc::downgrade(source));
        RunTimes {
            queue_seconds: self.queue_seconds.get_or_create_owned(&labels),
            work_seconds: self.work_seconds.get_or_create_owned(&labels),
            panics: self.panics.get_or_create_owned(&labels),
        }
    }
}

/// The metrics of one queue that are recorded as events happen.
#[derive(Debug)]
pub(super) struct RunTimes {
    queue_seconds: Histogram,
    work_seconds: Histogram,
    panics: Counter,
}

impl RunTimes {
    pub(super) fn waited(&self, time: Duration) {
        self.queue_seconds.observe(time.as_secs_f64());
    }

    pub(super) fn worked(&self, time: Duration) {
        self.work_seconds.observe(time.as_secs_f64());
    }

    pub(super) fn panicked(&self) {
        self.panics.inc();
    }
}

/// The queues that a scrape reads. Dropped queues disappear from the result.
#[derive(Debug, Default)]
struct Queues(Mutex<BTreeMap<String, Weak<dyn LoadSource>>>);

impl Queues {
    fn add(&self, name: &str, source: Weak<dyn LoadSource>) {
        self.0.lock().insert(name.to_owned(), source);
    }

    fn loads(&self) -> Vec<(String, Load)> {
        let mut queues = self.0.lock();
        queues.retain(|_, queue| queue.strong_count() > 0);
        let live = queues.iter().filter_map(|(name, queue)| Some((name.clone(), queue.upgrade()?.load())));
        live.collect()
    }
}

impl Collector for Queues {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let loads = self.loads();
        gauge(&mut encoder, &loads, "workqueue_depth", "Keys ready to be worked on", |load| {
            load.depth as f64
        })?;
        gauge(
            &mut encoder,
            &loads,
            "workqueue_unfinished_work_seconds",
            "Time taken so far by all present runs together; growing means stuck workers",
            |load| load.unfinished.as_secs_f64(),
        )?;
        gauge(
            &mut encoder,
            &loads,
            "workqueue_longest_running_processor_seconds",
            "Time taken so far by the longest present run",
            |load| load.longest_running.as_secs_f64(),
        )?;
        counter(&mut encoder, &loads, "workqueue_adds", "Keys added, duplicates not counted", |load| {
            load.adds
        })?;
        counter(&mut encoder, &loads, "workqueue_retries", "Keys put off to a later time", |load| {
            load.retries
        })
    }
}

fn gauge(
    encoder: &mut DescriptorEncoder,
    loads: &[(String, Load)],
    metric: &str,
    help: &str,
    value: fn(&Load) -> f64,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(metric, help, None, MetricType::Gauge)?;
    loads.iter().try_for_each(|(name, load)| {
        ConstGauge::new(value(load)).encode(family.encode_family(&labels(name))?)
    })
}

fn counter(
    encoder: &mut DescriptorEncoder,
    loads: &[(String, Load)],
    metric: &str,
    help: &str,
    value: fn(&Load) -> u64,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(metric, help, None, MetricType::Counter)?;
    loads.iter().try_for_each(|(name, load)| {
        ConstCounter::new(value(load)).encode(family.encode_family(&labels(name))?)
    })
}

fn labels(name: &str) -> Labels {
    [("name", name.to_owned())]
}

/// Upstream's buckets: ten, from ten nanoseconds to ten seconds.
fn upstream_buckets() -> Histogram {
    Histogram::new(exponential_buckets(1e-8, 10.0, 10))
}
