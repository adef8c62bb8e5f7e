//! The Services that a closed fence held, and who lets them go on: after a cluster-wide pause (SR-15), and when the cloud
//! knows us again. No worker is held by it.

use std::collections::BTreeMap;
use std::time::Duration;

use bowline_cloud::Fence;
use bowline_kube::informer::ObjectKey;
use bowline_kube::queue::{KeyedQueue, Priority};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::sleep;

/// How often the end is looked for. One question for all, and no call.
const LOOK: Duration = Duration::from_secs(1);

/// Who waits, and how urgently.
#[derive(Debug, Default)]
pub(super) struct HeldKeys {
    keys: Mutex<BTreeMap<ObjectKey, Priority>>,
    begun: Notify,
}

impl HeldKeys {
    pub(super) fn begin(&self, key: &ObjectKey, priority: Priority) {
        let mut keys = self.keys.lock();
        let held = keys.entry(key.clone()).or_insert(priority);
        *held = priority.max(*held);
        self.begun.notify_one();
    }

    /// Lets them run when the fence is open. Ends never.
    pub(super) async fn resume_after(&self, fence: &dyn Fence, queue: &KeyedQueue<ObjectKey>) {
        loop {
            if self.keys.lock().is_empty() {
                self.begun.notified().await;
            }
            sleep(LOOK).await;
            if fence.check().is_ok() {
                for (key, priority) in std::mem::take(&mut *self.keys.lock()) {
                    queue.add(key, priority);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bowline_cloud::Unfenced;
    use bowline_kube::queue::QueueSettings;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_was_held_goes_on_as_urgently_as_before() {
        let (held, queue) = (HeldKeys::default(), KeyedQueue::new("held", QueueSettings::default()));
        let [edited, compared] = ["edited", "compared"].map(|name| ObjectKey::namespaced("shop", name));
        held.begin(&compared, Priority::Background);
        held.begin(&edited, Priority::User);
        held.begin(&edited, Priority::Background);
        let resume = held.resume_after(&Unfenced, &queue);
        assert!(tokio::time::timeout(LOOK * 2, resume).await.is_err(), "it never ends");
        for expected in [(edited, Priority::User), (compared, Priority::Background)] {
            let ticket = queue.try_take().unwrap();
            assert_eq!((ticket.key().clone(), ticket.picked().priority), expected);
        }
    }
}
