//! Waiting for a condition, never for a time.

use std::fmt::Display;
use std::hint::black_box;
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::Wait;

/// [`deadline`] before it is scaled. Far longer than anything takes on an idle machine: only a failure waits so long.
const DEADLINE: Duration = Duration::from_secs(90);
/// The deadline in virtual time, which costs nothing.
const VIRTUAL_DEADLINE: Duration = Duration::from_secs(3600);
/// The pause between two polls that block the thread.
const BLOCKING_POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Every limit is at least this many times longer, because the machine may become busy after the calibration.
const RESERVE: f64 = 2.0;
/// How many rounds of arithmetic the calibration does, and how long they take on an idle two-core machine (unoptimised, as tests are built).
const CALIBRATION_ROUNDS: u64 = 2_000_000;
const CALIBRATION_IDLE: Duration = Duration::from_millis(30);
/// A machine that is slower than this fails.
const SLOWNESS_MAX: f64 = 8.0;

/// Polls a condition until it returns a value.
///
/// # Errors
///
/// If a poll fails, or none returned a value within [`deadline`].
pub async fn eventually<T>(
    what: impl Display,
    poll: impl AsyncFnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    Wait::default().until(what, poll).await
}

/// Polls a condition in a unit test on tokio's paused clock.
///
/// # Panics
///
/// If the condition does not hold within an hour of virtual time.
pub async fn eventually_virtual(what: impl Display, condition: impl Fn() -> bool) {
    let wait = Wait::within_unscaled(VIRTUAL_DEADLINE);
    let held = wait.until(what, async || Ok(condition().then_some(()))).await;
    assert!(held.is_ok(), "{held:?}");
}

/// Polls a condition in a unit test without an async runtime.
///
/// # Panics
///
/// If the condition does not hold within [`deadline`].
#[track_caller]
pub fn eventually_blocking(what: impl Display, condition: impl Fn() -> bool) {
    let (began, limit) = (Instant::now(), deadline());
    while !condition() {
        assert!(began.elapsed() < limit, "not within {limit:?}: {what}");
        sleep(BLOCKING_POLL_INTERVAL);
    }
}

/// How long to wait in real time before the absence of a condition is a failure.
#[must_use]
pub fn deadline() -> Duration {
    scaled(DEADLINE)
}

/// A limit in real time whose expiry is a failure: longer on a slower machine, and under the load that it had when this process first
/// waited. Not for periods in which something must not happen, nor for virtual time.
#[must_use]
pub fn scaled(limit: Duration) -> Duration {
    static SLOWNESS: OnceLock<f64> = OnceLock::new();
    limit.mul_f64(RESERVE * *SLOWNESS.get_or_init(|| slowness(calibrate())))
}

/// How many times slower this machine is than an idle two-core machine; at least 1.
fn slowness(calibration: Duration) -> f64 {
    (calibration.as_secs_f64() / CALIBRATION_IDLE.as_secs_f64()).clamp(1.0, SLOWNESS_MAX)
}

/// How long a fixed piece of arithmetic takes: longer on a slower machine, and where other processes take the cores.
fn calibrate() -> Duration {
    let start = Instant::now();
    let sum = (0..black_box(CALIBRATION_ROUNDS)).fold(0_u64, |sum, round| sum.rotate_left(5) ^ round);
    black_box(sum);
    start.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_first_value_ends_the_wait() {
        let mut polls = 0;
        let found = eventually("the third poll", async || {
            polls += 1;
            Ok((polls == 3).then_some(polls))
        });
        assert_eq!(found.await.unwrap(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_condition_that_never_holds_fails_with_its_name() {
        let never = eventually("snow", async || Ok(None::<()>)).await.unwrap_err();
        assert!(format!("{never:#}").contains("snow"), "{never:#}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_poll_that_fails_ends_the_wait() {
        let error = eventually("nothing", async || anyhow::bail!("broken pipe")).await;
        assert_eq!(error.map(|()| "found").unwrap_err().to_string(), "broken pipe");
    }

    #[test]
    fn the_deadline_grows_with_the_slowness_of_the_machine_within_limits() {
        let times = [1, 2, 1000].map(|factor| slowness(CALIBRATION_IDLE * factor));
        assert_eq!(times, [1.0, 2.0, SLOWNESS_MAX]);
        assert_eq!(slowness(Duration::from_millis(1)), 1.0);
        let second = scaled(Duration::from_secs(1)).as_secs_f64();
        assert!((RESERVE..=RESERVE * SLOWNESS_MAX).contains(&second), "{second}");
    }

    #[tokio::test(start_paused = true)]
    #[should_panic(expected = "not within 3600s: snow")]
    async fn in_virtual_time_the_limit_does_not_depend_on_the_machine() {
        eventually_virtual("snow", || false).await;
    }
}
