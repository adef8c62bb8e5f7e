//! Retries a review request: a few attempts with growing delays within one deadline. It knows no API and keeps no state.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use super::reviews::ReviewError;

/// The deadline of all attempts together; a scraper's timeout is about as long.
const DEADLINE: Duration = Duration::from_secs(10);
const FIRST_WAIT: Duration = Duration::from_millis(500);
const GROWTH: f64 = 1.5;
const ATTEMPTS: u32 = 5;

/// Calls `attempt` until it succeeds, fails permanently, has failed five times, or ten seconds have passed.
pub(super) async fn with_retries<T, F>(mut attempt: impl FnMut() -> F) -> Result<T, ReviewError>
where
    F: Future<Output = Result<T, ReviewError>>,
{
    let deadline = Instant::now() + DEADLINE;
    let mut wait = FIRST_WAIT;
    let mut last = ReviewError::temporary(format!("no answer within {} s", DEADLINE.as_secs()));
    for left in (0..ATTEMPTS).rev() {
        match timeout_at(deadline, attempt()).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) if !error.retriable => return Err(error),
            Ok(Err(error)) => last = error,
            Err(_elapsed) => return Err(last),
        }
        if left == 0 || Instant::now() + wait >= deadline {
            break;
        }
        sleep(wait).await;
        wait = wait.mul_f64(GROWTH);
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_temporary_failure_is_tried_five_times() {
        let calls = Cell::new(0);
        let result: Result<(), _> = with_retries(|| {
            calls.set(calls.get() + 1);
            async { Err(ReviewError::temporary("down")) }
        })
        .await;
        assert_eq!(calls.get(), 5);
        assert_eq!(result.unwrap_err().message, "down");
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_is_not_tried_again() {
        let calls = Cell::new(0);
        let result: Result<(), _> = with_retries(|| {
            calls.set(calls.get() + 1);
            async { Err(ReviewError::permanent("forbidden")) }
        })
        .await;
        assert!(result.is_err());
        assert_eq!(calls.get(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_never_answers_ends_after_ten_seconds() {
        let start = Instant::now();
        let result: Result<(), _> = with_retries(std::future::pending).await;
        assert!(result.unwrap_err().message.contains("10 s"));
        assert_eq!(start.elapsed(), Duration::from_secs(10));
    }
}
