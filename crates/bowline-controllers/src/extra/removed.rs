//! Objects that are gone and of which the controller was not told yet. Bounded by what the informer held: an object is
//! here at most once, from its deletion until the controller has dealt with it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bowline_cloud::Watched;
use bowline_kube::informer::ObjectKey;
use parking_lot::{Mutex, MutexGuard};

/// The gone, by key, oldest first. Clones share them.
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
