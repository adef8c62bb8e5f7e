//! The fence of the election: open only while no other candidate can regard our lease as expired.

use std::{sync::Arc, time::Duration};

use bowline_core::{Fence, Fenced, PAUSED, Pause};
use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::clock::Clock;

/// Decides whether this process may change anything. It is closed until this process becomes the leader, and permanently closed once the
/// lease is lost or released. In between it closes by itself when renewals stop succeeding, even if the elector hangs or was dropped.
#[derive(Debug, Clone)]
pub struct LeaseFence {
    state: Arc<Mutex<State>>,
    /// The reason of the pause annotation on the Lease (SR-15), as last observed.
    paused: Arc<Mutex<Option<String>>>,
    clock: Clock,
    lease: String,
}

#[derive(Debug)]
enum State {
    Waiting,
    /// Both clocks are checked: the monotonic clock does not count the time while a machine was suspended.
    Open {
        until: Instant,
        until_wall: Timestamp,
    },
    Shut(String),
}

impl LeaseFence {
    pub(super) fn new(clock: Clock, lease: String) -> Self {
        Self { state: Arc::new(Mutex::new(State::Waiting)), paused: Arc::default(), clock, lease }
    }

    /// A renewal sent at `sent` succeeded: the fence is open for `span` from then, unless it is permanently closed.
    pub(super) fn extend(&self, sent: Instant, sent_wall: Timestamp, span: Duration) {
        let until_wall = SignedDuration::try_from(span)
            .and_then(|span| sent_wall.checked_add(span))
            .unwrap_or(Timestamp::MAX);
        let mut state = self.lock();
        if !matches!(*state, State::Shut(_)) {
            *state = State::Open { until: sent + span, until_wall };
        }
    }

    /// Stores the reason of the pause annotation; `None` ends the pause.
    pub(super) fn pause(&self, why: Option<&str>) {
        *self.lock_pause() = why.map(str::to_owned);
    }

    /// The reason of the pause annotation when the Lease was last observed.
    pub(super) fn said(&self) -> Option<String> {
        self.lock_pause().clone()
    }

    /// Closes the fence permanently.
    pub(super) fn shut(&self, why: String) {
        let mut state = self.lock();
        if !matches!(*state, State::Shut(_)) {
            *state = State::Shut(why);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn lock_pause(&self) -> MutexGuard<'_, Option<String>> {
        self.paused.lock()
    }
}

impl Fence for LeaseFence {
    fn check(&self) -> Result<(), Fenced> {
        let lease = &self.lease;
        let why = match &*self.lock() {
            State::Open { until, until_wall }
                if Instant::now() < *until && self.clock.now() < *until_wall =>
            {
                match self.paused() {
                    None => return Ok(()),
                    Some(pause) => pause.to_string(),
                }
            }
            State::Open { until, .. } => {
                format!("lease {lease} was not renewed in time (it ran out {:?} ago)", until.elapsed())
            }
            State::Waiting => format!("lease {lease} is not ours yet"),
            State::Shut(why) => format!("lease {lease}: {why}"),
        };
        Err(Fenced { why })
    }

    fn paused(&self) -> Option<Pause> {
        let until = || format!("the annotation {PAUSED} is taken off Lease {}", self.lease);
        self.said().map(|why| Pause { why, until: until() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Duration = Duration::from_secs(10);

    fn fence() -> LeaseFence {
        LeaseFence::new(Clock::simulated(Timestamp::UNIX_EPOCH), "ns/name".into())
    }

    #[tokio::test(start_paused = true)]
    async fn the_fence_is_closed_before_the_first_win_and_by_itself_after_the_last_renewal() {
        let fence = fence();
        assert!(fence.check().unwrap_err().why.contains("ns/name is not ours yet"));
        fence.extend(Instant::now(), fence.clock.now(), SPAN);
        tokio::time::advance(SPAN - Duration::from_millis(1)).await;
        assert!(fence.check().is_ok());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(fence.check().unwrap_err().why.contains("not renewed in time"));
    }

    #[tokio::test(start_paused = true)]
    async fn the_span_counts_from_when_the_renewal_was_sent() {
        let fence = fence();
        let (sent, wall) = (Instant::now(), fence.clock.now());
        tokio::time::advance(Duration::from_secs(9)).await;
        fence.extend(sent, wall, SPAN);
        assert!(fence.check().is_ok());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(fence.check().is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn once_shut_the_fence_never_opens_again() {
        let fence = fence();
        fence.shut("lost".into());
        fence.extend(Instant::now(), fence.clock.now(), SPAN);
        assert!(fence.clone().check().unwrap_err().why.contains("lost"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_machine_that_was_suspended_finds_its_fence_closed() {
        let fence = fence();
        // What a suspended machine sees: its monotonic clock stood still while wall time went on.
        let long_ago = "1969-12-31T23:00:00Z".parse().unwrap();
        fence.extend(Instant::now(), long_ago, SPAN);
        assert!(fence.check().is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_closes_the_fence_and_its_end_opens_it() {
        let fence = fence();
        fence.extend(Instant::now(), fence.clock.now(), SPAN);
        fence.pause(Some("rack 7 moves"));
        assert_eq!(fence.said().as_deref(), Some("rack 7 moves"));
        let why = fence.check().unwrap_err().why;
        assert!(why.contains("paused (rack 7 moves)") && why.ends_with("off Lease ns/name"), "{why}");
        fence.pause(None);
        assert!(fence.check().is_ok());
    }
}
