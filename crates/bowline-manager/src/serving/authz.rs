//! Authorization: whether a user may access a path. Checks membership in `system:masters`, then the always-allowed paths, then asks the API
//! server.
//!
//! Access is denied if the API server does not respond. How the user was authenticated does not matter here.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::time::Instant;
use tracing::debug;

use super::config::AuthorizationConfig;
use super::digest::{Digest, digest};
use super::identity::{MASTERS, User};
use super::metrics::ServingMetrics;
use super::retry::with_retries;
use super::reviews::{AccessRequest, AccessReviewer, AccessVerdict, ReviewError};
use super::shared_reviews::{MAX_SHARED, SharedReviews};
use super::ttl_cache::{MAX_ENTRIES, TtlCache};

/// The result of authorizing a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Allowed, because everyone may access the path.
    Open,
    /// Allowed by the API server, or because the user is in `system:masters`.
    Allowed,
    /// Rejected with 403.
    Denied,
}

/// Paths that need no review.
#[derive(Debug, Clone, Default)]
struct AllowedPaths {
    exact: Vec<String>,
    prefixes: Vec<String>,
}

impl AllowedPaths {
    fn new(patterns: &[String]) -> Self {
        let mut paths = Self::default();
        for pattern in patterns {
            let pattern = pattern.trim().trim_start_matches('/');
            match pattern.strip_suffix('*') {
                Some(prefix) => paths.prefixes.push(prefix.to_owned()),
                None => paths.exact.push(pattern.to_owned()),
            }
        }
        paths
    }

    fn contains(&self, path: &str) -> bool {
        let path = path.trim_start_matches('/');
        self.exact.iter().any(|exact| exact == path)
            || self.prefixes.iter().any(|prefix| path.starts_with(prefix))
    }
}

/// Authorizes requests.
pub struct Authorizer {
    allowed_paths: AllowedPaths,
    reviews: Option<Arc<Reviews>>,
    under_way: SharedReviews<Result<Decision, ReviewError>>,
    metrics: ServingMetrics,
}

impl Authorizer {
    /// Creates an authorizer. Without `reviewer`, only `system:masters` and the always-allowed paths are allowed.
    #[must_use]
    pub fn new(
        config: &AuthorizationConfig,
        reviewer: Option<Arc<dyn AccessReviewer>>,
        metrics: ServingMetrics,
    ) -> Self {
        let reviews = reviewer.map(|reviewer| Reviews {
            reviewer,
            known: TtlCache::new(MAX_ENTRIES),
            allowed_ttl: config.allowed_ttl,
            denied_ttl: config.denied_ttl,
            metrics: metrics.clone(),
        });
        Self {
            allowed_paths: AllowedPaths::new(&config.always_allow_paths),
            reviews: reviews.map(Arc::new),
            under_way: SharedReviews::new(MAX_SHARED),
            metrics,
        }
    }

    /// Authorizes one request.
    ///
    /// # Errors
    /// If the API server had to be asked and did not respond.
    pub async fn authorize(&self, request: AccessRequest<'_>) -> Result<Decision, ReviewError> {
        let since = Instant::now();
        let outcome = self.decide(request).await;
        let result = match outcome {
            Ok(Decision::Open | Decision::Allowed) => "allowed",
            Ok(Decision::Denied) => "denied",
            Err(_) => "error",
        };
        self.metrics.authorized(result, since.elapsed());
        outcome
    }

    /// Whether everyone may access `path`.
    pub(super) fn is_open(&self, path: &str) -> bool {
        self.allowed_paths.contains(path)
    }

    async fn decide(&self, request: AccessRequest<'_>) -> Result<Decision, ReviewError> {
        if request.user.is_member_of(MASTERS) {
            return Ok(Decision::Allowed);
        }
        if self.is_open(request.path) {
            return Ok(Decision::Open);
        }
        let Some(reviews) = &self.reviews else { return Ok(Decision::Denied) };
        let key = cache_key(request);
        if let Some(known) = reviews.known.get(&key) {
            return Ok(known);
        }
        let review = self.under_way.join(&key, || {
            let (reviews, key, user) = (Arc::clone(reviews), key.clone(), request.user.clone());
            let (verb, path) = (request.verb.to_owned(), request.path.to_owned());
            async move { reviews.decide(key, AccessRequest { user: &user, verb: &verb, path: &path }).await }
                .boxed()
        });
        review.await
    }
}

/// The state of access reviews. A review may outlive the request that started it.
struct Reviews {
    reviewer: Arc<dyn AccessReviewer>,
    known: TtlCache<Decision>,
    allowed_ttl: Duration,
    denied_ttl: Duration,
    metrics: ServingMetrics,
}

impl Reviews {
    async fn decide(&self, key: Digest, request: AccessRequest<'_>) -> Result<Decision, ReviewError> {
        // A review of an identical request may have ended since the caller checked the cache.
        if let Some(known) = self.known.get(&key) {
            return Ok(known);
        }
        let ask = || self.metrics.delegated_authz.measured(self.reviewer.review(request));
        let AccessVerdict { allowed, reason } = with_retries(ask).await?;
        let (decision, ttl) = match allowed {
            true => (Decision::Allowed, self.allowed_ttl),
            false => (Decision::Denied, self.denied_ttl),
        };
        debug!(user = %request.user.name, verb = request.verb, path = request.path, allowed, reason, "access review");
        self.known.put(key, decision, ttl);
        Ok(decision)
    }
}

/// The cache key of a request: a digest, so that long paths and many groups need no memory.
fn cache_key(request: AccessRequest<'_>) -> Digest {
    let AccessRequest { user: User { name, uid, groups, extra }, verb, path } = request;
    let mut parts = vec![name.as_str(), uid, verb, path];
    // Each list is preceded by its length; otherwise a group could be confused with an extra key.
    let counts = format!("{}/{}", groups.len(), extra.len());
    parts.push(&counts);
    parts.extend(groups.iter().map(String::as_str));
    let value_counts: Vec<String> = extra.values().map(|values| values.len().to_string()).collect();
    for ((key, values), count) in extra.iter().zip(&value_counts) {
        parts.extend([key.as_str(), count.as_str()]);
        parts.extend(values.iter().map(String::as_str));
    }
    digest(parts.into_iter().map(str::as_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_allowed_exactly_or_by_a_trailing_star() {
        let paths = AllowedPaths::new(&["/healthz".to_owned(), "/debug/*".to_owned()]);
        assert!(paths.contains("/healthz"));
        assert!(!paths.contains("/healthz/ping"));
        assert!(paths.contains("/debug/flags/v"));
        assert!(!paths.contains("/debugger"));
        assert!(!paths.contains("/"));
    }

    #[test]
    fn requests_that_differ_in_anything_have_different_keys() {
        let plain = User::new("jane", &["a"]);
        let mut with_extra = plain.clone();
        with_extra.extra.insert("scope".to_owned(), vec!["x".to_owned()]);
        let two_groups = User::new("jane", &["a", "scope"]);
        let keys: std::collections::BTreeSet<_> = [
            AccessRequest { user: &plain, verb: "get", path: "/metrics" },
            AccessRequest { user: &plain, verb: "put", path: "/metrics" },
            AccessRequest { user: &plain, verb: "get", path: "/configz" },
            AccessRequest { user: &with_extra, verb: "get", path: "/metrics" },
            AccessRequest { user: &two_groups, verb: "get", path: "/metrics" },
        ]
        .map(cache_key)
        .into();
        assert_eq!(keys.len(), 5);
    }
}
