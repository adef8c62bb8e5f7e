//! Waiting for a condition, never for a time.

use std::fmt::Display;
use std::hint::black_box;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::Wait;

/// How long a condition may take on an idle two-core machine. Far longer than anything takes there: only a failure waits so long.
const IDLE_DEADLINE: Duration = Duration::from_secs(180);
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
    within(deadline(), what, poll).await
}

/// The same with a limit of its own, where the condition may as well not come to hold.
///
/// # Errors
///
/// If a poll fails, or none returned a value within the limit.
pub async fn within<T>(
    limit: Duration,
    what: impl Display,
    poll: impl AsyncFnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    Wait::within(limit).until(what, poll).await
}

/// How long to wait for a condition on this machine, under the load that it had when this process first waited.
#[must_use]
pub fn deadline() -> Duration {
    static DEADLINE: OnceLock<Duration> = OnceLock::new();
    *DEADLINE.get_or_init(|| IDLE_DEADLINE.mul_f64(slowness(calibrate())))
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
    }
}
