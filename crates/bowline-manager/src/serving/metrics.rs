//! The server's own metrics. Recording never fails and never blocks a request, and no label has a value that a caller could choose freely.

mod delegated;
mod token_cache;

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

pub(super) use self::delegated::DelegatedRequests;
pub(super) use self::token_cache::TokenCacheMetrics;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabel {
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SourceLabel {
    source: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct UserLabel {
    username: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallerLabel {
    caller: &'static str,
}

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// Metrics of authentication, authorization and reloads. Clones share their values.
#[derive(Debug, Clone)]
pub struct ServingMetrics {
    // Upstream's counters have no `_total` suffix, which OpenMetrics requires for counters. As gauges they keep their names.
    authenticated_users: Family<UserLabel, Gauge>,
    authentication_attempts: Family<ResultLabel, Gauge>,
    authentication_seconds: Histograms<ResultLabel>,
    authorization_attempts: Family<ResultLabel, Counter>,
    authorization_seconds: Histograms<ResultLabel>,
    reload_failures: Family<SourceLabel, Counter>,
    dropped_connections: Family<CallerLabel, Counter>,
    /// Token review requests.
    pub(super) delegated_authn: DelegatedRequests,
    /// Access review requests.
    pub(super) delegated_authz: DelegatedRequests,
    /// The cache of token reviews.
    pub(super) token_cache: TokenCacheMetrics,
}

impl Default for ServingMetrics {
    fn default() -> Self {
        Self {
            authenticated_users: Family::default(),
            authentication_attempts: Family::default(),
            authentication_seconds: Family::new_with_constructor(decision_seconds),
            authorization_attempts: Family::default(),
            authorization_seconds: Family::new_with_constructor(decision_seconds),
            reload_failures: Family::default(),
            dropped_connections: Family::default(),
            delegated_authn: DelegatedRequests::default(),
            delegated_authz: DelegatedRequests::default(),
            token_cache: TokenCacheMetrics::default(),
        }
    }
}

/// Upstream's buckets: 1 ms, doubling up to 16 s.
fn decision_seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 15))
}

impl ServingMetrics {
    /// Adds the metrics to `registry`.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "authenticated_user_requests",
            "Authenticated requests by the kind of their user's name",
            self.authenticated_users.clone(),
        );
        registry.register(
            "authentication_attempts",
            "Requests by the result of their authentication: success or failure",
            self.authentication_attempts.clone(),
        );
        registry.register(
            "authentication_duration_seconds",
            "Time taken to authenticate a request, by result",
            self.authentication_seconds.clone(),
        );
        registry.register(
            "authorization_attempts",
            "Requests by the result of their authorization: allowed, denied or error",
            self.authorization_attempts.clone(),
        );
        registry.register(
            "authorization_duration_seconds",
            "Time taken to authorize a request, by result",
            self.authorization_seconds.clone(),
        );
        registry.register(
            "bowline_serving_reload_failures",
            "Replacements of certificates or authorities that could not be used; the old ones stayed in use",
            self.reload_failures.clone(),
        );
        registry.register(
            "bowline_serving_dropped_connections",
            "Connections closed because others needed their place, by caller: local, authenticated or anonymous",
            self.dropped_connections.clone(),
        );
        self.delegated_authn.register(registry, "apiserver_delegated_authn_request", "Token reviews");
        self.delegated_authz.register(registry, "apiserver_delegated_authz_request", "Access reviews");
        self.token_cache.register(registry);
    }

    /// Records that authenticating a request took `took`. `user_name` is `None` if authentication failed.
    pub(super) fn authenticated(&self, user_name: Option<&str>, took: Duration) {
        let result = if user_name.is_some() { "success" } else { "failure" };
        if let Some(name) = user_name {
            self.authenticated_users.get_or_create(&UserLabel { username: name_kind(name) }).inc();
        }
        self.authentication_attempts.get_or_create(&ResultLabel { result }).inc();
        self.authentication_seconds.get_or_create(&ResultLabel { result }).observe(took.as_secs_f64());
    }

    pub(super) fn authorized(&self, result: &'static str, took: Duration) {
        self.authorization_attempts.get_or_create(&ResultLabel { result }).inc();
        self.authorization_seconds.get_or_create(&ResultLabel { result }).observe(took.as_secs_f64());
    }

    pub(super) fn connection_dropped(&self, caller: &'static str) {
        self.dropped_connections.get_or_create(&CallerLabel { caller }).inc();
    }

    pub(super) fn reload_failed(&self, source: &'static str) {
        self.reload_failures.get_or_create(&SourceLabel { source }).inc();
    }
}

/// Maps a user name to upstream's few categories: names would need too many series, and are private.
fn name_kind(name: &str) -> &'static str {
    const KNOWN: [&str; 5] =
        ["admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default"];
    match KNOWN.into_iter().find(|known| *known == name) {
        Some(known) => known,
        None if name.contains('@') => "email_id",
        None => "other",
    }
}

#[cfg(test)]
mod tests;
