//! Owners of bearer tokens, from the API server, remembered for a short while. Tokens themselves are kept no longer
//! than their review takes.

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

/// The longest bearer token that is reviewed: it waits for its review in several copies. Tokens of OpenID Connect with many groups
/// have some KiB.
const MAX_TOKEN_BYTES: usize = 16 * 1024;

type Owner = Result<Option<User>, ReviewError>;

/// Reviews tokens and remembers the answers, good and bad; failures to answer are not remembered.
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

    /// Whose token this is; `None` if it is not good. A token that is too long is not copied.
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

/// What a review needs, which may outlive the request that began it.
struct Reviews {
    reviewer: Arc<dyn TokenReviewer>,
    known: TtlCache<Option<User>>,
    ttl: Duration,
    metrics: ServingMetrics,
}

impl Reviews {
    async fn owner(&self, key: Digest, token: &str) -> Owner {
        // Another review of this token may have ended since the request looked.
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
