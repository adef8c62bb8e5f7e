//! Projects incoming objects and collects the list in progress. The rest of each object is dropped here.

use std::collections::BTreeMap;

use kube::Resource;
use kube::api::ObjectMeta;
use parking_lot::{Mutex, MutexGuard};
use serde::de::DeserializeOwned;
use tracing::warn;

use super::object::Identity;
use super::{Object, ObjectKey};

pub(super) type Project<K, P> = Box<dyn Fn(K) -> Option<P> + Send + Sync>;

/// The list in progress. The store changes only when the list is complete, so readers never see half a list.
pub(super) struct Listed<P> {
    pub(super) objects: BTreeMap<ObjectKey, Object<P>>,
    /// The highest resource version of an object in the list; kube's watcher does not expose the version of the list itself.
    pub(super) version: u128,
}

impl<P> Default for Listed<P> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), version: 0 }
    }
}

/// The path of every object, listed or watched, into the cache.
pub(super) struct Intake<K, P> {
    informer: String,
    project: Project<K, P>,
    listed: Mutex<Listed<P>>,
}

impl<K, P> Intake<K, P> {
    pub(super) fn new(informer: String, project: Project<K, P>) -> Self {
        Self { informer, project, listed: Mutex::default() }
    }
}

impl<K: Resource, P> Intake<K, P> {
    /// Adds one object of a list, from its JSON text.
    pub(super) fn listed_text(&self, object: &str) -> Result<(), serde_json::Error>
    where
        K: DeserializeOwned,
    {
        self.listed(serde_json::from_str(object)?);
        Ok(())
    }

    /// Adds one object of a list.
    pub(super) fn listed(&self, object: K) {
        let version = version_of(object.meta());
        let projected = self.project(object);
        let mut listed = self.lock();
        listed.version = listed.version.max(version);
        if let Some((key, Some(kept))) = projected {
            listed.objects.insert(key, kept);
        }
    }

    /// Returns the list so far and starts a new, empty one.
    pub(super) fn take_list(&self) -> Listed<P> {
        std::mem::take(&mut *self.lock())
    }

    /// The key of an object and its projection; the projection is `None` if the object is not to be cached. `None` if the object has no
    /// name.
    pub(super) fn project(&self, object: K) -> Option<(ObjectKey, Option<Object<P>>)> {
        let Some(identity) = Identity::of(object.meta()) else {
            warn!(informer = self.informer, "the API server sent an object without a name; left out");
            return None;
        };
        let key = identity.key.clone();
        Some((key, (self.project)(object).map(|view| Object::identified(identity, view))))
    }

    fn lock(&self) -> MutexGuard<'_, Listed<P>> {
        self.listed.lock()
    }
}

/// A resource version as a number, or 0. Used for a gauge only, never for decisions.
pub(super) fn version_of(meta: &ObjectMeta) -> u128 {
    meta.resource_version.as_deref().and_then(|version| version.parse().ok()).unwrap_or(0)
}
