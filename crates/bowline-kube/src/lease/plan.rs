//! The decisions of the leader election, as pure functions. Callers pass monotonic time as the time since any fixed start; wall time is
//! only written to the Lease.
//!
//! A lease has expired when this process observed no change of it for the duration that it states. The times in the Lease are never
//! compared with the local clock, so clock skew is harmless.

use std::time::Duration;

use jiff::Timestamp;

use super::record::{LeaseRecord, to_microseconds};

/// The pause between two attempts of a candidate is the retry period, plus up to this factor of it.
pub(super) const JITTER: f64 = 1.2;

/// A candidate in the election.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The identity that is written to the Lease.
    pub identity: String,
    /// The lease duration that is written to the Lease.
    pub lease_duration_seconds: i32,
    /// Whether this process leads at the moment.
    pub leading: bool,
}

/// A record, and when its current version was first observed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// The record.
    pub record: LeaseRecord,
    /// The resource version of the Lease.
    pub version: Option<String>,
    /// When this version was first observed.
    pub at: Duration,
}

/// The next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// There is no Lease: create it.
    Create(LeaseRecord),
    /// The Lease is free or expired: write our identity, guarded by the observed resource version.
    TakeOver(LeaseRecord),
    /// This process holds the Lease: write a new renew time, guarded by the observed resource version.
    Renew(LeaseRecord),
    /// Another process holds it.
    Standby {
        /// The identity of the holder.
        holder: String,
        /// When it expires if nothing changes.
        until: Duration,
    },
}

impl Observed {
    /// Records an observation of the Lease. An unchanged Lease keeps the time at which it was first observed.
    ///
    /// client-go compares only the record. But it computes its renew time once for two attempts, so a leader whose first response was lost
    /// renews with an identical record: only the resource version changes. A standby that ignored this would become leader before the other
    /// one has given up. Therefore any write of the Lease counts as a sign of life.
    #[must_use]
    pub fn look(last: Option<Self>, record: LeaseRecord, version: Option<String>, now: Duration) -> Self {
        match last {
            Some(last) if last.record == record && last.version == version => last,
            _ => Self { record, version, at: now },
        }
    }

    /// When the record expires by the local monotonic clock.
    #[must_use]
    pub fn until(&self) -> Duration {
        let seconds = u64::try_from(self.record.lease_duration_seconds).unwrap_or(0);
        self.at.saturating_add(Duration::from_secs(seconds))
    }

    fn held_by(&self, candidate: &Candidate) -> bool {
        self.record.holder == candidate.identity
    }
}

/// The renewal to send without a read: as last observed, this process holds the Lease and it has not expired. If the Lease changed since,
/// the API server refuses the write because of its resourceVersion.
#[must_use]
pub fn renewal(observed: &Observed, me: &Candidate, now: Duration, wall: Timestamp) -> Option<LeaseRecord> {
    (observed.held_by(me) && observed.until() > now).then(|| renewed(&observed.record, me, wall))
}

/// The step after a read of the Lease; `observed` is `None` if it does not exist.
#[must_use]
pub fn plan(observed: Option<&Observed>, me: &Candidate, now: Duration, wall: Timestamp) -> Step {
    let Some(observed) = observed else {
        return without_lease(None, me, now, wall);
    };
    let record = &observed.record;
    if observed.held_by(me) {
        return Step::Renew(renewed(record, me, wall));
    }
    // A leader that is not the holder any more has lost the election, even if the other process is gone or has released the Lease: it must
    // not continue to lead as if no other leader had worked in between.
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

/// The step if there is no Lease; `last` is the last observed record of a deleted Lease. Its holder works on until its next renewal, so a
/// candidate that observed that holder waits as long as if the Lease still existed.
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

/// The record that releases the Lease: free at once for every reader.
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
