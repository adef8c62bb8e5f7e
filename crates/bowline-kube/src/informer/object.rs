//! What an informer keeps of a Kubernetes object: its identity and its projection, never the object itself.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use bowline_core::Text;
use kube::api::ObjectMeta;
use uuid::Uuid;

/// `namespace/name`, or `name` for cluster-scoped objects. Cheap to clone, ordered, usable as a queue key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey(Arc<str>);

impl ObjectKey {
    /// The key of a namespaced object.
    #[must_use]
    pub fn namespaced(namespace: &str, name: &str) -> Self {
        Self(format!("{namespace}/{name}").into())
    }

    /// The key of a cluster-scoped object.
    #[must_use]
    pub fn cluster(name: &str) -> Self {
        Self(name.into())
    }

    /// The namespace; `None` for a cluster-scoped object.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        // One change of a Node calls this for thousands of keys. A search routine made for long texts is slower here.
        let slash = self.0.bytes().position(|byte| byte == b'/')?;
        self.0.get(..slash)
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.split_once('/').map_or(&*self.0, |(_, name)| name)
    }

    /// The key as text, `namespace/name` or `name`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Distinguishes an object from one that was created later with the same name: its UID, in 16 bytes. If a controller needs the UID itself,
/// the projection contains it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Incarnation(u128);

impl Incarnation {
    /// The incarnation with this UID. API servers assign UUIDs; any other text is hashed.
    #[must_use]
    pub fn of(uid: &str) -> Self {
        let hashed = || {
            let mut hasher = DefaultHasher::new();
            uid.hash(&mut hasher);
            u128::from(hasher.finish())
        };
        Self(Uuid::parse_str(uid).map_or_else(|_not_a_uuid| hashed(), |uuid| uuid.as_u128()))
    }
}

/// One object in the cache of an informer. [`Deref`] gives access to its projection.
#[derive(Debug, Clone)]
pub struct Object<P> {
    /// The namespace and name.
    pub key: ObjectKey,
    /// The UID, in 16 bytes.
    pub incarnation: Incarnation,
    /// The resource version it was last seen at. Not part of the projection, because it also changes when no projected field does.
    pub resource_version: Text,
    /// The projection.
    pub view: P,
}

impl<P> Object<P> {
    /// Combines a projection with the identity of its object.
    pub(super) fn identified(identity: Identity, view: P) -> Self {
        let Identity { key, incarnation, resource_version } = identity;
        Self { key, incarnation, resource_version, view }
    }
}

impl<P: PartialEq> Object<P> {
    /// Whether both have the same UID and equal projections; the resource version is ignored.
    #[must_use]
    pub fn looks_like(&self, other: &Self) -> bool {
        self.incarnation == other.incarnation && self.view == other.view
    }
}

impl<P> Deref for Object<P> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.view
    }
}

/// The part of an object's metadata that every informer keeps.
pub(super) struct Identity {
    pub(super) key: ObjectKey,
    incarnation: Incarnation,
    resource_version: Text,
}

impl Identity {
    /// Reads the identity from metadata; `None` if there is no name, which no API server sends.
    pub(super) fn of(meta: &ObjectMeta) -> Option<Self> {
        let name = meta.name.as_deref()?;
        let key = match meta.namespace.as_deref() {
            Some(namespace) => ObjectKey::namespaced(namespace, name),
            None => ObjectKey::cluster(name),
        };
        let incarnation = Incarnation::of(meta.uid.as_deref().unwrap_or_default());
        let resource_version = meta.resource_version.as_deref().unwrap_or_default().into();
        Some(Self { key, incarnation, resource_version })
    }
}
