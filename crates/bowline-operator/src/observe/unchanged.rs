//! For how long something has looked the same to this process, by its own clock. Another machine's clock proves nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// Values by key, each with since when it is what it is.
#[derive(Debug, Clone)]
pub struct Unchanged<V> {
    seen: BTreeMap<String, Since<V>>,
}

#[derive(Debug, Clone)]
struct Since<V> {
    value: V,
    at: Instant,
    has_changed: bool,
}

impl<V> Default for Unchanged<V> {
    fn default() -> Self {
        Self { seen: BTreeMap::new() }
    }
}

impl<V: PartialEq> Unchanged<V> {
    /// Notes what is seen at `now`. Answers for how long it has been so, and whether it was ever seen to change.
    pub fn note(&mut self, key: &str, value: V, now: Instant) -> (Duration, bool) {
        match self.seen.get_mut(key) {
            Some(known) if known.value == value => {}
            Some(known) => *known = Since { value, at: now, has_changed: true },
            None => {
                self.seen.insert(key.to_owned(), Since { value, at: now, has_changed: false });
            }
        }
        self.seen.get(key).map_or((Duration::ZERO, false), |known| {
            (now.saturating_duration_since(known.at), known.has_changed)
        })
    }

    /// Forgets that anything was seen to change; since when it is as it is stays known.
    pub fn forget_changes(&mut self) {
        self.seen.values_mut().for_each(|known| known.has_changed = false);
    }

    /// Forgets what is no longer there.
    pub fn keep_only(&mut self, is_there: impl Fn(&str) -> bool) {
        self.seen.retain(|key, _| is_there(key));
    }
}
