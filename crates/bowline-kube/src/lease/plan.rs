//! What to do with a Lease: the decisions of the election, as pure functions. Monotonic time is handed in as time
//! since any fixed start; wall time is only written down.
//!
//! A lease has run out when nothing about it changed, as seen from here, for the duration that it states. The times
//! in it are never compared with ours, so clocks that disagree do no harm.

use std::time::Duration;

use jiff::Timestamp;

use super::record::{LeaseRecord, to_microseconds};

/// The pause between two tries of a candidate is up to this much longer than the retry period.
pub(super) const JITTER: f64 = 1.2;

/// Who takes part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Our identity.
    pub identity: String,
    /// The duration that we write down.
    pub lease_duration_seconds: i32,
    /// Whether we lead at the moment.
    pub leading: bool,
}

/// A record and when it was first seen as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// What the Lease said.
    pub record: LeaseRecord,
    /// In which version of it.
    pub version: Option<String>,
    /// When we first saw this version.
    pub at: Duration,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// There is no Lease: create it.
    Create(LeaseRecord),
    /// The Lease is free or has run out: write ourselves in, over exactly the version seen.
    TakeOver(LeaseRecord),
    /// The Lease is ours: write a new renew time, over exactly the version seen.
    Renew(LeaseRecord),
    /// Somebody else holds it.
    Standby {
        /// Who.
        holder: String,
        /// When it runs out if nothing changes.
        until: Duration,
    },
}

impl Observed {
    /// Takes in what a look at the Lease showed. An unchanged Lease keeps the time at which it was first seen.
    ///
    /// client-go compares the record alone. But it takes its renew time once for two tries, so a leader whose first
    /// answer was lost renews with the very same record: only the version moves, and a standby that ignored that would
    /// lead before the other has given up. Any write of the Lease therefore counts as a sign of life.
    #[must_use]
    pub fn look(last: Option<Self>, record: LeaseRecord, version: Option<String>, now: Duration) -> Self {
        match last {
            Some(last) if last.record == record && last.version == version => last,
            _ => Self { record, version, at: now },
        }
    }

    /// When the record runs out by our clock.
    #[must_use]
    pub fn until(&self) -> Duration {
        let seconds = u64::try_from(self.record.lease_duration_seconds).unwrap_or(0);
        self.at.saturating_add(Duration::from_secs(seconds))
    }

    fn held_by(&self, candidate: &Candidate) -> bool {
        self.record.holder == candidate.identity
    }
}

/// The renewal to send without looking first: we hold the Lease by what we last saw, and it has not run out. If
/// something changed since, its resourceVersion makes the server refuse.
#[must_use]
pub fn renewal(observed: &Observed, me: &Candidate, now: Duration, wall: Timestamp) -> Option<LeaseRecord> {
    (observed.held_by(me) && observed.until() > now).then(|| renewed(&observed.record, me, wall))
}

/// The step after a look at the Lease; `None` means that there is none.
#[must_use]
pub fn plan(observed: Option<&Observed>, me: &Candidate, now: Duration, wall: Timestamp) -> Step {
    let Some(observed) = observed else {
        return without_lease(None, me, now, wall);
    };
    let record = &observed.record;
    if observed.held_by(me) {
        return Step::Renew(renewed(record, me, wall));
    }
    // A leader that does not find itself has lost, even if the other is gone by now or has given the Lease back: it
    // must not lead on as if nothing had happened in between.
    if me.leading && record.holder.is_empty() {
        return Step::Standby {
            holder: "somebody who has given it back".to_owned(),
            until: observed.until(),
        };
    }
    if !record.holder.is_empty() && (me.leading || observed.until() > now) {
        return Step::Standby { holder: record.holder.clone(), until: observed.until() };
    }
    Step::TakeOver(acquired(record.transitions.saturating_add(1), me, wall))
}

/// The step when there is no Lease, with what was last seen of one. Its deletion does not end who held it: that one works on
/// until its next renewal, so whoever saw it lead waits as long as if the Lease were still there.
#[must_use]
pub(super) fn without_lease(last: Option<&Observed>, me: &Candidate, now: Duration, wall: Timestamp) -> Step {
    match last {
        Some(last)
            if !me.leading && !last.held_by(me) && !last.record.holder.is_empty() && last.until() > now =>
        {
            Step::Standby { holder: last.record.holder.clone(), until: last.until() }
        }
        _ => Step::Create(acquired(0, me, wall)),
    }
}

/// The record that gives the Lease back: free at once, whoever reads it.
#[must_use]
pub(super) fn released(record: &LeaseRecord, wall: Timestamp) -> LeaseRecord {
    let now = Some(to_microseconds(wall));
    LeaseRecord {
        lease_duration_seconds: 1,
        acquire_time: now,
        renew_time: now,
        transitions: record.transitions,
        ..LeaseRecord::default()
    }
}

fn acquired(transitions: i32, me: &Candidate, wall: Timestamp) -> LeaseRecord {
    let now = Some(to_microseconds(wall));
    LeaseRecord {
        holder: me.identity.clone(),
        lease_duration_seconds: me.lease_duration_seconds,
        acquire_time: now,
        renew_time: now,
        transitions,
        ..LeaseRecord::default()
    }
}

