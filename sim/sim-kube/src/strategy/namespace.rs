//! Namespaces: their finalizer, their phase, and which of them stay.

use serde_json::{Value, json};

use crate::object;
use crate::resource::Resource;
use crate::status::{ApiError, FieldError};

/// The resource itself, for messages about namespaces.
pub(crate) fn resource() -> Resource {
    Resource { plural: "namespaces".into(), kind: "Namespace".into(), ..Resource::default() }
}

pub(super) fn default_new(object: &mut Value) {
    let name = object::name(object).to_owned();
    if !name.is_empty() {
        object::map_at(object, &["metadata", "labels"])
            .insert("kubernetes.io/metadata.name".into(), json!(name));
    }
    let spec = object::map_at(object, &["spec"]);
    let finalizers = spec.entry("finalizers").or_insert_with(|| json!([]));
    if let Some(list) = finalizers.as_array_mut()
        && !list.contains(&json!("kubernetes"))
    {
        list.push(json!("kubernetes"));
    }
    object::map_of(object).insert("status".into(), json!({"phase": "Active"}));
}

/// Only `finalize` changes the finalizers of the spec.
pub(super) fn keep_finalizers(old: &Value, new: &mut Value) {
    let name = object::name(old).to_owned();
    object::map_at(new, &["metadata", "labels"]).insert("kubernetes.io/metadata.name".into(), json!(name));
    match object::at(old, &["spec", "finalizers"]) {
        Some(kept) => object::map_at(new, &["spec"]).insert("finalizers".into(), kept.clone()),
        None => object::map_at(new, &["spec"]).remove("finalizers"),
    };
}

/// The phase follows the deletion.
pub(super) fn validate_change(new: &Value) -> Vec<FieldError> {
    let phase = object::text(new, &["status", "phase"]);
    let (wanted, when) =
        if object::is_deleting(new) { ("Terminating", "not empty") } else { ("Active", "empty") };
    if phase == wanted {
        return Vec::new();
    }
    let why = format!("may only be '{wanted}' if `deletionTimestamp` is {when}");
    vec![FieldError::invalid("status.Phase", phase, why)]
}

pub(super) fn check_delete(resource: &Resource, object: &Value) -> Result<(), ApiError> {
    let name = object::name(object);
    if matches!(name, "default" | "kube-system" | "kube-public") {
        return Err(ApiError::forbidden(resource, name, "this namespace may not be deleted"));
    }
    Ok(())
}
