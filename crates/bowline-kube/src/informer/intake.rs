//! From an object to what is kept of it, and the list that is being made of them. The rest of an object ends here.

use std::collections::BTreeMap;

use kube::Resource;
use kube::api::ObjectMeta;
use parking_lot::{Mutex, MutexGuard};
use serde::de::DeserializeOwned;
use tracing::warn;

use super::object::Identity;
use super::{Object, ObjectKey};

pub(super) type Project<K, P> = Box<dyn Fn(K) -> Option<P> + Send + Sync>;

/// The list in progress. The store changes only when it is complete, so nobody ever sees half a list.
pub(super) struct Listed<P> {
    pub(super) objects: BTreeMap<ObjectKey, Object<P>>,
    /// The highest version of an object in it; kube's watcher does not tell that of the list itself.
    pub(super) version: u128,
}

impl<P> Default for Listed<P> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), version: 0 }
    }
}

/// What every object goes through, whether it was listed or watched.
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
    /// Takes in one object of a list, as it stands in the answer.
    pub(super) fn listed_text(&self, object: &str) -> Result<(), serde_json::Error>
    where
        K: DeserializeOwned,
    {
        self.listed(serde_json::from_str(object)?);
        Ok(())
    }

    /// Takes in one object of a list.
    pub(super) fn listed(&self, object: K) {
        let version = version_of(object.meta());
        let projected = self.project(object);
        let mut listed = self.lock();
        listed.version = listed.version.max(version);
        if let Some((key, Some(kept))) = projected {
            listed.objects.insert(key, kept);
        }
    }

    /// The list so far, with which another one begins.
    pub(super) fn take_list(&self) -> Listed<P> {
        std::mem::take(&mut *self.lock())
    }

    /// The key of an object, and what is kept of it, if it is kept.
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

/// A resource version as a number, for a gauge only; nothing is decided by it.
pub(super) fn version_of(meta: &ObjectMeta) -> u128 {
    meta.resource_version.as_deref().and_then(|version| version.parse().ok()).unwrap_or(0)
}
