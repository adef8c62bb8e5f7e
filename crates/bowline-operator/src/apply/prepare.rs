//! Makes rendered objects fit to be applied: each has a known kind, a name, the namespace that its kind asks for, and our label.

use kube::api::DynamicObject;

use super::id::{ObjectId, UnknownKind, kind_of};
use crate::api::OWNER_LABEL;
use crate::render::Object;

/// Why an object cannot be applied. A mistake of whoever made it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// A kind that we do not apply.
    #[error(transparent)]
    Kind(#[from] UnknownKind),
    /// It is no object.
    #[error("{id} cannot be applied: {why}")]
    Shape {
        /// Which.
        id: ObjectId,
        /// What is wrong with it.
        why: String,
    },
    /// Its namespace is missing, or it has one that its kind does not have.
    #[error("{0}: a namespace is needed exactly where the kind has one")]
    Namespace(ObjectId),
}

/// The object with our label, and which it is.
///
/// # Errors
///
/// If it cannot be applied.
pub fn prepare(object: Object, owner: &str) -> Result<(ObjectId, DynamicObject), Unfit> {
    let Object { api_version, kind, namespace, name, body } = object;
    let is_namespaced = kind_of(&api_version, &kind)?.is_namespaced;
    let id = ObjectId { api_version, kind, namespace, name };
    if is_namespaced != id.namespace.is_some() {
        return Err(Unfit::Namespace(id));
    }
    let read = serde_json::from_value::<DynamicObject>(body);
    let mut object = read.map_err(|error| Unfit::Shape { id: id.clone(), why: error.to_string() })?;
    let labels = object.metadata.labels.get_or_insert_default();
    labels.insert(OWNER_LABEL.to_owned(), owner.to_owned());
    // Of the server, not of ours: an apply that names them is refused, or means something else.
    object.metadata.managed_fields = None;
    object.metadata.resource_version = None;
    object.metadata.uid = None;
    object.metadata.creation_timestamp = None;
    if let Some(data) = object.data.as_object_mut() {
        data.remove("status");
    }
    Ok((id, object))
}
