//! Exponential back-off as a pure function of the number of failures.
//!
//! There is no jitter: one leader works on one queue, so there is no thundering herd, and replays stay deterministic.

use std::time::Duration;

/// The wait after the n-th consecutive failure: `base`, doubled for each further failure, at most `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The wait after the first failure.
    pub base: Duration,
    /// The longest wait.
    pub max: Duration,
}

impl Backoff {
    /// A back-off from `base` to `max`.
    #[must_use]
    pub const fn new(base: Duration, max: Duration) -> Self {
        Self { base, max }
    }

    /// The wait after this number of consecutive failures; zero for no failure.
    #[must_use]
    pub fn delay(&self, failures: u32) -> Duration {
        let Some(doublings) = failures.checked_sub(1) else { return Duration::ZERO };
        let factor = 2_u32.checked_pow(doublings).unwrap_or(u32::MAX);
        self.base.saturating_mul(factor).min(self.max)
    }
}

impl Default for Backoff {
    /// The values of upstream's service queue: 5 s to 5 min.
    fn default() -> Self {
        Self::new(Duration::from_secs(5), Duration::from_secs(300))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_waits_as_upstreams_service_queue_does() {
        let waits: Vec<u64> = (0..9).map(|n| Backoff::default().delay(n).as_secs()).collect();
        assert_eq!(waits, [0, 5, 10, 20, 40, 80, 160, 300, 300]);
    }

    #[test]
    fn any_number_of_failures_stays_at_the_cap() {
        assert_eq!(Backoff::default().delay(u32::MAX), Duration::from_secs(300));
        assert_eq!(Backoff::new(Duration::MAX, Duration::MAX).delay(40), Duration::MAX);
    }
}
