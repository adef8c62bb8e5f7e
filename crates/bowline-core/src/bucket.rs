//! A token bucket as a pure value: callers pass the time, nothing sleeps here.
//!
//! The QPS limit of the Kubernetes client and the cloud call budget (SR-12) are asynchronous shells around it.

use std::time::Duration;

/// A bucket that holds at most `burst` tokens and gains `per_second` of them each second.
///
/// Taking more tokens than are available is allowed and leaves a debt. The result then says how long to wait, so callers are served in
/// the order in which they asked.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenBucket {
    per_second: f64,
    burst: f64,
    tokens: f64,
    /// The time of the last refill, since any fixed start.
    seen_at: Duration,
}

impl TokenBucket {
    /// A full bucket. A rate that is not a positive number disables the limit.
    #[must_use]
    pub fn new(per_second: f64, burst: u32) -> Self {
        let burst = f64::from(burst.max(1));
        Self { per_second, burst, tokens: burst, seen_at: Duration::ZERO }
    }

    /// Takes one token at `now` (time since a fixed start) and says how long to wait before acting.
    pub fn take(&mut self, now: Duration) -> Duration {
        if !self.limits() {
            return Duration::ZERO;
        }
        self.refill(now);
        self.tokens -= 1.0;
        self.wait_for(0.0)
    }

    /// Returns a token that was taken and will not be used, for example by a caller that was cancelled while it waited.
    ///
    /// Callers that already wait keep their time; the next caller waits less.
    pub fn give_back(&mut self, now: Duration) {
        if self.limits() {
            self.refill(now);
            self.tokens = (self.tokens + 1.0).min(self.burst);
        }
    }

    /// Takes one token at `now` if that needs no wait.
    pub fn try_take(&mut self, now: Duration) -> bool {
        if !self.limits() {
            return true;
        }
        self.refill(now);
        let there = self.tokens >= 1.0;
        if there {
            self.tokens -= 1.0;
        }
        there
    }

    /// The number of whole tokens at `now`; `None` if there is no limit.
    pub fn remaining(&mut self, now: Duration) -> Option<f64> {
        if !self.limits() {
            return None;
        }
        self.refill(now);
        Some(self.tokens.max(0.0).floor())
    }

    /// How long a caller at `now` would wait for a token. Takes none.
    pub fn ready_in(&mut self, now: Duration) -> Duration {
        if !self.limits() {
            return Duration::ZERO;
        }
        self.refill(now);
        self.wait_for(1.0)
    }

    fn limits(&self) -> bool {
        self.per_second.is_finite() && self.per_second > 0.0
    }

    fn refill(&mut self, now: Duration) {
        let gained = now.saturating_sub(self.seen_at).as_secs_f64() * self.per_second;
        self.tokens = (self.tokens + gained).min(self.burst);
        self.seen_at = self.seen_at.max(now);
    }

    fn wait_for(&self, wanted: f64) -> Duration {
        let missing = (wanted - self.tokens).max(0.0);
        Duration::try_from_secs_f64(missing / self.per_second).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_burst_is_free_and_then_each_token_costs_its_share_of_a_second() {
        let mut bucket = TokenBucket::new(10.0, 2);
        assert_eq!(bucket.take(at(0)), Duration::ZERO);
        assert_eq!(bucket.take(at(0)), Duration::ZERO);
        assert_eq!(bucket.take(at(0)), at(100));
        assert_eq!(bucket.take(at(0)), at(200), "those who queue wait behind each other");
        assert_eq!(bucket.take(at(1_000)), Duration::ZERO, "the debt is paid by time");
    }

    #[test]
    fn an_idle_bucket_never_holds_more_than_its_burst() {
        let mut bucket = TokenBucket::new(10.0, 3);
        assert_eq!(bucket.remaining(at(3_600_000)), Some(3.0));
    }

    #[test]
    fn trying_takes_nothing_when_nothing_is_there() {
        let mut bucket = TokenBucket::new(1.0, 1);
        assert!(bucket.try_take(at(0)));
        assert!(!bucket.try_take(at(500)));
        assert_eq!(bucket.ready_in(at(500)), at(500));
        assert!(bucket.try_take(at(1_000)));
    }

    #[test]
    fn a_token_that_is_given_back_shortens_the_wait_of_the_next() {
        let mut bucket = TokenBucket::new(10.0, 1);
        assert_eq!(bucket.take(at(0)), Duration::ZERO);
        assert_eq!(bucket.take(at(0)), at(100));
        assert_eq!(bucket.take(at(0)), at(200));
        bucket.give_back(at(50));
        assert_eq!(bucket.take(at(50)), at(150), "one of two waiters is left before it");
    }

    #[test]
    fn giving_back_never_fills_a_bucket_beyond_its_burst() {
        let mut bucket = TokenBucket::new(10.0, 2);
        assert!(bucket.try_take(at(0)));
        bucket.give_back(at(3_600_000));
        assert_eq!(bucket.remaining(at(3_600_000)), Some(2.0), "it was full again by itself");
        let mut unlimited = TokenBucket::new(0.0, 2);
        unlimited.give_back(at(0));
        assert_eq!(unlimited.remaining(at(0)), None);
    }

    #[test]
    fn a_rate_of_zero_or_less_is_no_limit() {
        let mut bucket = TokenBucket::new(-1.0, 0);
        assert!((0..1_000).all(|_| bucket.take(at(0)) == Duration::ZERO));
        assert_eq!(bucket.remaining(at(0)), None);
    }

    #[test]
    fn a_clock_that_steps_back_gains_nothing() {
        let mut bucket = TokenBucket::new(1.0, 1);
        assert!(bucket.try_take(at(5_000)));
        assert!(!bucket.try_take(at(0)));
        assert!(!bucket.try_take(at(5_900)));
        assert!(bucket.try_take(at(6_000)));
    }
}
