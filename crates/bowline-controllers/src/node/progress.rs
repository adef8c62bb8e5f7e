//! State about Nodes between two attempts. Bounded by the number of Nodes: a deleted Node is dropped.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bowline_kube::informer::ObjectKey;
use bowline_kube::write::Written;
use parking_lot::{Mutex, MutexGuard};
use prometheus_client::metrics::gauge::Gauge;
use tokio::time::Instant;

/// How long the informer may lag behind our own write. After that its cache is used whatever its resource versions: a restored cluster
/// counts from an earlier one.
const LATEST: Duration = Duration::from_secs(30);

/// The Nodes that failed, and the versions that we wrote and the informer may not have received yet.
#[derive(Debug, Default)]
pub(super) struct Progress {
    known: Mutex<Known>,
    failing: Gauge,
}

#[derive(Debug, Default)]
struct Known {
    written: BTreeMap<ObjectKey, (u64, Instant)>,
    failing: BTreeSet<ObjectKey>,
    /// Nodes for which the pause was already reported.
    paused: BTreeSet<ObjectKey>,
}

impl Progress {
    /// Exports the number of failing Nodes in `failing`.
    pub(super) fn new(failing: Gauge) -> Self {
        Self { known: Mutex::default(), failing }
    }

    /// Records the resource version of our write, and returns it. Versions that are no numbers are not compared: a lagging informer then
    /// only costs a conflict.
    pub(super) fn noted(&self, key: &ObjectKey, written: Written) -> Option<String> {
        let Written::Changed { resource_version: Some(version) } = written else { return None };
        if let Ok(number) = version.parse() {
            self.lock().written.insert(key.clone(), (number, Instant::now()));
        }
        Some(version)
    }

    /// Whether `version` is older than our last write: the informer lags, and nothing may be decided on its cache.
    pub(super) fn is_late(&self, key: &ObjectKey, version: &str) -> bool {
        let written = self.lock().written.get(key).copied();
        let seen = version.parse::<u64>().ok();
        written.zip(seen).is_some_and(|((written, at), seen)| seen < written && at.elapsed() < LATEST)
    }

    /// Records that a Node waits for the end of a pause. Returns whether that is new.
    pub(super) fn pauses(&self, key: &ObjectKey) -> bool {
        self.lock().paused.insert(key.clone())
    }

    pub(super) fn failed(&self, key: &ObjectKey) {
        let mut known = self.lock();
        known.failing.insert(key.clone());
        self.show(&known);
    }

    pub(super) fn succeeded(&self, key: &ObjectKey) {
        let mut known = self.lock();
        known.failing.remove(key);
        self.show(&known);
    }

    /// Drops the state of a Node that is deleted, not claimed, or initialized according to the informer.
    pub(super) fn forget(&self, key: &ObjectKey) {
        let mut known = self.lock();
        known.failing.remove(key);
        known.written.remove(key);
        known.paused.remove(key);
        self.show(&known);
    }

    fn show(&self, known: &Known) {
        self.failing.set(i64::try_from(known.failing.len()).unwrap_or(i64::MAX));
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock()
    }
}
