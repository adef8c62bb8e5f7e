//! A bounded cache whose entries expire on tokio's clock. It does not fetch values: callers get, then put.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::digest::Digest;

/// Enough for every scraper and operator of a cluster, and small enough that a flood of invalid tokens costs little memory.
pub(super) const MAX_ENTRIES: usize = 4096;

/// Values by digest, each with its own TTL.
#[derive(Debug)]
pub(super) struct TtlCache<V> {
    entries: Mutex<HashMap<Digest, (Instant, V)>>,
    max_entries: usize,
}

impl<V: Clone> TtlCache<V> {
    pub(super) fn new(max_entries: usize) -> Self {
        Self { entries: Mutex::new(HashMap::new()), max_entries }
    }

    /// The value, if it has not expired.
    pub(super) fn get(&self, key: &Digest) -> Option<V> {
        let entries = self.entries.lock();
        entries.get(key).filter(|(expires, _)| *expires > Instant::now()).map(|(_, value)| value.clone())
    }

    /// Stores `value` for `ttl`. A full cache first removes expired entries; if it is still full, it removes all entries.
    ///
    /// Removing all entries keeps `put` cheap on average; a cache this full is under a flood of requests, not in normal use.
    pub(super) fn put(&self, key: Digest, value: V, ttl: Duration) {
        if ttl.is_zero() {
            return;
        }
        let now = Instant::now();
        let mut entries = self.entries.lock();
        if entries.len() >= self.max_entries && !entries.contains_key(&key) {
            entries.retain(|_, (expires, _)| *expires > now);
            if entries.len() >= self.max_entries {
                entries.clear();
            }
        }
        entries.insert(key, (now + ttl, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_entry_is_there_until_its_time_is_over() {
        let cache = TtlCache::new(8);
        cache.put(vec![1], "yes", Duration::from_secs(10));
        tokio::time::advance(Duration::from_secs(9)).await;
        assert_eq!(cache.get(&vec![1]), Some("yes"));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(cache.get(&vec![1]), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_cache_never_grows_past_its_bound() {
        let cache = TtlCache::new(3);
        for key in 0..100u8 {
            cache.put(vec![key], (), Duration::from_secs(10));
            assert!(cache.entries.lock().len() <= 3);
        }
        assert_eq!(cache.get(&vec![99]), Some(()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_zero_life_time_means_no_caching() {
        let cache = TtlCache::new(3);
        cache.put(vec![1], (), Duration::ZERO);
        assert_eq!(cache.get(&vec![1]), None);
    }
}
