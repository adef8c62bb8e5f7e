//! Measures how long one change of the node set takes for all Services. Counts only.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use bowline_kube::informer::ObjectKey;
use tokio::time::Instant;

use super::memory::lock;

/// The present round, if one is under way. A new change of nodes replaces it.
#[derive(Debug, Default)]
pub(super) struct Rounds(Mutex<Option<Round>>);

#[derive(Debug)]
struct Round {
    began: Instant,
    left: BTreeSet<ObjectKey>,
}

impl Rounds {
    pub(super) fn begin(&self, left: BTreeSet<ObjectKey>) {
        *lock(&self.0) = Some(Round { began: Instant::now(), left });
    }

    /// One Service is done; how long the round took if it was the last.
    pub(super) fn done(&self, key: &ObjectKey) -> Option<Duration> {
        let mut round = lock(&self.0);
        let current = round.as_mut()?;
        current.left.remove(key);
        let took = current.left.is_empty().then(|| current.began.elapsed())?;
        *round = None;
        Some(took)
    }
}
