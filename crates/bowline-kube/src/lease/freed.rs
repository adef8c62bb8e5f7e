//! Lets a standby notice a released Lease immediately, instead of at its next read.
//!
//! Only an optimization: the periodic reads of client-go's algorithm continue, so if the API server or RBAC refuses the watch, a takeover
//! is slower but still correct.

use std::fmt;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::{WatchEvent, WatchParams};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::LeaseRecord;

/// How long one watch lasts. Short, so that a dead connection delays only a few takeovers.
const WATCH_SECONDS: u32 = 60;

/// How long after its end a watch counts as dead: the API server is the one that ends it.
const OVERTIME: Duration = Duration::from_secs(5);

/// The pause before the next watch after one has ended, so that a server that ends each watch at once is not flooded.
const BETWEEN_WATCHES: Duration = Duration::from_secs(1);

/// The pause after a watch failed: most likely RBAC does not permit it, and a retry changes nothing.
const AFTER_FAILURE: Duration = Duration::from_secs(60);

/// The timeout for opening a watch.
const OPEN_DEADLINE: Duration = Duration::from_secs(5);

type Events = BoxStream<'static, kube::Result<WatchEvent<Lease>>>;

/// A watch of one Lease, opened when first needed and kept open across calls of [`Self::wait`].
pub(super) struct FreedWatch {
    api: Api<Lease>,
    name: String,
    /// In a mutex that is never locked: the stream is not `Sync`, and the elector must be.
    events: Option<Mutex<Events>>,
    /// When the open watch must have ended. After that, its connection is dead.
    ends: Instant,
    not_before: Instant,
}

impl fmt::Debug for FreedWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FreedWatch").field("open", &self.events.is_some()).finish_non_exhaustive()
    }
}

impl FreedWatch {
    pub(super) fn new(api: Api<Lease>, name: String) -> Self {
        Self { api, name, events: None, ends: Instant::now(), not_before: Instant::now() }
    }

    /// Returns when the Lease is observed to be free, or when `pause` has passed. Every observed change is passed to `seen`: a standby that
    /// sees a renewal immediately, and not at its next read, also takes over earlier after the last renewal.
    pub(super) async fn wait(&mut self, pause: Duration, mut seen: impl FnMut(&Lease) + Send) {
        let end = Instant::now() + pause;
        loop {
            self.open(end).await;
            let Some(events) = &mut self.events else { return sleep_until(end).await };
            let events = events.get_mut();
            match timeout_at(end.min(self.ends), events.next()).await {
                Err(_elapsed) if Instant::now() < self.ends => return,
                Err(_elapsed) => self.close(Duration::ZERO),
                Ok(Some(Ok(event))) if is_free(&event) => return,
                Ok(Some(Ok(WatchEvent::Error(error)))) => self.give_up(&error),
                Ok(Some(Ok(WatchEvent::Added(lease) | WatchEvent::Modified(lease)))) => seen(&lease),
                Ok(Some(Ok(_other))) => {}
                Ok(Some(Err(error))) => self.give_up(&error),
                Ok(None) => self.close(BETWEEN_WATCHES),
            }
        }
    }

    async fn open(&mut self, end: Instant) {
        if self.events.is_some() || Instant::now() < self.not_before {
            return;
        }
        let fields = format!("metadata.name={}", self.name);
        let params = WatchParams::default().fields(&fields).timeout(WATCH_SECONDS);
        let now = Instant::now();
        let limit = OPEN_DEADLINE.min(end.saturating_duration_since(now));
        // Version 0: the first event is the Lease from the API server's cache, then every change follows.
        match timeout(limit, self.api.watch(&params, "0")).await {
            Ok(Ok(events)) => {
                self.events = Some(Mutex::new(events.boxed()));
                self.ends = now + Duration::from_secs(WATCH_SECONDS.into()) + OVERTIME;
            }
            Ok(Err(error)) => self.give_up(&error),
            // The timeout was only short because of the pause; try again in the next one.
            Err(_elapsed) if limit < OPEN_DEADLINE => {}
            Err(elapsed) => self.give_up(&elapsed),
        }
    }

