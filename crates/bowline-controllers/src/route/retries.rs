//! When a change that failed may be tried again: each destination backs off for itself, so that one Node whose route
//! cannot be made neither waits for the others nor is hammered with them. Pure: the time is handed in.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bowline_cloud::{Planned, RouteChange};
use bowline_kube::queue::Backoff;
use ipnet::IpNet;
use tokio::time::Instant;

/// The failures that wait for another try.
#[derive(Debug)]
pub struct Retries {
    backoff: Backoff,
    failed: BTreeMap<IpNet, Failure>,
}

#[derive(Debug)]
struct Failure {
    /// What was to be made: a changed Node is tried at once.
    wish: Vec<RouteChange>,
    in_a_row: u32,
    not_before: Instant,
}

impl Retries {
    /// Nothing has failed yet.
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

    /// Notes a failure; `asked` is how long the cloud asked to wait.
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

    /// Notes a success.
    pub fn succeeded(&mut self, destination: &IpNet) {
        self.failed.remove(destination);
    }

    /// Forgets what is no longer to be changed.
    pub fn keep_only(&mut self, planned: &BTreeSet<IpNet>) {
        self.failed.retain(|destination, _| planned.contains(destination));
    }

    /// How long until the next try is due; `None` if none is.
    #[must_use]
    pub fn next_after(&self, now: Instant) -> Option<Duration> {
        self.failed.values().map(|failure| failure.not_before.saturating_duration_since(now)).min()
    }
}

/// The routes to be made. Deletions are not part of it: a replacement that got half way is still the same wish.
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
