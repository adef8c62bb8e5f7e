//! PUT, and the rules that every change of an existing object goes through.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};

use super::{decode, metadata};
use crate::core::{Call, Core, Outcome};
use crate::object;
use crate::patch::managed::is_same_but_for_times;
use crate::resource::Resource;
use crate::status::{ApiError, FieldError};
use crate::strategy;

impl Core {
    pub(crate) fn update(&mut self, call: &Call<'_>) -> Result<Outcome, ApiError> {
        call.options.check_write("UpdateOptions", false)?;
        let (mut object, warnings) = decode::object(call)?;
        check_name_of_body(call, &object)?;
        self.check_namespace_of_body(call, &mut object)?;
        let missing = self.store.get(&call.resource.bucket(), &call.key()).is_none();
        if missing && call.resource.create_on_update {
            check_uid(call, "", object::uid(&object))?; // who names a uid means an object that was there
        }
        let creates = missing && call.resource.create_on_update && call.path.subresource.is_empty();
        let (code, stored) = if creates {
            object::meta(&mut object).remove("resourceVersion");
            (201, self.create_object(call, object)?)
        } else {
            let old = self.stored(call)?;
            (200, self.change(call, &old, object)?)
        };
        let mut outcome = self.answer(call, code, &stored);
        if let Outcome::Json { warnings: out, .. } = &mut outcome {
            *out = warnings;
        }
        Ok(outcome)
    }

    /// PUT on a namespace's `finalize`: only `spec.finalizers` counts.
    pub(crate) fn finalize(&mut self, call: &Call<'_>) -> Result<Outcome, ApiError> {
        if call.request.method != Method::PUT {
            return Err(ApiError::method_not_allowed());
        }
        let (object, _) = decode::object(call)?;
        check_name_of_body(call, &object)?;
        let old = self.stored(call)?;
        check_preconditions(call, &old, &object)?;
        let mut new = object;
        let label = "kubernetes.io/metadata.name";
        object::map_at(&mut new, &["metadata", "labels"]).insert(label.into(), json!(call.path.name));
        self.manage_change(call, &old, &mut new);
        metadata::keep_owned(&old, &mut new);
        object::copy_key(&old, &mut new, "status");
        let stored = self.store_change(call, &old, new)?;
        Ok(self.answer(call, 200, &stored))
    }

    /// Takes `new` in place of `old` as far as the rules allow, and answers what is stored then.
    pub(crate) fn change(
        &mut self,
        call: &Call<'_>,
        old: &Arc<Value>,
        mut new: Value,
    ) -> Result<Arc<Value>, ApiError> {
        check_preconditions(call, old, &new)?;
        self.manage_change(call, old, &mut new);
        metadata::keep_owned(old, &mut new);
        keep_other_part(call, old, &mut new);
        let resource = Arc::clone(&call.resource);
        strategy::default_change(&resource, &call.path.subresource, old, &mut new);
        let mut errors = metadata::validate(&resource, &new);
        if resource.is("", "nodes") {
            errors.extend(metadata::validate(&resource, &new)); // the real server looks twice
        }
        errors.extend(metadata::validate_change(old, &new));
        errors.extend(strategy::validate_change(&resource, old, &new));
        if !errors.is_empty() {
            return Err(ApiError::invalid_object(&resource, object::name(old), &errors));
        }
        self.allocate_change(&resource, &call.path.subresource, old, &mut new)?;
        count_generation(&resource, old, &mut new);
        self.store_change(call, old, new)
    }

    /// The last step of a change: ownership of fields, no-ops, dry runs, and deletion when nothing holds it back.
    pub(crate) fn store_change(
        &mut self,
        call: &Call<'_>,
        old: &Arc<Value>,
        mut new: Value,
    ) -> Result<Arc<Value>, ApiError> {
        let version = old.get("metadata").and_then(|meta| meta.get("resourceVersion")).cloned();
        object::meta(&mut new).insert("resourceVersion".into(), version.unwrap_or_else(|| json!("0")));
        if is_same_but_for_times(old, &new) {
            return Ok(Arc::clone(old));
        }
        if call.dry_run() {
            return Ok(Arc::new(new));
        }
        let bucket = call.resource.bucket();
        if object::is_deleting(&new) && !strategy::is_held(&call.resource, &new) {
            self.erase(&bucket, &call.key());
            return Ok(Arc::new(new));
        }
        Ok(self.commit(&bucket, &call.key(), new))
    }
}

