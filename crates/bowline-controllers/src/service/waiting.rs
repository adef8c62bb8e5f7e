//! The Services that wait for the cloud, and the one poller for all of them: no worker is held by a wait.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bowline_cloud::{AnyLoadBalancers, LoadBalancerRequest, ServiceKey};
use bowline_kube::informer::ObjectKey;
use bowline_kube::queue::{KeyedQueue, Priority};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::warn;

/// The longest pause a cloud may ask for: a broken header must not stop the poller for a day.
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

/// The longest pause between two looks, unless the cloud's own is longer: what took a minute may take some seconds more.
const SLOWEST_LOOKS: Duration = Duration::from_secs(5);

/// The same where nobody waits.
const SLOWEST_BACKGROUND_LOOKS: Duration = Duration::from_secs(15);

/// The pause after a look at something that had been waited for so long then: a part of that, so that nobody waits much longer
/// than has to be, and what takes long costs few looks.
fn pause(waited: Duration, part: u32, shortest: Duration, longest: Duration) -> Duration {
    (waited / part).clamp(shortest, longest.max(shortest))
}

/// What is waited for, how urgently, and since when.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) request: LoadBalancerRequest,
    pub(super) priority: Priority,
    pub(super) since: Instant,
    /// Nobody waits for it, and nothing that matters follows: few looks are soon enough.
    pub(super) has_time: bool,
    /// When it is looked at whatever the poller sees of it: with the next poll, so that all whose time has come share what that saw.
    pub(super) look_at: Instant,
}

impl Waiter {
    /// When the next look is worth its calls, after one at `last`.
    fn due(&self, last: Instant, shortest: Duration) -> Instant {
        let waited = last.saturating_duration_since(self.since);
        let pause = if self.has_time {
            pause(waited, 2, SLOWEST_LOOKS.max(shortest), SLOWEST_BACKGROUND_LOOKS)
        } else {
            pause(waited, 4, shortest, SLOWEST_LOOKS)
        };
        last.max(self.since) + pause
    }
}

/// Who waits.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    waiters: Mutex<BTreeMap<ObjectKey, Waiter>>,
    begun: Notify,
}

impl Waiting {
    pub(super) fn begin(&self, key: &ObjectKey, waiter: Waiter) {
        self.waiters.lock().insert(key.clone(), waiter);
        self.begun.notify_one();
    }

    pub(super) fn end(&self, key: &ObjectKey) {
        self.waiters.lock().remove(key);
    }

    fn all(&self) -> Vec<LoadBalancerRequest> {
        self.waiters.lock().values().map(|waiter| waiter.request.clone()).collect()
    }

    /// Returns when a look is worth its calls for one of those who wait.
    async fn until_due(&self, due: impl Fn(&Waiter) -> Instant) {
        loop {
            let next = self.waiters.lock().values().map(&due).min();
            match next {
                None => self.begun.notified().await,
                Some(next) => tokio::select! {
                    () = sleep_until(next) => return,
                    () = self.begun.notified() => {}
                },
            }
        }
    }

    /// Asks the cloud again and again, once for all who wait, and lets those run that are worth another look: with this pause, or
    /// with pauses that grow from the one that the cloud names. Ends never.
    pub(super) async fn poll(
        &self,
        cloud: &dyn AnyLoadBalancers,
        queue: &KeyedQueue<ObjectKey>,
        period: Option<Duration>,
    ) {
        let mut last = Instant::now();
        loop {
            let shortest = cloud.policy().poll_period();
            self.until_due(|waiter| match period {
                Some(period) => last.max(waiter.since) + period,
                None => waiter.due(last, shortest),
            })
            .await;
            let ready = match cloud.poll(&self.all()).await {
                Ok(ready) => ready,
                Err(error) => {
                    warn!(%error, "could not ask for the load balancers that are being built");
                    sleep(error.asked_to_wait().unwrap_or_default().min(LONGEST_PAUSE)).await;
                    Vec::new()
                }
            };
            last = Instant::now();
            // At once, so that they share their looks: a worker that sees the first of them takes the others along.
            queue.add_all(self.no_longer_waiting(&ready, last));
        }
    }

