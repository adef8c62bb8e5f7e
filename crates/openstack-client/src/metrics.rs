//! Metrics of API calls. The names are those of cloud-provider-openstack, so existing dashboards keep working.
//!
//! All pages of a list count as one call. A 404 counts as an error, as it does there.

use std::time::Duration;

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::Registry,
};
use tokio::time::Instant;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabel {
    request: &'static str,
}

/// Counters and durations of API calls.
#[derive(Debug, Clone)]
pub struct ApiMetrics {
    durations: Family<RequestLabel, Histogram, fn() -> Histogram>,
    requests: Family<RequestLabel, Counter>,
    errors: Family<RequestLabel, Counter>,
}

/// The default buckets of Prometheus' Go client.
fn histogram() -> Histogram {
    Histogram::new([0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0])
}

impl Default for ApiMetrics {
    fn default() -> Self {
        Self {
            durations: Family::new_with_constructor(histogram),
            requests: Family::default(),
            errors: Family::default(),
        }
    }
}

impl ApiMetrics {
    /// Creates metrics and registers them.
    #[must_use]
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        metrics.show_in(registry);
        metrics
    }

    /// Registers these metrics in a further registry, for clients that were created before the registry.
    pub fn show_in(&self, registry: &mut Registry) {
        registry.register(
            "openstack_api_request_duration_seconds",
            "Latency of OpenStack API calls",
            self.durations.clone(),
        );
        registry.register("openstack_api_requests", "Number of OpenStack API calls", self.requests.clone());
        registry.register(
            "openstack_api_request_errors",
            "Number of errors of OpenStack API calls",
            self.errors.clone(),
        );
    }

    /// Starts the measurement of a call.
    pub(crate) fn start(&self, request: &'static str) -> Measured {
        Measured { metrics: self.clone(), request, since: Instant::now(), failed: true }
    }

    /// Records a call.
    pub(crate) fn observe(&self, request: &'static str, took: Duration, failed: bool) {
        let label = RequestLabel { request };
        self.requests.get_or_create(&label).inc();
        self.durations.get_or_create(&label).observe(took.as_secs_f64());
        if failed {
            self.errors.get_or_create(&label).inc();
        }
    }
}

/// A call that is being measured. It is recorded when it is dropped, as an error unless [`Self::end`] got a success. So calls whose caller
/// was cancelled are recorded as well.
pub(crate) struct Measured {
    metrics: ApiMetrics,
    request: &'static str,
    since: Instant,
    failed: bool,
}

impl Measured {
    /// Records whether `result` is an error, and returns it.
    pub(crate) fn end<T, E>(mut self, result: Result<T, E>) -> Result<T, E> {
        self.failed = result.is_err();
        result
    }
}

impl Drop for Measured {
    fn drop(&mut self) {
        self.metrics.observe(self.request, self.since.elapsed(), self.failed);
    }
}
