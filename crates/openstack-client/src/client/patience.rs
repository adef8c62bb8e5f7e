//! Retries of a patient client: whether a call that was refused temporarily is retried, and after which pause. Pure, except for the failure
//! count, which all clones share.
//!
//! A mutation is retried only if the service certainly did not execute it, such as a 429 with `Retry-After`. After a 502 or 503 a mutation
//! may have been executed, so only reads are retried. Reads are not retried while the service fails continuously: in an outage each call is
//! made once, and the caller's backoff applies.

use std::{collections::BTreeMap, time::Duration};

use parking_lot::Mutex;

use crate::{Error, Outcome, Service};

/// The number of retries of a call. If a fifth of all calls is refused, one call in 125 still fails.
const REPEATS: u32 = 2;

/// A call with a longer `Retry-After` is not retried here: the state that the caller observed may be outdated by then.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The pause before the first retry of a read without `Retry-After`; doubled for the second.
const PAUSE: Duration = Duration::from_millis(500);

/// This many 502 or 503 answers in a row, without `Retry-After`, count as an outage.
const OUTAGE: u32 = 4;

/// The number of consecutive failures by service.
#[derive(Debug, Default)]
pub(super) struct Failures(Mutex<BTreeMap<Service, u32>>);

impl Failures {
    /// Records the result of a call; returns how many calls of `service` in a row have failed now.
    pub(super) fn note<T>(&self, service: Service, ended: &Result<T, Error>) -> u32 {
        let mut failures = self.0.lock();
        let count = failures.entry(service).or_default();
        *count = if ended.as_ref().is_err_and(is_unavailable) { count.saturating_add(1) } else { 0 };
        *count
    }
}

/// Whether a proxy or load balancer in front of the service answered that it has no backend for the call.
fn is_unavailable(error: &Error) -> bool {
    matches!(error.status(), Some(502 | 503)) && error.retry_after().is_none()
}

/// The pause before a failed call is retried; `None` if it is not retried. `repeats` is the number of retries so far, `failures` the number
/// of consecutive failures of the service.
pub(super) fn pause(mutates: bool, error: &Error, repeats: u32, failures: u32) -> Option<Duration> {
    if repeats >= REPEATS || (mutates && error.outcome() != Outcome::Refused) {
        return None;
    }
    match error.retry_after() {
        Some(asked) => (is_throttling(error) && asked <= LONGEST_PAUSE).then_some(asked),
        None => (!mutates && is_unavailable(error) && failures < OUTAGE).then(|| PAUSE * (repeats + 1)),
    }
}

fn is_throttling(error: &Error) -> bool {
    matches!(error.status(), Some(413 | 429 | 503))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorClass;

    fn error(status: u16, outcome: Outcome, asked: Option<u64>) -> Error {
        let class = if asked.is_some() { ErrorClass::Throttled } else { ErrorClass::Transient };
        let error = Error::new(class, outcome, "no").with_status(status);
        error.with_retry_after(asked.map(Duration::from_secs))
    }

    #[test]
    fn a_change_is_repeated_only_if_it_was_refused_and_the_pause_is_short() {
        let refused = |asked| error(429, Outcome::Refused, asked);
        assert_eq!(pause(true, &refused(Some(1)), 0, 0), Some(Duration::from_secs(1)));
        assert_eq!(pause(true, &refused(Some(6)), 0, 0), None, "the caller waits, and looks again");
        assert_eq!(pause(true, &refused(None), 0, 0), None, "nobody said for how long");
        assert_eq!(pause(true, &refused(Some(1)), REPEATS, 0), None);
        for (status, asked) in [(503, None), (503, Some(1)), (502, None), (504, None), (500, None)] {
            let unknown = error(status, Outcome::Unknown, asked);
            assert_eq!(pause(true, &unknown, 0, 0), None, "{status}: it may have been made");
        }
    }

    #[test]
    fn a_read_is_repeated_also_when_nobody_serves_but_not_in_an_outage() {
        let unavailable = error(503, Outcome::Unknown, None);
        assert_eq!(pause(false, &unavailable, 0, 1), Some(PAUSE));
        assert_eq!(pause(false, &unavailable, 1, 2), Some(PAUSE * 2));
        assert_eq!(pause(false, &unavailable, 2, 3), None);
        assert_eq!(pause(false, &unavailable, 0, OUTAGE), None);
        assert_eq!(pause(false, &error(503, Outcome::Unknown, Some(2)), 0, 0), Some(Duration::from_secs(2)));
        for status in [400, 404, 409, 500, 504] {
            assert_eq!(pause(false, &error(status, Outcome::Unknown, None), 0, 0), None, "{status}");
        }
        let silence = Error::new(ErrorClass::Transient, Outcome::Unknown, "no answer");
        assert_eq!(pause(false, &silence, 0, 0), None, "it took its time already");
    }

    #[test]
    fn failures_are_counted_for_each_service_until_it_answers() {
        let (failures, down) = (Failures::default(), Err::<(), _>(error(502, Outcome::Unknown, None)));
        assert_eq!(failures.note(Service::Network, &down), 1);
        assert_eq!(failures.note(Service::Network, &down), 2);
        assert_eq!(failures.note(Service::LoadBalancer, &down), 1);
        // A refusal also proves that the service is running.
        assert_eq!(failures.note(Service::Network, &Err::<(), _>(error(404, Outcome::Refused, None))), 0);
        assert_eq!(failures.note(Service::Network, &down), 1);
    }
}
