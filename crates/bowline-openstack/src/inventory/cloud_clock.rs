//! What time it is in the cloud at least: told by the times that Nova writes to its servers, carried on by how much time went by here. What
//! our own clock says is not asked, for it may be wrong by hours; only that it runs as fast as others.
//!
//! A server that was seen had been written to before that, so its time is never later than the cloud's was. Of a cloud in which nothing has
//! happened for weeks it is weeks too early at first. That is on the safe side: who asks for all changes since then is told more than
//! is new, and nothing is missed.

use parking_lot::Mutex;

use jiff::{SignedDuration, Timestamp};
use openstack_client::compute::Server;
use tokio::time::Instant;

/// How much earlier than a list changes are asked for from. Nova is many processes on many machines, each of which writes its own time. It takes
/// those for dead whose clock is a minute off (`service_down_time`), so that clocks agree to within one; what was written and not yet
/// committed when the list was made is of the last seconds.
const OVERLAP: SignedDuration = SignedDuration::from_secs(60);

/// The latest time that was seen, and when.
#[derive(Debug, Default)]
pub(super) struct CloudClock(Mutex<Option<(Instant, Timestamp)>>);

impl CloudClock {
    /// Takes note of the times of servers that were there at `at`.
    pub(super) fn saw<'a>(&self, at: Instant, servers: impl IntoIterator<Item = &'a Server>) {
        let written = |server: &Server| server.updated.as_deref()?.parse::<Timestamp>().ok();
        let Some(newest) = servers.into_iter().filter_map(written).max() else { return };
        let mut latest = self.0.lock();
        if latest.and_then(|latest| carried(latest, at)).is_none_or(|known| known < newest) {
            *latest = Some((at, newest));
        }
    }

    /// From when on changes are asked for, to have all of those that a list which began at `begun` may not show.
    pub(super) fn changes_from(&self, begun: Instant) -> Option<Timestamp> {
        let latest = (*self.0.lock())?;
        carried(latest, begun)?.checked_sub(OVERLAP).ok()
    }
}

/// What time it was at `moment` at least.
fn carried((seen, time): (Instant, Timestamp), moment: Instant) -> Option<Timestamp> {
    let between = |early: Instant, late: Instant| SignedDuration::try_from(late.duration_since(early)).ok();
    if moment >= seen {
        time.checked_add(between(seen, moment)?).ok()
    } else {
        time.checked_sub(between(moment, seen)?).ok()
    }
}

/// A time as Nova reads it.
pub(super) fn as_nova_writes(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn server(updated: &str) -> Server {
        let object = json!({"id": "7b9cf879-7146-417c-abfd-cb4272f0c935", "updated": updated});
        serde_json::from_value(object).expect("a server")
    }

    fn from(clock: &CloudClock, begun: Instant) -> Option<String> {
        clock.changes_from(begun).map(as_nova_writes)
    }

    #[test]
    fn the_newest_time_that_was_seen_goes_on_and_older_ones_never_set_it_back() {
        let (clock, begun) = (CloudClock::default(), Instant::now());
        let after = |seconds| begun + Duration::from_secs(seconds);
        assert_eq!(from(&clock, begun), None, "nothing was seen yet");
        clock.saw(begun, &[server("yesterday"), server("")]);
        assert_eq!(from(&clock, begun), None);
        clock.saw(after(10), &[server("2026-11-01T08:00:00Z"), server("2026-11-01T07:00:00Z")]);
        assert_eq!(from(&clock, after(10)).as_deref(), Some("2026-11-01T07:59:00Z"));
        assert_eq!(from(&clock, begun).as_deref(), Some("2026-11-01T07:58:50Z"), "a list that began before");
        assert_eq!(from(&clock, after(310)).as_deref(), Some("2026-11-01T08:04:00Z"));
        // Later than what is known to be early by now.
        clock.saw(after(610), &[server("2026-11-01T08:05:00Z")]);
        assert_eq!(from(&clock, after(610)).as_deref(), Some("2026-11-01T08:09:00Z"));
        // Something has just happened: now it is known better, and of what was before as well.
        clock.saw(after(620), &[server("2026-11-15T12:00:00Z")]);
        assert_eq!(from(&clock, after(610)).as_deref(), Some("2026-11-15T11:58:50Z"));
    }
}