pub(super) fn check_name_of_body(call: &Call<'_>, object: &Value) -> Result<(), ApiError> {
    let (wanted, found) = (call.path.name.as_str(), object::name(object));
    if found.is_empty() {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({wanted} based on URL) was undeterminable: name must be provided"
        )));
    }
    if found != wanted {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({found}) does not match the name on the URL ({wanted})"
        )));
    }
    Ok(())
}

fn check_preconditions(call: &Call<'_>, old: &Value, new: &Value) -> Result<(), ApiError> {
    let (resource, name) = (&call.resource, object::name(old));
    let (has, wants) = (object::uid(old), object::uid(new));
    if !wants.is_empty() && has != wants {
        if call.request.method == Method::PATCH {
            let error = FieldError::invalid("metadata.uid", wants, "field is immutable");
            return Err(ApiError::invalid_object(resource, name, &[error]));
        }
        check_uid(call, has, wants)?;
    }
    let wanted = object::text(new, &["metadata", "resourceVersion"]);
    if !wanted.is_empty() && wanted.parse::<u64>().is_err() {
        return Err(ApiError::internal(format!("strconv.ParseUint: parsing \"{wanted}\": invalid syntax")));
    }
    if wanted.is_empty() || wanted == "0" {
        if resource.unconditional_update {
            return Ok(());
        }
        let error = FieldError::invalid("metadata.resourceVersion", 0, "must be specified for an update");
        if !resource.builtin {
            return Err(ApiError::invalid(&resource.group, &resource.plural, name, &[error]));
        }
        return Err(ApiError::invalid_object(resource, name, &[error]));
    }
    if wanted != object::text(old, &["metadata", "resourceVersion"]) {
        return Err(ApiError::modified(resource, name));
    }
    Ok(())
}

/// A uid in the body is the one that the object has; "" is that of an object that is not there.
fn check_uid(call: &Call<'_>, has: &str, wants: &str) -> Result<(), ApiError> {
    if wants.is_empty() || has == wants {
        return Ok(());
    }
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: Precondition \
         failed: UID in precondition: {wants}, UID in object meta: {has}",
        storage_key(call)
    );
    Err(ApiError::conflict(&call.resource, &call.path.name, &why))
}

/// Where the real server keeps the object, as its messages say.
fn storage_key(call: &Call<'_>) -> String {
    let place = match (call.resource.group.as_str(), call.resource.plural.as_str()) {
        ("", "nodes") => "minions".to_owned(),
        ("", "services") => "services/specs".to_owned(),
        ("", plural) | (_, plural) if call.resource.builtin => plural.to_owned(),
        (group, plural) => format!("{group}/{plural}"),
    };
    let parts = [place.as_str(), &call.path.namespace, &call.path.name];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!("/registry/{}", parts.join("/"))
}

/// `/status` changes nothing but the status (typed kinds: and metadata); the main path never changes it.
fn keep_other_part(call: &Call<'_>, old: &Value, new: &mut Value) {
    let resource = &call.resource;
    if !resource.has_status {
        return;
    }
    if call.path.subresource != "status" {
        object::copy_key(old, new, "status");
        return;
    }
    let status = new.get("status").cloned();
    let metadata = new.get("metadata").cloned();
    *new = old.clone();
    let map = object::map_of(new);
    match status {
        Some(status) => map.insert("status".into(), status),
        None => map.remove("status"),
    };
    let frozen = !resource.builtin || resource.group == "apps";
    match metadata {
        Some(metadata) if frozen => match object::at(&metadata, &["managedFields"]) {
            Some(entries) => object::meta(new).insert("managedFields".into(), entries.clone()),
            None => object::meta(new).remove("managedFields"),
        },
        Some(metadata) => map.insert("metadata".into(), metadata),
        None => None,
    };
}

/// `metadata.generation` grows when anything but metadata and status changed.
fn count_generation(resource: &Resource, old: &Value, new: &mut Value) {
    if !resource.has_generation {
        return;
    }
    let counts = |key: &str| {
        !matches!(key, "metadata" | "apiVersion" | "kind") && (key != "status" || !resource.has_status)
    };
    let differs = |one: &Value, other: &Value| {
        let fields = one.as_object().into_iter().flatten();
        fields.filter(|(key, _)| counts(key)).any(|(key, value)| other.get(key) != Some(value))
    };
    // A rollout may be asked for by an annotation.
    let annotations = |value| object::at(value, &["metadata", "annotations"]);
    let annotated = resource.is("apps", "deployments") && annotations(old) != annotations(new);
    if annotated || differs(old, new) || differs(new, old) {
        let generation = object::at(old, &["metadata", "generation"]).and_then(Value::as_i64).unwrap_or(0);
        object::meta(new).insert("generation".into(), json!(generation + 1));
    }
}
