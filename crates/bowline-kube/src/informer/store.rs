//! The store as a pure value: objects by key, indexes, an epoch. It returns what each input changed and notifies no subscriber.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::index::Indexes;
use super::{Object, ObjectKey};

/// A changed key, with the cached object before and after; `None` if none was or is cached.
#[derive(Debug)]
pub(super) struct Delta<P> {
    pub(super) key: ObjectKey,
    pub(super) old: Option<Arc<Object<P>>>,
    pub(super) new: Option<Arc<Object<P>>>,
}

/// All objects at one moment, sorted by key. Immutable and cheap to clone; two snapshots with the same epoch are equal.
///
/// Its resource versions may be older than those of [`get`](super::Informer::get): a change of the resource version alone does not start a
/// new epoch.
#[derive(Debug)]
pub struct Snapshot<P> {
    epoch: u64,
    objects: Arc<[Arc<Object<P>>]>,
}

impl<P> Clone for Snapshot<P> {
    fn clone(&self) -> Self {
        Self { epoch: self.epoch, objects: Arc::clone(&self.objects) }
    }
}

impl<P> Snapshot<P> {
    /// A number that grows with every change.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The objects, sorted by key.
    #[must_use]
    pub fn objects(&self) -> &[Arc<Object<P>>] {
        &self.objects
    }

    /// The object with this key.
    #[must_use]
    pub fn get(&self, key: &ObjectKey) -> Option<&Arc<Object<P>>> {
        let at = self.objects.binary_search_by(|object| object.key.cmp(key)).ok()?;
        self.objects.get(at)
    }
}

/// The cached objects of an informer.
#[derive(Debug)]
pub(super) struct Store<P> {
    objects: BTreeMap<ObjectKey, Arc<Object<P>>>,
    indexes: Indexes<P>,
    epoch: u64,
    /// The last requested snapshot; rebuilt only if the epoch has changed.
    latest: Option<Snapshot<P>>,
}

impl<P: PartialEq> Store<P> {
    pub(super) fn new(indexes: Indexes<P>) -> Self {
        Self { objects: BTreeMap::new(), indexes, epoch: 0, latest: None }
    }

    /// Adds or replaces an object. `None` if the incarnation and the projection are unchanged.
    pub(super) fn apply(&mut self, object: Object<P>) -> Option<Delta<P>> {
        let (key, new) = (object.key.clone(), Arc::new(object));
        let old = self.objects.insert(key.clone(), Arc::clone(&new));
        if old.as_ref().is_some_and(|old| old.looks_like(&new)) {
            return None;
        }
        Some(self.changed(key, old, Some(new)))
    }

    /// Removes the object with this key, if it is cached.
    pub(super) fn remove(&mut self, key: &ObjectKey) -> Option<Delta<P>> {
        let old = self.objects.remove(key)?;
        Some(self.changed(key.clone(), Some(old), None))
    }

    /// Applies a complete list: objects that are not in it have been deleted in the meantime.
    pub(super) fn replace(&mut self, listed: BTreeMap<ObjectKey, Object<P>>) -> Vec<Delta<P>> {
        if self.objects.is_empty() {
            return self.fill(listed);
        }
        let gone: Vec<_> = self.objects.keys().filter(|key| !listed.contains_key(*key)).cloned().collect();
        let mut deltas: Vec<_> = gone.iter().filter_map(|key| self.remove(key)).collect();
        deltas.extend(listed.into_values().filter_map(|object| self.apply(object)));
        deltas
    }

    /// Applies a list to an empty store. A B-tree built at once from sorted entries has full leaves; with single inserts they would stay
    /// half empty.
    fn fill(&mut self, listed: BTreeMap<ObjectKey, Object<P>>) -> Vec<Delta<P>> {
        self.objects = listed.into_iter().map(|(key, object)| (key, Arc::new(object))).collect();
        let new: Vec<_> = self.objects.iter().map(|(key, new)| (key.clone(), Arc::clone(new))).collect();
        new.into_iter().map(|(key, new)| self.changed(key, None, Some(new))).collect()
    }

    pub(super) fn get(&self, key: &ObjectKey) -> Option<Arc<Object<P>>> {
        self.objects.get(key).cloned()
    }

    pub(super) fn by_index(&self, index: &str, value: &str) -> Option<Vec<Arc<Object<P>>>> {
        let keys = self.indexes.find(index, value)?;
        Some(keys.filter_map(|key| self.get(key)).collect())
    }

    pub(super) fn objects(&self) -> impl Iterator<Item = &Arc<Object<P>>> {
        self.objects.values()
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(super) fn snapshot(&mut self) -> Snapshot<P> {
        match &self.latest {
            Some(latest) if latest.epoch == self.epoch => latest.clone(),
            _ => {
                let snapshot = Snapshot { epoch: self.epoch, objects: self.objects().cloned().collect() };
                self.latest = Some(snapshot.clone());
                snapshot
            }
        }
    }

    fn changed(
        &mut self,
        key: ObjectKey,
        old: Option<Arc<Object<P>>>,
        new: Option<Arc<Object<P>>>,
    ) -> Delta<P> {
        self.epoch += 1;
        // Dropped here, because the old snapshot would keep deleted objects in memory until the next one is requested.
        self.latest = None;
        self.indexes.update(&key, old.as_ref().map(|o| &o.view), new.as_ref().map(|n| &n.view));
        Delta { key, old, new }
    }
}
