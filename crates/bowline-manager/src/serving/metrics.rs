//! What the server counts about itself. Counting never fails and never blocks a request.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabel {
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SourceLabel {
    source: &'static str,
}

/// Counters of authentication, authorization and reloads; clones share their values.
#[derive(Debug, Clone, Default)]
pub struct ServingMetrics {
    // Upstream's counter has no `_total`, which OpenMetrics demands of counters: as a gauge it keeps its name.
    authentication_attempts: Family<ResultLabel, Gauge>,
    authorization_attempts: Family<ResultLabel, Counter>,
    reload_failures: Family<SourceLabel, Counter>,
}

impl ServingMetrics {
    /// Adds the counters to `registry`.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "authentication_attempts",
            "Requests by the result of their authentication: success or failure",
            self.authentication_attempts.clone(),
        );
        registry.register(
            "authorization_attempts",
            "Requests by the result of their authorization: allowed, denied or error",
            self.authorization_attempts.clone(),
        );
        registry.register(
            "bowline_serving_reload_failures",
            "Replacements of certificates or authorities that could not be used; the old ones stayed in use",
            self.reload_failures.clone(),
        );
    }

    pub(super) fn authenticated(&self, result: &'static str) {
        self.authentication_attempts.get_or_create(&ResultLabel { result }).inc();
    }

    pub(super) fn authorized(&self, result: &'static str) {
        self.authorization_attempts.get_or_create(&ResultLabel { result }).inc();
    }

    pub(super) fn reload_failed(&self, source: &'static str) {
        self.reload_failures.get_or_create(&SourceLabel { source }).inc();
    }
}
