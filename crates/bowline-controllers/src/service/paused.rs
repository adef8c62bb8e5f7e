//! The Services that wait for the end of a cluster-wide pause (SR-15), and who lets them go on. No worker is held by it.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use bowline_cloud::Fence;
use bowline_kube::informer::ObjectKey;
use bowline_kube::queue::{KeyedQueue, Priority};
use tokio::sync::Notify;
use tokio::time::sleep;

use super::memory::lock;

/// How often the end is looked for. One question for all, and no call.
const LOOK: Duration = Duration::from_secs(1);

/// Who waits.
#[derive(Debug, Default)]
pub(super) struct PausedKeys {
    keys: Mutex<BTreeSet<ObjectKey>>,
    begun: Notify,
}

impl PausedKeys {
    pub(super) fn begin(&self, key: &ObjectKey) {
        lock(&self.keys).insert(key.clone());
        self.begun.notify_one();
    }

    /// Lets them run when the pause is over. Ends never.
    pub(super) async fn resume_after(&self, fence: &dyn Fence, queue: &KeyedQueue<ObjectKey>) {
        loop {
            if lock(&self.keys).is_empty() {
                self.begun.notified().await;
            }
            sleep(LOOK).await;
            if fence.paused().is_none() {
                for key in std::mem::take(&mut *lock(&self.keys)) {
                    queue.add(key, Priority::User);
                }
            }
        }
    }
}
