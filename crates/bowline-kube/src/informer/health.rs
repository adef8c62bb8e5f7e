//! Whether the picture an informer holds can be trusted: when the API server was last heard, and what went wrong.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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
    /// A longer silence than this cannot happen on a watch that works.
    pub silence_limit: Duration,
}

impl InformerHealth {
    /// Why the informer is not fit to be relied on at `now`, in words for a readiness answer; `None` if it is.
    ///
    /// A short failure is no reason: the picture is as old as the last contact, and the limit says how old it may be.
    #[must_use]
    pub fn problem(&self, now: Instant) -> Option<String> {
        let what = if self.stopped {
            "its watch has ended; the process should be ending too".to_owned()
        } else if !self.synced {
            "the first list is not complete yet".to_owned()
        } else {
            let silence = self.last_contact.map_or(Duration::MAX, |at| now.saturating_duration_since(at));
            if silence <= self.silence_limit {
                return None;
            }
            let limit = self.silence_limit.as_secs();
            format!("the API server was last heard {} s ago, at most {limit} s are normal", silence.as_secs())
        };
        let reason = self.last_failure.as_ref().map(|f| format!("; last failure: {}", f.message));
        Some(format!("informer {}: {what}{}", self.name, reason.unwrap_or_default()))
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
}

impl Contact {
    /// The API server was heard.
    pub(super) fn heard(&self) {
        let mut notes = self.lock();
        notes.last_contact = Some(Instant::now());
        notes.failing = false;
    }

    /// A list or a watch failed.
    pub(super) fn failed(&self, message: String) {
        let mut notes = self.lock();
        notes.last_failure = Some(WatchFailure { message, at: Instant::now() });
        notes.failing = true;
    }

    pub(super) fn notes(&self) -> Notes {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
