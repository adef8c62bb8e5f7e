//! Owners of bearer tokens, from the API server, remembered for a short while. Tokens themselves are never kept.

use std::sync::Arc;
use std::time::Duration;

use rand::Rng;

use super::super::digest::{Digest, digest};
use super::super::identity::User;
use super::super::retry::with_retries;
use super::super::reviews::{ReviewError, TokenReviewer};
use super::super::ttl_cache::{MAX_ENTRIES, TtlCache};

/// Reviews tokens and remembers the answers, good and bad; failures to answer are not remembered.
pub(super) struct BearerTokens {
    reviewer: Arc<dyn TokenReviewer>,
    known: TtlCache<Option<User>>,
    ttl: Duration,
    /// Makes the digests of this process useless elsewhere.
    salt: [u8; 32],
}

impl BearerTokens {
    pub(super) fn new(reviewer: Arc<dyn TokenReviewer>, ttl: Duration) -> Self {
        let mut salt = [0; 32];
        rand::rng().fill_bytes(&mut salt);
        Self { reviewer, known: TtlCache::new(MAX_ENTRIES), ttl, salt }
    }

    /// Whose token this is; `None` if it is not good.
    pub(super) async fn owner(&self, token: &str) -> Result<Option<User>, ReviewError> {
        let key: Digest = digest([self.salt.as_slice(), token.as_bytes()]);
        if let Some(known) = self.known.get(&key) {
            return Ok(known);
        }
        let owner = with_retries(|| self.reviewer.review(token)).await?;
        self.known.put(key, owner.clone(), self.ttl);
        Ok(owner)
    }
}
