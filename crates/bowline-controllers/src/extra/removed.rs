//! Deleted objects that the controller has not processed yet. Bounded by the informer's objects: an object is listed at most once, from its
//! deletion until the controller has processed it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bowline_cloud::Watched;
use bowline_kube::informer::ObjectKey;
use parking_lot::{Mutex, MutexGuard};

/// The deleted objects by key, oldest first. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Removed(Arc<Mutex<BTreeMap<ObjectKey, VecDeque<Watched>>>>);

impl Removed {
    pub(super) fn add(&self, key: &ObjectKey, object: Watched) {
        self.lock().entry(key.clone()).or_default().push_back(object);
    }

    pub(super) fn first(&self, key: &ObjectKey) -> Option<Watched> {
        self.lock().get(key).and_then(VecDeque::front).cloned()
    }

    pub(super) fn forget_first(&self, key: &ObjectKey) {
        let mut gone = self.lock();
        if let Some(objects) = gone.get_mut(key) {
            objects.pop_front();
            if objects.is_empty() {
                gone.remove(key);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, VecDeque<Watched>>> {
        self.0.lock()
    }
}
