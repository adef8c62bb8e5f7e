//! A map with a size limit that evicts the least recently used entries. Callers pass the time.

use std::{collections::HashMap, hash::Hash, time::Duration};

/// A map with a size limit.
#[derive(Debug)]
pub(super) struct BoundedMap<K, V> {
    limit: usize,
    map: HashMap<K, (V, Duration)>,
}

impl<K: Hash + Eq, V> BoundedMap<K, V> {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, map: HashMap::new() }
    }

    /// The value at `key`; created by `make` if it does not exist or was last used more than `keep` ago.
    pub(super) fn use_or_make(
        &mut self,
        key: K,
        now: Duration,
        keep: Duration,
        make: impl FnOnce() -> V,
    ) -> &mut V {
        if self.map.len() >= self.limit && !self.map.contains_key(&key) {
            self.shrink();
        }
        let fresh = |used: Duration| now.saturating_sub(used) <= keep;
        let (value, used) = match self.map.entry(key) {
            std::collections::hash_map::Entry::Occupied(slot) => {
                let slot = slot.into_mut();
                if !fresh(slot.1) {
                    slot.0 = make();
                }
                slot
            }
            std::collections::hash_map::Entry::Vacant(slot) => slot.insert((make(), now)),
        };
        *used = now;
        value
    }

    /// Evicts the least recently used quarter, so that the cost of the search is spread over many inserts.
    fn shrink(&mut self) {
        let mut uses: Vec<Duration> = self.map.values().map(|(_, used)| *used).collect();
        uses.sort_unstable();
        let Some(oldest_kept) = uses.get(self.limit / 4).copied() else { return };
        self.map.retain(|_, (_, used)| *used >= oldest_kept);
        if self.map.len() >= self.limit {
            // All were used at the same time, so there is no least recently used one: evict all.
            self.map.clear();
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.map.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn the_map_stays_within_its_limit_and_keeps_what_was_used_last() {
        let mut map = BoundedMap::new(100);
        for n in 0..10_000_u64 {
            map.use_or_make(n, Duration::from_secs(n), HOUR * 24, || n);
            assert!(map.len() <= 100);
        }
        let mut made = false;
        map.use_or_make(9_999, Duration::from_secs(9_999), HOUR, || {
            made = true;
            0
        });
        assert!(!made);
    }

    #[test]
    fn many_keys_at_one_moment_do_not_break_the_limit() {
        let mut map = BoundedMap::new(10);
        (0..1_000).for_each(|n| *map.use_or_make(n, HOUR, HOUR, || 0) += 1);
        assert!(map.len() <= 10);
    }

    #[test]
    fn a_value_that_is_too_old_is_made_anew() {
        let mut map = BoundedMap::new(10);
        *map.use_or_make("k", Duration::ZERO, HOUR, || 1) += 1;
        assert_eq!(*map.use_or_make("k", HOUR, HOUR, || 1), 2);
        assert_eq!(*map.use_or_make("k", HOUR * 3, HOUR, || 1), 1);
    }
}
