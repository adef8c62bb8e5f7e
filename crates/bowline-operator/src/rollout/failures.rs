//! How long failures are borne before somebody is told. In memory: a restart begins anew, which only delays the telling.

#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

/// What kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// Only a change of the input can mend it; trying again cannot.
    Terminal,
    /// It may pass.
    Transient,
}

/// How much a pass without a failure has looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// All there is: the failures before it are over.
    Full,
    /// A part, or nothing, as when the change was none of ours: it proves nothing.
    Partial,
}

/// What to do about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the condition says now that something is wrong.
    pub is_degraded: bool,
    /// Whether to try again without waiting for a change.
    pub is_retried: bool,
}

/// The failures of one controller since its last success.
#[derive(Debug, Clone)]
pub struct FailureWindow {
    threshold: Duration,
    stale_after: Option<Duration>,
    /// When the failures began, and when the last one was.
    since: Option<(Instant, Instant)>,
}

impl FailureWindow {
    /// Bears failures for `threshold`. A gap longer than `stale_after` between two of them begins anew.
    #[must_use]
    pub fn new(threshold: Duration, stale_after: Option<Duration>) -> Self {
        Self { threshold, stale_after, since: None }
    }

    /// That of the controller that applies workloads.
    #[must_use]
    pub fn of_workloads() -> Self {
        Self::new(Duration::from_secs(150), None)
    }

    /// That of the controller of cloud configurations.
    #[must_use]
    pub fn of_config() -> Self {
        Self::new(Duration::from_secs(120), None)
    }

    /// That of the controller of trusted certificates.
    #[must_use]
    pub fn of_trust() -> Self {
        Self::new(Duration::from_secs(120), Some(Duration::from_secs(150)))
    }

    /// A failure at this time.
    pub fn failed(&mut self, failure: Failure, now: Instant) -> Verdict {
        if failure == Failure::Terminal {
            return Verdict { is_degraded: true, is_retried: false };
        }
        let is_stale =
            |last: Instant| self.stale_after.is_some_and(|limit| now.saturating_duration_since(last) > limit);
        let first = match self.since {
            Some((first, last)) if !is_stale(last) => first,
            _ => now,
        };
        self.since = Some((first, now));
        let is_degraded = now.saturating_duration_since(first) >= self.threshold;
        Verdict { is_degraded, is_retried: true }
    }

    /// A pass without a failure.
    pub fn succeeded(&mut self, pass: Pass) {
        if pass == Pass::Full {
            self.since = None;
        }
    }
}
