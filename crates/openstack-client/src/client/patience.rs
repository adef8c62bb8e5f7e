//! What a patient client does about a refusal that is for the moment only: whether the call is made again, and when. Pure, but for the
//! count of failures, which all handles share.
//!
//! A change is repeated only if the service says that it did not make it: 429 with a pause. Of a 502 or a 503 nobody knows, so after
//! those only reads are repeated; and not when the service fails all the time: in an outage each call is made once, and the caller's
//! back-off holds.

use std::{collections::BTreeMap, time::Duration};

use parking_lot::Mutex;

use crate::{Error, Outcome, Service};

/// So often a call is made again. At a fifth of all calls refused, one in 125 still fails then.
const REPEATS: u32 = 2;

/// A longer pause is the caller's to wait for: what it knew when it called may not hold by then.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How long a read waits that nobody said a pause for; the second time twice as long.
const PAUSE: Duration = Duration::from_millis(500);

/// So many answers in a row that nobody serves are an outage.
const OUTAGE: u32 = 4;

/// How often services failed in a row.
#[derive(Debug, Default)]
pub(super) struct Failures(Mutex<BTreeMap<Service, u32>>);

impl Failures {
    /// Takes down how a call of `service` ended; how often in a row it has failed now.
    pub(super) fn note<T>(&self, service: Service, ended: &Result<T, Error>) -> u32 {
        let mut failures = self.0.lock();
        let count = failures.entry(service).or_default();
        *count = if ended.as_ref().is_err_and(is_unavailable) { count.saturating_add(1) } else { 0 };
        *count
    }
}

/// Whether it is an answer of who stands before the service, and has nobody to give the call to.
fn is_unavailable(error: &Error) -> bool {
    matches!(error.status(), Some(502 | 503)) && error.retry_after().is_none()
}

/// How long to wait before a call that failed is made again; `None` if it is not. It was made again so often before, and the service
/// has failed so often in a row.
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
        // Also one that refuses is there.
        assert_eq!(failures.note(Service::Network, &Err::<(), _>(error(404, Outcome::Refused, None))), 0);
        assert_eq!(failures.note(Service::Network, &down), 1);
    }
}
