//! Whether the picture an informer holds can be trusted: when the API server was last heard, and what went wrong.

use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

/// Something that went wrong with a list or a watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchFailure {
    /// What the client said.
    pub message: String,
    /// When.
    pub at: Instant,
}

/// The health of one informer at one moment.
#[derive(Debug, Clone)]
pub struct InformerHealth {
    /// The informer's name.
    pub name: String,
    /// Whether a first list was complete.
    pub synced: bool,
    /// Whether the watch has ended for good (shutdown, or a bug).
    pub stopped: bool,
    /// When the API server last gave a good answer or sent a byte, quiet watches included.
    pub last_contact: Option<Instant>,
    /// The last failure, kept after it is over.
    pub last_failure: Option<WatchFailure>,
    /// Whether the last failure is not over yet.
    pub failing: bool,
    /// Since when the picture can be put right only by a complete list, if none was complete since.
    pub stale_since: Option<Instant>,
    /// A longer silence than this cannot happen on a watch that works.
    pub silence_limit: Duration,
}

impl InformerHealth {
    /// Why the informer is not fit to be relied on at `now`, in words for a readiness answer; `None` if it is.
    ///
    /// A short failure is no reason: the picture is as old as the last contact, and the limit says how old it may be.
    /// Contact alone is not enough, though, once a list is needed: an error, or a list that cannot be read, is contact.
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

/// The notes from which a health is made. Written by the transport and the watch loop, read by anybody.
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
    /// The API server was heard.
    pub(super) fn heard(&self) {
        let mut notes = self.lock();
        notes.last_contact = Some(Instant::now());
        notes.failing = notes.stale_since.is_some();
    }

    /// A list was complete.
    pub(super) fn listed(&self) {
        let mut notes = self.lock();
        notes.failing = false;
        notes.stale_since = None;
    }

    /// A list or a watch failed; `stale` if only a list can put the picture right.
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
