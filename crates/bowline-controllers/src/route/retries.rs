//! Back-off of failed changes, per destination: a Node whose route cannot be created neither delays the others nor is retried whenever they
//! change. Pure: the caller passes the time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bowline_cloud::{Planned, RouteChange};
use bowline_kube::queue::Backoff;
use ipnet::IpNet;
use tokio::time::Instant;

/// The failed changes that wait for a retry.
#[derive(Debug)]
pub struct Retries {
    backoff: Backoff,
    failed: BTreeMap<IpNet, Failure>,
}

#[derive(Debug)]
struct Failure {
    /// The routes to create. If they change, the destination is retried at once.
    wish: Vec<RouteChange>,
    in_a_row: u32,
    not_before: Instant,
}

impl Retries {
    /// No failures.
    #[must_use]
    pub fn new(backoff: Backoff) -> Self {
        Self { backoff, failed: BTreeMap::new() }
    }

    /// Whether these changes of a destination may be tried now.
    #[must_use]
    pub fn allow(&self, destination: &IpNet, changes: &[Planned<RouteChange>], now: Instant) -> bool {
        let waiting = self.failed.get(destination).filter(|failure| failure.wish == wish(changes));
        waiting.is_none_or(|failure| failure.not_before <= now)
    }

    /// Records a failure; `asked` is the `Retry-After` of the cloud, if it sent one.
    pub fn failed(
        &mut self,
        destination: IpNet,
        changes: &[Planned<RouteChange>],
        asked: Option<Duration>,
        now: Instant,
    ) {
        let wish = wish(changes);
        let before = self.failed.get(&destination).filter(|failure| failure.wish == wish);
        let in_a_row = before.map_or(0, |failure| failure.in_a_row).saturating_add(1);
        let wait = asked.unwrap_or_else(|| self.backoff.delay(in_a_row));
        self.failed.insert(destination, Failure { wish, in_a_row, not_before: now + wait });
    }

    /// Records a success.
    pub fn succeeded(&mut self, destination: &IpNet) {
        self.failed.remove(destination);
    }

    /// Drops destinations that have no planned changes any more.
    pub fn keep_only(&mut self, planned: &BTreeSet<IpNet>) {
        self.failed.retain(|destination, _| planned.contains(destination));
    }

    /// How long until the next retry is due; `None` if there is none.
    #[must_use]
    pub fn next_after(&self, now: Instant) -> Option<Duration> {
        self.failed.values().map(|failure| failure.not_before.saturating_duration_since(now)).min()
    }
}

/// The routes to create. Deletions are not part of it: a replacement whose deletion already succeeded still has the same key.
fn wish(changes: &[Planned<RouteChange>]) -> Vec<RouteChange> {
    let made = |change: &&RouteChange| matches!(change, RouteChange::Create { .. });
    changes.iter().map(|planned| &planned.step).filter(made).cloned().collect()
}

#[cfg(test)]
mod tests {
    use bowline_cloud::Route;

    use super::*;

    fn create(uid: &str) -> Vec<Planned<RouteChange>> {
        let route = Route::new("", Some("n".into()), net());
        vec![Planned::new(RouteChange::Create { hint: uid.into(), route }, "")]
    }

    fn net() -> IpNet {
        "10.0.0.0/24".parse().unwrap()
    }

    #[test]
    fn waits_grow_with_failures_in_a_row_and_end_with_a_success() {
        let second = Duration::from_secs(1);
        let (mut retries, now) = (Retries::new(Backoff::new(second, 4 * second)), Instant::now());
        let waits: Vec<_> = (0..4)
            .map(|_| {
                retries.failed(net(), &create("u"), None, now);
                retries.next_after(now).unwrap().as_secs()
            })
            .collect();
        assert_eq!(waits, [1, 2, 4, 4]);
        assert!(!retries.allow(&net(), &create("u"), now + 3 * second));
        assert!(retries.allow(&net(), &create("u"), now + 4 * second));
        assert!(retries.allow(&net(), &create("another"), now), "another wish does not wait for the old one");
        retries.succeeded(&net());
        assert_eq!(retries.next_after(now), None);
    }

    #[test]
    fn the_cloud_may_ask_for_more_and_what_is_no_longer_planned_is_forgotten() {
        let now = Instant::now();
        let mut retries = Retries::new(Backoff::new(Duration::from_secs(1), Duration::from_secs(9)));
        retries.failed(net(), &create("u"), Some(Duration::from_secs(90)), now);
        assert_eq!(retries.next_after(now), Some(Duration::from_secs(90)));
        retries.keep_only(&BTreeSet::new());
        assert!(retries.allow(&net(), &create("u"), now));
    }
}