    /// Those that are ready, and those whose time has come.
    fn no_longer_waiting(&self, ready: &[ServiceKey], now: Instant) -> Vec<(ObjectKey, Priority)> {
        let ready: BTreeSet<_> =
            ready.iter().map(|key| ObjectKey::namespaced(&key.namespace, &key.name)).collect();
        let mut waiters = self.waiters.lock();
        let ends = |(key, waiter): &(&ObjectKey, &Waiter)| ready.contains(*key) || waiter.look_at <= now;
        let ended: Vec<_> =
            waiters.iter().filter(ends).map(|(key, waiter)| (key.clone(), waiter.priority)).collect();
        for (key, _priority) in &ended {
            waiters.remove(key);
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use bowline_cloud::{NodeSet, Purpose, ServiceView};

    use super::*;

    const TWO: Duration = Duration::from_secs(2);

    fn since(since: Instant) -> Waiter {
        let request = LoadBalancerRequest {
            cluster: "kubernetes".into(),
            service: ServiceView::default().into(),
            nodes: NodeSet::default(),
            purpose: Purpose::Ensure,
            fingerprints: Vec::new(),
            urgency: bowline_cloud::Urgency::User,
            services: bowline_cloud::ServiceDirectory::default(),
        };
        Waiter { request, priority: Priority::User, since, has_time: false, look_at: since + LONGEST_PAUSE }
    }

    /// When there are looks at what begins at these seconds, until the end.
    async fn looks(begins: &[u64], end: u64) -> Vec<u64> {
        let begins: Vec<_> = begins.iter().map(|begins| (*begins, false)).collect();
        looks_at(&begins, end).await
    }

    /// The same, for those that may have time.
    async fn looks_at(begins: &[(u64, bool)], end: u64) -> Vec<u64> {
        let (waiting, start) = (Waiting::default(), Instant::now());
        let begin = async {
            for (n, (begins, has_time)) in begins.iter().enumerate() {
                sleep_until(start + Duration::from_secs(*begins)).await;
                let key = ObjectKey::namespaced("shop", &format!("web-{n}"));
                waiting.begin(&key, Waiter { has_time: *has_time, ..since(Instant::now()) });
            }
            sleep_until(start + Duration::from_secs(end)).await;
        };
        let (mut last, mut looks) = (start, Vec::new());
        let look = async {
            loop {
                waiting.until_due(|waiter| waiter.due(last, TWO)).await;
                last = Instant::now();
                looks.push((last - start).as_secs());
            }
        };
        tokio::select! { () = begin => {}, () = look => {} }
        looks
    }

    #[tokio::test(start_paused = true)]
    async fn what_takes_long_is_looked_at_less_often_and_what_is_new_as_often_as_ever() {
        assert_eq!(looks(&[0], 61).await, [2, 4, 6, 8, 10, 12, 15, 19, 24, 29, 34, 39, 44, 49, 54, 59]);
        assert_eq!(looks(&[0, 50], 61).await[12..], [44, 49, 52, 54, 56, 58, 60]);
        assert!(looks(&[], 60).await.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_waits_for_is_looked_at_seldom_unless_somebody_else_is_waited_for() {
        assert_eq!(looks_at(&[(0, true)], 70).await, [5, 10, 15, 22, 33, 48, 63]);
        assert_eq!(looks_at(&[(0, true), (6, false)], 13).await, [5, 8, 10, 12]);
    }

    #[tokio::test(start_paused = true)]
    async fn newcomers_without_end_put_no_look_off() {
        let each_second: Vec<u64> = (0..60).collect();
        assert_eq!(looks(&each_second, 61).await.len(), 30);
    }
}
