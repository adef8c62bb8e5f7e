//! Metrics of the cache of token reviews. It knows neither tokens nor users.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::Histograms;

/// The Prometheus client's default buckets, which upstream uses here.
const SECONDS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StatusLabel {
    status: &'static str,
}

/// Cache hits and misses, and the token reviews after misses.
#[derive(Debug, Clone)]
pub(in crate::serving) struct TokenCacheMetrics {
    requests: Family<StatusLabel, Counter>,
    request_seconds: Histograms<StatusLabel>,
    fetches: Family<StatusLabel, Counter>,
    active_fetches: Family<StatusLabel, Gauge>,
}

impl Default for TokenCacheMetrics {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            request_seconds: Family::new_with_constructor(|| Histogram::new(SECONDS)),
            fetches: Family::default(),
            active_fetches: Family::default(),
        }
    }
}

impl TokenCacheMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "authentication_token_cache_request",
            "Requests with a bearer token whose review was remembered (hit) or not (miss)",
            self.requests.clone(),
        );
        registry.register(
            "authentication_token_cache_request_duration_seconds",
            "Time until the owner of a bearer token was known, remembered (hit) or not (miss)",
            self.request_seconds.clone(),
        );
        registry.register(
            "authentication_token_cache_fetch",
            "Token reviews that were answered (ok) or not (error), retries included in one",
            self.fetches.clone(),
        );
        registry.register(
            "authentication_token_cache_active_fetch_count",
            "Token reviews under way (in_flight) and requests that wait for one (blocked)",
            self.active_fetches.clone(),
        );
    }

    pub(in crate::serving) fn hit(&self, took: Duration) {
        self.request("hit", took);
    }

    pub(in crate::serving) fn missed(&self, took: Duration) {
        self.request("miss", took);
    }

    fn request(&self, status: &'static str, took: Duration) {
        self.requests.get_or_create(&StatusLabel { status }).inc();
        self.request_seconds.get_or_create(&StatusLabel { status }).observe(took.as_secs_f64());
    }

    pub(in crate::serving) fn fetched(&self, answered: bool) {
        let status = if answered { "ok" } else { "error" };
        self.fetches.get_or_create(&StatusLabel { status }).inc();
    }

    /// Counts a review in flight until the returned value is dropped.
    pub(in crate::serving) fn in_flight(&self) -> Active {
        self.active("in_flight")
    }

    /// Counts a request that waits for a review until the returned value is dropped.
    pub(in crate::serving) fn blocked(&self) -> Active {
        self.active("blocked")
    }

    fn active(&self, status: &'static str) -> Active {
        let gauge = self.active_fetches.get_or_create(&StatusLabel { status }).clone();
        gauge.inc();
        Active(gauge)
    }
}

/// Decrements its gauge when dropped.
#[must_use]
pub(in crate::serving) struct Active(Gauge);

impl Drop for Active {
    fn drop(&mut self) {
        self.0.dec();
    }
}
