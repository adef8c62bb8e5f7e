//! What is remembered about Nodes between two tries. Bounded by the Nodes there are: a deleted one is forgotten.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bowline_kube::informer::ObjectKey;
use bowline_kube::write::Written;
use parking_lot::{Mutex, MutexGuard};
use prometheus_client::metrics::gauge::Gauge;
use tokio::time::Instant;

/// How long an informer may be behind our own write. After that its picture counts, whatever its versions say: a restored
/// cluster counts from an earlier one.
const LATEST: Duration = Duration::from_secs(30);

/// Who failed, and which versions we wrote that the informer may not have seen yet.
#[derive(Debug, Default)]
pub(super) struct Progress {
    known: Mutex<Known>,
    failing: Gauge,
}

#[derive(Debug, Default)]
struct Known {
    written: BTreeMap<ObjectKey, (u64, Instant)>,
    failing: BTreeSet<ObjectKey>,
    /// Who was told that all changes are paused.
    paused: BTreeSet<ObjectKey>,
}

impl Progress {
    /// Shows how many fail in `failing`.
    pub(super) fn new(failing: Gauge) -> Self {
        Self { known: Mutex::default(), failing }
    }

    /// Remembers the version of the Node that we made, and answers it. Versions that are no numbers are not compared:
    /// then a late informer costs a conflict, no more.
    pub(super) fn noted(&self, key: &ObjectKey, written: Written) -> Option<String> {
        let Written::Changed { resource_version: Some(version) } = written else { return None };
        if let Ok(number) = version.parse() {
            self.lock().written.insert(key.clone(), (number, Instant::now()));
        }
        Some(version)
    }

    /// Whether `version` is older than what we wrote: the picture is late, and nothing may be decided on it.
    pub(super) fn is_late(&self, key: &ObjectKey, version: &str) -> bool {
        let written = self.lock().written.get(key).copied();
        let seen = version.parse::<u64>().ok();
        written.zip(seen).is_some_and(|((written, at), seen)| seen < written && at.elapsed() < LATEST)
    }

    /// Notes that a Node waits for the end of a pause; whether that is new.
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

    /// The Node is gone, or initialised for all to see.
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
