//! Load balancers that may be in the making, or may be there twice, because an answer was lost.

use std::time::Duration;

use openstack_client::LoadBalancerId;
use tokio::time::Instant;

use super::{Inner, Memory};

/// How long Octavia may take to show a load balancer that it was asked for without an answer to us. A real one, busy with twenty
/// at once, took longer than a call may take, and went on when nobody listened any more. To ask again before would make two.
pub(super) const IN_DOUBT: Duration = Duration::from_secs(180);

/// How long it may take where somebody before Octavia has answered that nobody serves: he had no connection to it, or it broke. Whoever
/// may have got the request is not at work on it any more, so what came of it is there, and only has to be shown: by a replica of the
/// database that lags, or a list that is some seconds old. Should it come later all the same it is found as a twin.
const UNSERVED: Duration = Duration::from_secs(30);

/// How long Octavia may not show a load balancer that it has made for us: a replica of its database may lag, or a proxy answer for it.
/// Whoever deletes one behind our back so early waits so long for the next one.
const UNSHOWN: Duration = Duration::from_secs(30);

/// How long Octavia may not show a load balancer that a process before this one has ordered, if it has. Twice as long as
/// an answer may be old in the simulation; what is shown later all the same is found as a twin.
const ORDERED_BEFORE: Duration = Duration::from_secs(10);

/// Since when this process is the one that orders load balancers for a Service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::loadbalancer) enum Since {
    /// From the first order on.
    Ever,
    /// Somebody before it may have ordered one.
    Now,
}

/// Why nobody knows whether a load balancer is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::loadbalancer) enum Doubtful {
    /// Nobody answered, or with something that says nothing: Octavia may be at it.
    Unanswered,
    /// Somebody before Octavia answered that nobody serves.
    Unserved,
}

impl Memory {
    /// The answer to a request for a load balancer of this name was lost: Octavia may still be at it.
    pub(in crate::loadbalancer) fn may_be_made(&self, name: String, doubt: Doubtful, now: Instant) {
        let lasts = match doubt {
            Doubtful::Unanswered => IN_DOUBT,
            Doubtful::Unserved => UNSERVED,
        };
        let mut inner = self.lock();
        inner.in_doubt.retain(|_name, (since, lasts)| now.duration_since(*since) < *lasts);
        inner.in_doubt.insert(name, (now, lasts));
    }

    /// Since when, and for how long from now, nobody can say whether there is one of this name, although Octavia shows none.
    pub(in crate::loadbalancer) fn in_doubt(&self, name: &str, now: Instant) -> Option<(Duration, Duration)> {
        let (since, lasts) = *self.lock().in_doubt.get(name)?;
        let age = now.duration_since(since);
        lasts.checked_sub(age).filter(|left| !left.is_zero()).map(|left| (age, left))
    }

    /// The load balancer of this name that Octavia has made for us a moment ago, and for how long from now it may be there although it
    /// is not shown. None if we have deleted it.
    pub(in crate::loadbalancer) fn may_be_unshown(
        &self,
        name: &str,
        now: Instant,
    ) -> Option<(LoadBalancerId, Duration)> {
        let inner = self.lock();
        let (id, at) = inner.made.get(name).filter(|(id, _at)| !inner.parting.has_deleted(id))?;
        let left = UNSHOWN.checked_sub(now.duration_since(*at)).filter(|left| !left.is_zero())?;
        Some((id.clone(), left))
    }

    /// A look found that Octavia shows none of this name.
    pub(in crate::loadbalancer) fn misses(&self, name: &str, since: Since, now: Instant) {
        let mut inner = self.lock();
        match inner.missed.get_mut(name) {
            Some(Some(missed)) => missed.1 = now,
            Some(None) => {}
            None => {
                inner.missed.insert(name.to_owned(), (since == Since::Now).then_some((now, now)));
            }
        }
    }

    /// For how long from now there may be one of this name that a process before this one has ordered: until a look so long after the
    /// first one finds none either.
    pub(in crate::loadbalancer) fn may_be_ordered(&self, name: &str, now: Instant) -> Option<Duration> {
        let (first, last) = self.lock().missed.get(name).copied().flatten()?;
        let is_proven = last.duration_since(first) >= ORDERED_BEFORE;
        (!is_proven).then(|| (first + ORDERED_BEFORE).saturating_duration_since(now))
    }

    /// One of this name was found. If we asked for one in vain, it is that one, most likely; a predecessor may have asked as well.
    pub(in crate::loadbalancer) fn came(&self, name: &str) {
        let mut inner = self.lock();
        if inner.in_doubt.remove(name).is_some() {
            inner.perhaps_twice.insert(name.to_owned());
        }
    }

    /// None of this name is to be seen, but its creation was begun before.
    pub(in crate::loadbalancer) fn may_be_twice(&self, name: String) {
        self.lock().perhaps_twice.insert(name);
    }

    /// Whether there may be two of this name.
    pub(in crate::loadbalancer) fn is_perhaps_twice(&self, name: &str) -> bool {
        self.lock().perhaps_twice.contains(name)
    }

    /// There are not two of this name.
    pub(in crate::loadbalancer) fn is_once(&self, name: &str) {
        self.lock().perhaps_twice.remove(name);
    }
}

impl Inner {
    /// Octavia has made one of this name for us.
    pub(super) fn note_made(&mut self, name: &str, id: &LoadBalancerId, now: Instant) {
        self.made.retain(|_name, (_id, at)| now.duration_since(*at) < UNSHOWN);
        self.made.insert(name.to_owned(), (id.clone(), now));
    }
}
