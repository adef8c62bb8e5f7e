//! How a process becomes the leader, and for how long it acts: as client-go does it, by its own watching of the record.

/// 15 / 10 / 2 seconds.
pub(super) const DURATION: u64 = 15;
const RENEW_DEADLINE: u64 = 10;
const RETRY: u64 = 2;

/// The record of a Lease.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) holder: Option<String>,
    pub(super) renewals: u64,
}

/// One process.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) identity: String,
    pub(super) releases: bool,
    seen: Option<(Record, u64)>,
    renewed_at: Option<u64>,
    next_try: u64,
}

impl Candidate {
    pub(super) fn new(identity: String, releases: bool, now: u64) -> Self {
        Self { identity, releases, seen: None, renewed_at: None, next_try: now }
    }

    /// Whether it may act now: it gives up when it could not renew in time.
    pub(super) fn leads(&self, now: u64) -> bool {
        self.renewed_at.is_some_and(|at| now < at + RENEW_DEADLINE)
    }

    /// One look at the Lease, if it is time and the API server can be reached.
    pub(super) fn step(&mut self, lease: &mut Record, now: u64, reaches: bool) {
        if self.renewed_at.is_some() && !self.leads(now) {
            self.renewed_at = None;
        }
        if !reaches || now < self.next_try {
            return;
        }
        self.next_try = now + RETRY;
        if self.seen.as_ref().is_none_or(|(record, _)| record != lease) {
            self.seen = Some((lease.clone(), now));
        }
        let is_mine = lease.holder.as_deref() == Some(self.identity.as_str());
        let since = self.seen.as_ref().map_or(now, |(_, at)| *at);
        let is_free = lease.holder.is_none() || now > since + DURATION;
        if (is_mine && self.renewed_at.is_some()) || (!is_mine && is_free) {
            *lease = Record { holder: Some(self.identity.clone()), renewals: lease.renewals + 1 };
            self.seen = Some((lease.clone(), now));
            self.renewed_at = Some(now);
        }
    }

    /// The process ends in an orderly way.
    pub(super) fn end(&mut self, lease: &mut Record) {
        let is_mine = lease.holder.as_deref() == Some(self.identity.as_str());
        if self.releases && is_mine && self.renewed_at.is_some() {
            *lease = Record { holder: None, renewals: lease.renewals + 1 };
        }
        self.renewed_at = None;
    }
}
