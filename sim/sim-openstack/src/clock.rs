//! Time: handed in to the core; a clock that follows tokio's for the shell, so that paused tests have virtual time.
//!
//! The core never asks a clock. Each service writes time in its own form; they are here side by side.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Says what time it is in the cloud.
pub trait Clock: Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> Timestamp;
}

/// A clock that starts at a given time and runs with tokio's clock: virtual when tokio's is paused.
#[derive(Clone, Copy, Debug)]
pub struct TokioClock {
    start: Timestamp,
    origin: Instant,
}

impl TokioClock {
    /// A clock that shows `start` now.
    #[must_use]
    pub fn starting_at(start: Timestamp) -> Self {
        Self { start, origin: Instant::now() }
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        later(self.start, self.origin.elapsed())
    }
}

/// `time` and `duration` after it; the end of time if that is nearer.
#[must_use]
pub(crate) fn later(time: Timestamp, duration: Duration) -> Timestamp {
    SignedDuration::try_from(duration)
        .ok()
        .and_then(|duration| time.checked_add(duration).ok())
        .unwrap_or(Timestamp::MAX)
}

/// As Octavia writes it: `2026-11-15T08:00:29`.
#[must_use]
pub(crate) fn plain(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S").to_string()
}

/// As Neutron and Nova write it: `2026-11-15T08:00:29Z`.
#[must_use]
pub(crate) fn zulu(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// As Keystone writes it: `2026-11-15T08:00:29.000000Z`.
#[must_use]
pub(crate) fn micros_zulu(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.000000Z").to_string()
}
