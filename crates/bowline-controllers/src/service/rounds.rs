//! Measures how long one change of the node set takes for all Services. Counts only.

use std::time::Duration;

use bowline_kube::informer::ObjectKey;
use parking_lot::Mutex;
use tokio::time::Instant;

/// The present round, if one is under way. A new change of nodes replaces it.
#[derive(Debug, Default)]
pub(super) struct Rounds(Mutex<Option<Round>>);

#[derive(Debug)]
struct Round {
    began: Instant,
    /// Sorted. A set would cost a change of nodes as much as all places in the line.
    services: Vec<(ObjectKey, bool)>,
    left: usize,
}

impl Rounds {
    /// Begins with these Services, sorted by key as a snapshot has them.
    pub(super) fn begin(&self, services: &[ObjectKey]) {
        let services: Vec<_> = services.iter().map(|key| (key.clone(), false)).collect();
        let left = services.len();
        *self.0.lock() = Some(Round { began: Instant::now(), services, left });
    }

    /// One Service is done; how long the round took if it was the last.
    pub(super) fn done(&self, key: &ObjectKey) -> Option<Duration> {
        let mut round = self.0.lock();
        let current = round.as_mut()?;
        current.cross_off(key);
        let took = (current.left == 0).then(|| current.began.elapsed())?;
        *round = None;
        Some(took)
    }
}

impl Round {
    fn cross_off(&mut self, key: &ObjectKey) {
        let Ok(at) = self.services.binary_search_by(|(one, _done)| one.cmp(key)) else { return };
        if let Some((_key, done)) = self.services.get_mut(at).filter(|(_key, done)| !done) {
            *done = true;
            self.left -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_over_when_each_of_its_services_was_done() {
        let key = |name: &str| ObjectKey::namespaced("shop", name);
        let rounds = Rounds::default();
        assert_eq!(rounds.done(&key("a")), None);
        rounds.begin(&["a", "b", "c"].map(key));
        for name in ["b", "b", "other", "c"] {
            assert_eq!(rounds.done(&key(name)), None, "{name}");
        }
        assert!(rounds.done(&key("a")).is_some());
        assert_eq!(rounds.done(&key("a")), None);
    }

    #[test]
    fn another_change_of_nodes_begins_anew() {
        let key = |name: &str| ObjectKey::namespaced("shop", name);
        let rounds = Rounds::default();
        rounds.begin(&["a", "b"].map(key));
        assert_eq!(rounds.done(&key("a")), None);
        rounds.begin(&["a", "b"].map(key));
        assert_eq!(rounds.done(&key("b")), None);
        assert!(rounds.done(&key("a")).is_some());
    }
}