    /// Ends the watch; the next one may be opened after `pause`. A new leader also closes it, because it has nothing to wait for.
    pub(super) fn close(&mut self, pause: Duration) {
        self.events = None;
        self.not_before = Instant::now() + pause;
    }

    fn give_up(&mut self, why: &dyn fmt::Display) {
        tracing::debug!(lease = self.name, %why, "cannot watch the lease, looking at it from time to time");
        self.close(AFTER_FAILURE);
    }
}

fn is_free(event: &WatchEvent<Lease>) -> bool {
    match event {
        WatchEvent::Added(lease) | WatchEvent::Modified(lease) => {
            LeaseRecord::from_lease(lease).holder.is_empty()
        }
        WatchEvent::Deleted(_) => true,
        WatchEvent::Bookmark(_) | WatchEvent::Error(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::scripted_api::{Collection, Fault};

    fn lease(holder: &str) -> Value {
        json!({"apiVersion": "coordination.k8s.io/v1", "metadata": {"name": "ccm", "namespace": "kube-system"},
               "spec": {"holderIdentity": holder}})
    }

    fn watch_of(leases: &Collection) -> FreedWatch {
        FreedWatch::new(Api::namespaced(leases.client().0, "kube-system"), "ccm".to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn a_released_lease_ends_the_pause_and_a_renewed_one_does_not() {
        let leases = Collection::new("Lease");
        leases.put(lease("other"));
        let mut freed = watch_of(&leases);
        let began = Instant::now();
        let later = async {
            for holder in ["other", "other", ""] {
                tokio::time::sleep(Duration::from_secs(1)).await;
                leases.put(lease(holder));
            }
        };
        tokio::join!(freed.wait(Duration::from_secs(60), |_lease| {}), later);
        assert_eq!(began.elapsed(), Duration::from_secs(3));
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_watch_is_a_plain_pause_and_is_not_tried_again_soon() {
        let leases = Collection::new("Lease");
        leases.fault_watches(Some(Fault::Status(403, "Forbidden")));
        let (client, log) = leases.client();
        let mut freed = FreedWatch::new(Api::namespaced(client, "kube-system"), "ccm".to_owned());
        let began = Instant::now();
        for _pause in 0..10 {
            freed.wait(Duration::from_secs(3), |_lease| {}).await;
        }
        assert_eq!(began.elapsed(), Duration::from_secs(30));
        assert_eq!(log.watches().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn one_watch_serves_many_pauses() {
        let leases = Collection::new("Lease");
        leases.put(lease("other"));
        let (client, log) = leases.client();
        let mut freed = FreedWatch::new(Api::namespaced(client, "kube-system"), "ccm".to_owned());
        for _pause in 0..15 {
            freed.wait(Duration::from_secs(3), |_lease| {}).await;
        }
        assert_eq!(log.watches().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_ends_every_watch_at_once_is_not_hammered() {
        let leases = Collection::new("Lease");
        leases.fault_watches(Some(Fault::EndAtOnce));
        let (client, log) = leases.client();
        let mut freed = FreedWatch::new(Api::namespaced(client, "kube-system"), "ccm".to_owned());
        freed.wait(Duration::from_secs(10), |_lease| {}).await;
        assert!(log.watches().len() <= 11, "{}", log.watches().len());
    }

    #[tokio::test(start_paused = true)]
    async fn a_dead_watch_is_opened_anew() {
        let leases = Collection::new("Lease");
        leases.fault_watches(Some(Fault::Mute));
        let (client, log) = leases.client();
        let mut freed = FreedWatch::new(Api::namespaced(client, "kube-system"), "ccm".to_owned());
        for _pause in 0..60 {
            freed.wait(Duration::from_secs(3), |_lease| {}).await;
        }
        assert_eq!(log.watches().len(), 3, "one in 65 s");
    }
}