fn renewed(record: &LeaseRecord, me: &Candidate, wall: Timestamp) -> LeaseRecord {
    LeaseRecord {
        lease_duration_seconds: me.lease_duration_seconds,
        renew_time: Some(to_microseconds(wall)),
        ..record.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn me() -> Candidate {
        Candidate { identity: "me".into(), lease_duration_seconds: 15, leading: false }
    }

    fn wall() -> Timestamp {
        "2026-11-02T08:00:00Z".parse().unwrap()
    }

    fn seen(holder: &str, at: u64) -> Observed {
        let record = LeaseRecord {
            holder: holder.into(),
            lease_duration_seconds: 10,
            acquire_time: Some("2020-01-01T00:00:00Z".parse().unwrap()),
            renew_time: Some("2020-01-01T00:00:00Z".parse().unwrap()),
            transitions: 4,
            ..LeaseRecord::default()
        };
        Observed { record, version: Some("1".to_owned()), at: Duration::from_secs(at) }
    }

    fn at(observed: &Observed, seconds: u64) -> Step {
        plan(Some(observed), &me(), Duration::from_secs(seconds), wall())
    }

    #[test]
    fn without_a_lease_one_is_created_with_no_transitions() {
        let Step::Create(record) = plan(None, &me(), Duration::ZERO, wall()) else { panic!() };
        assert_eq!(
            (record.holder.as_str(), record.transitions, record.lease_duration_seconds),
            ("me", 0, 15)
        );
        assert_eq!((record.acquire_time, record.renew_time), (Some(wall()), Some(wall())));
    }

    #[test]
    fn a_deleted_lease_is_made_anew_only_when_the_one_that_was_seen_would_have_run_out() {
        let at = |last: &Observed, now, me: &Candidate| {
            without_lease(Some(last), me, Duration::from_secs(now), wall())
        };
        let expected = Step::Standby { holder: "other".into(), until: Duration::from_secs(110) };
        assert_eq!(at(&seen("other", 100), 109, &me()), expected);
        assert!(matches!(at(&seen("other", 100), 110, &me()), Step::Create(_)));
        assert!(matches!(at(&seen("", 100), 100, &me()), Step::Create(_)), "it was free");
        assert!(matches!(at(&seen("me", 100), 100, &me()), Step::Create(_)), "it was ours");
        let leading = Candidate { leading: true, ..me() };
        assert!(
            matches!(at(&seen("me", 100), 100, &leading), Step::Create(_)),
            "a leader makes its own again"
        );
    }

    #[test]
    fn a_live_lease_is_left_alone_however_old_its_times_are() {
        let expected = Step::Standby { holder: "other".into(), until: Duration::from_secs(110) };
        assert_eq!(at(&seen("other", 100), 100), expected);
        assert_eq!(at(&seen("other", 100), 109), expected);
    }

    #[test]
    fn a_lease_that_ran_out_by_its_own_duration_is_taken_over() {
        let Step::TakeOver(record) = at(&seen("other", 100), 110) else { panic!() };
        assert_eq!((record.holder.as_str(), record.transitions), ("me", 5));
        assert_eq!(record.acquire_time, Some(wall()));
    }

    #[test]
    fn a_lease_without_a_holder_is_free_at_once() {
        assert!(matches!(at(&seen("", 100), 100), Step::TakeOver(record) if record.transitions == 5));
    }

    #[test]
    fn our_own_lease_is_renewed_and_keeps_when_and_how_we_got_it() {
        let Step::Renew(record) = at(&seen("me", 100), 500) else { panic!() };
        assert_eq!((record.transitions, record.lease_duration_seconds), (4, 15));
        assert_eq!(
            (record.acquire_time, record.renew_time),
            (seen("me", 0).record.acquire_time, Some(wall()))
        );
    }

    #[test]
    fn the_fast_path_is_for_a_lease_that_is_ours_and_has_not_run_out() {
        let fast =
            |observed: &Observed, now| renewal(observed, &me(), Duration::from_secs(now), wall()).is_some();
        assert!(fast(&seen("me", 100), 109));
        assert!(!fast(&seen("me", 100), 110));
        assert!(!fast(&seen("other", 100), 100));
    }

    #[test]
    fn a_leader_that_finds_another_holder_does_not_take_the_lease_back() {
        let leading = Candidate { leading: true, ..me() };
        let step = plan(Some(&seen("other", 100)), &leading, Duration::from_secs(1_000), wall());
        assert!(matches!(step, Step::Standby { .. }));
        let step = plan(Some(&seen("", 100)), &leading, Duration::from_secs(1_000), wall());
        assert!(
            matches!(step, Step::Standby { .. }),
            "who has given it back may have worked in between: {step:?}"
        );
    }

    #[test]
    fn only_a_write_of_the_lease_restarts_the_wait() {
        let first = seen("other", 100);
        let look = |record: &LeaseRecord, version: &str| {
            let version = Some(version.to_owned());
            Observed::look(Some(first.clone()), record.clone(), version, Duration::from_secs(105)).at
        };
        let renewed = LeaseRecord { renew_time: Some(wall()), ..first.record.clone() };
        assert_eq!(look(&first.record, "1"), Duration::from_secs(100));
        assert_eq!(look(&renewed, "2"), Duration::from_secs(105));
        assert_eq!(
            look(&first.record, "2"),
            Duration::from_secs(105),
            "a renewal that repeats its renew time"
        );
    }
}
