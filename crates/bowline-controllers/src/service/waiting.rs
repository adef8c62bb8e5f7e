//! The Services that wait for the cloud, and the one poller for all of them: no worker is held by a wait.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use bowline_cloud::{AnyLoadBalancers, LoadBalancerRequest};
use bowline_kube::informer::ObjectKey;
use bowline_kube::queue::{KeyedQueue, Priority};
use tokio::sync::Notify;
use tokio::time::sleep;
use tracing::warn;

use super::memory::lock;

/// The longest pause a cloud may ask for: a broken header must not stop the poller for a day.
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

/// Who waits, for what, and how urgently.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    requests: Mutex<BTreeMap<ObjectKey, (LoadBalancerRequest, Priority)>>,
    begun: Notify,
}

impl Waiting {
    pub(super) fn begin(&self, key: &ObjectKey, request: LoadBalancerRequest, priority: Priority) {
        lock(&self.requests).insert(key.clone(), (request, priority));
        self.begun.notify_one();
    }

    pub(super) fn end(&self, key: &ObjectKey) {
        lock(&self.requests).remove(key);
    }

    fn all(&self) -> Vec<LoadBalancerRequest> {
        lock(&self.requests).values().map(|(request, _)| request.clone()).collect()
    }

    /// Asks the cloud again and again, once for all who wait, and lets those run that are worth another look. Ends never.
    pub(super) async fn poll(
        &self,
        cloud: &dyn AnyLoadBalancers,
        queue: &KeyedQueue<ObjectKey>,
        period: Option<Duration>,
    ) {
        loop {
            sleep(period.unwrap_or_else(|| cloud.poll_period())).await;
            let waiting = self.all();
            if waiting.is_empty() {
                self.begun.notified().await;
                continue;
            }
            match cloud.poll(&waiting).await {
                Ok(ready) => {
                    for key in ready {
                        self.wake(&ObjectKey::namespaced(&key.namespace, &key.name), queue);
                    }
                }
                // Each of them is looked at anyway when its own time is over.
                Err(error) => {
                    warn!(%error, "could not ask for the load balancers that are being built");
                    sleep(error.asked_to_wait().unwrap_or_default().min(LONGEST_PAUSE)).await;
                }
            }
        }
    }

    fn wake(&self, key: &ObjectKey, queue: &KeyedQueue<ObjectKey>) {
        if let Some((_, priority)) = lock(&self.requests).remove(key) {
            queue.add(key.clone(), priority);
        }
    }
}
