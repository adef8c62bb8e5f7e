//! Wall time that tests can control. It is for timestamps only, and must not be used to measure durations: use `tokio::time::Instant`,
//! which a paused runtime also controls.

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// A source of wall time.
#[derive(Debug, Clone)]
pub struct Clock(Source);

#[derive(Debug, Clone)]
enum Source {
    System,
    Simulated { start: Timestamp, since: Instant },
}

impl Clock {
    /// The system clock.
    #[must_use]
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that starts at `start` and then advances with tokio's clock, so that paused time also controls it.
    #[must_use]
    pub fn simulated(start: Timestamp) -> Self {
        Self(Source::Simulated { start, since: Instant::now() })
    }

    /// The current wall time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::System => Timestamp::now(),
            Source::Simulated { start, since } => SignedDuration::try_from(since.elapsed())
                .and_then(|elapsed| start.checked_add(elapsed))
                .unwrap_or(Timestamp::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_simulated_clock_moves_with_paused_time_only() {
        let start: Timestamp = "2026-11-02T08:00:00Z".parse().unwrap();
        let clock = Clock::simulated(start);
        assert_eq!(clock.now(), start);
        tokio::time::advance(Duration::from_secs(3_600)).await;
        assert_eq!(clock.now(), "2026-11-02T09:00:00Z".parse().unwrap());
        assert_eq!(clock.clone().now(), clock.now(), "a clone shows the same time");
    }
}
