//! Whether the cache of an informer can be relied on: when the API server was last heard from, and what failed.

use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

/// A failed list or watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchFailure {
    /// The error message of the client.
    pub message: String,
    /// When it failed.
    pub at: Instant,
}

/// The health of one informer at one moment.
#[derive(Debug, Clone)]
pub struct InformerHealth {
    /// The informer's name.
    pub name: String,
    /// Whether a first list is complete.
    pub synced: bool,
    /// Whether the watch has ended for good (shutdown, or a bug).
    pub stopped: bool,
    /// When the API server last sent a successful response or any byte of a body, including quiet watches.
    pub last_contact: Option<Instant>,
    /// The last failure; kept after it is over.
    pub last_failure: Option<WatchFailure>,
    /// Whether the last failure still persists.
    pub failing: bool,
    /// Since when only a complete list can correct the cache; `None` if no list is needed.
    pub stale_since: Option<Instant>,
    /// The longest silence that can occur on a working watch.
    pub silence_limit: Duration,
}

impl InformerHealth {
    /// Why the informer cannot be relied on at `now`, as a message for the readiness endpoint; `None` if it can.
    ///
    /// A short failure is no reason: the cache is as old as the last contact, and the limit says how old it may be. If a list is needed,
    /// contact alone is not enough, because an error response or an unreadable list also counts as contact.
    #[must_use]
    pub fn problem(&self, now: Instant) -> Option<String> {
        let what = if self.stopped {
            "its watch has ended; the process should be ending too".to_owned()
        } else if !self.synced {
            "the first list is not complete yet".to_owned()
        } else {
            self.too_old(now)?
        };
        let reason = self.last_failure.as_ref().map(|f| format!("; last failure: {}", f.message));
        Some(format!("informer {}: {what}{}", self.name, reason.unwrap_or_default()))
    }

    fn too_old(&self, now: Instant) -> Option<String> {
        let limit = self.silence_limit;
        let silence = self.last_contact.map_or(Duration::MAX, |at| now.saturating_duration_since(at));
        if silence > limit {
            let (silence, limit) = (silence.as_secs(), limit.as_secs());
            return Some(format!(
                "the API server was last heard {silence} s ago, at most {limit} s are normal"
            ));
        }
        let stale = now.saturating_duration_since(self.stale_since?);
        (stale > limit)
            .then(|| format!("a new list is needed since {} s and none was complete", stale.as_secs()))
    }
}

/// The data behind [`InformerHealth`]. The transport and the watch loop write it.
#[derive(Debug, Default)]
pub(super) struct Contact(Mutex<Notes>);

#[derive(Debug, Default, Clone)]
pub(super) struct Notes {
    pub(super) last_contact: Option<Instant>,
    pub(super) last_failure: Option<WatchFailure>,
    pub(super) failing: bool,
    pub(super) stale_since: Option<Instant>,
}

impl Contact {
    /// Records that the API server sent something.
    pub(super) fn heard(&self) {
        let mut notes = self.lock();
        notes.last_contact = Some(Instant::now());
        notes.failing = notes.stale_since.is_some();
    }

    /// Records a complete list.
    pub(super) fn listed(&self) {
        let mut notes = self.lock();
        notes.failing = false;
        notes.stale_since = None;
    }

    /// Records a failed list or watch; `stale` if only a list can correct the cache.
    pub(super) fn failed(&self, message: String, stale: bool) {
        let (mut notes, at) = (self.lock(), Instant::now());
        notes.last_failure = Some(WatchFailure { message, at });
        notes.failing = true;
        if stale {
            notes.stale_since.get_or_insert(at);
        }
    }

    pub(super) fn notes(&self) -> Notes {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Notes> {
        self.0.lock()
    }
}
