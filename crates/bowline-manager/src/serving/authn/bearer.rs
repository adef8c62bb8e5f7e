//! Looks up the users of bearer tokens with token reviews of the API server, and caches the results for a short time. The tokens themselves
//! are only kept during their review.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use rand::Rng;
use tokio::time::Instant;

use super::super::digest::{Digest, digest};
use super::super::identity::User;
use super::super::metrics::ServingMetrics;
use super::super::retry::with_retries;
use super::super::reviews::{ReviewError, TokenReviewer};
use super::super::shared_reviews::{MAX_SHARED, SharedReviews};
use super::super::ttl_cache::{MAX_ENTRIES, TtlCache};

/// The longest bearer token that is reviewed, because several copies of it are held during the review. OpenID Connect tokens with many
/// groups have a few KiB.
const MAX_TOKEN_BYTES: usize = 16 * 1024;

type Owner = Result<Option<User>, ReviewError>;

/// Reviews tokens and caches the results, accepted and rejected. Errors are not cached.
pub(super) struct BearerTokens {
    reviews: Arc<Reviews>,
    under_way: SharedReviews<Owner>,
    /// Makes the digests of this process useless elsewhere.
    salt: [u8; 32],
}

impl BearerTokens {
    pub(super) fn new(reviewer: Arc<dyn TokenReviewer>, ttl: Duration, metrics: ServingMetrics) -> Self {
        let mut salt = [0; 32];
        rand::rng().fill_bytes(&mut salt);
        let reviews = Reviews { reviewer, known: TtlCache::new(MAX_ENTRIES), ttl, metrics };
        Self { reviews: Arc::new(reviews), under_way: SharedReviews::new(MAX_SHARED), salt }
    }

    /// The user of a token; `None` if the token is invalid. A token that is too long is rejected without being copied.
    pub(super) async fn owner(&self, token: &str) -> Owner {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(ReviewError::permanent(format!("it is longer than {MAX_TOKEN_BYTES} bytes")));
        }
        let (since, metrics) = (Instant::now(), &self.reviews.metrics.token_cache);
        let key: Digest = digest([self.salt.as_slice(), token.as_bytes()]);
        if let Some(known) = self.reviews.known.get(&key) {
            metrics.hit(since.elapsed());
            return Ok(known);
        }
        let _blocked = metrics.blocked();
        let review = self.under_way.join(&key, || {
            let (reviews, key, token) = (Arc::clone(&self.reviews), key.clone(), token.to_owned());
            async move { reviews.owner(key, &token).await }.boxed()
        });
        let owner = review.await;
        metrics.missed(since.elapsed());
        owner
    }
}

/// The state of token reviews. A review may outlive the request that started it.
struct Reviews {
    reviewer: Arc<dyn TokenReviewer>,
    known: TtlCache<Option<User>>,
    ttl: Duration,
    metrics: ServingMetrics,
}

impl Reviews {
    async fn owner(&self, key: Digest, token: &str) -> Owner {
        // A review of the same token may have ended since the caller checked the cache.
        if let Some(known) = self.known.get(&key) {
            return Ok(known);
        }
        let metrics = &self.metrics;
        let _in_flight = metrics.token_cache.in_flight();
        let owner = with_retries(|| metrics.delegated_authn.measured(self.reviewer.review(token))).await;
        metrics.token_cache.fetched(owner.is_ok());
        let owner = owner?;
        self.known.put(key, owner.clone(), self.ttl);
        Ok(owner)
    }
}
