//! Rules for the metadata that all kinds share. Must not look at spec or status.

use serde_json::{Value, json};

use crate::object;
use crate::resource::Resource;
use crate::status::FieldError;

/// Empty lists and maps of metadata are the same as none.
fn drop_empty(meta: &mut serde_json::Map<String, Value>) {
    meta.retain(|_, value| match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::Null => false,
        _ => true,
    });
}

/// Server-owned fields of a new object.
pub(crate) fn fill_new(object: &mut Value, uid: &str, now: &str, has_generation: bool) {
    let meta = object::meta(object);
    drop_empty(meta);
    for key in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        meta.remove(key);
    }
    meta.insert("uid".into(), json!(uid));
    meta.insert("creationTimestamp".into(), json!(now));
    if has_generation {
        meta.insert("generation".into(), json!(1));
    }
}

/// Server-owned fields of a changed object stay as they were.
pub(crate) fn keep_owned(old: &Value, new: &mut Value) {
    let old = old.get("metadata").cloned().unwrap_or_else(|| json!({}));
    let meta = object::meta(new);
    drop_empty(meta);
    meta.remove("selfLink");
    for key in [
        "uid",
        "creationTimestamp",
        "generation",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generateName",
        "name",
        "namespace",
    ] {
        match old.get(key) {
            Some(kept) => meta.insert(key.into(), kept.clone()),
            None => meta.remove(key),
        };
    }
}

/// Complaints about metadata of a new or changed object.
pub(crate) fn validate(resource: &Resource, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let name = object::name(object);
    let base =
        if resource.plural == "events" { "" } else { object::text(object, &["metadata", "generateName"]) };
    if let Some(why) = Some(base.trim_end_matches('-'))
        .filter(|base| !base.is_empty())
        .and_then(|base| name_fault(resource, base))
    {
        errors.push(FieldError::invalid("metadata.generateName", base, why));
    }
    if name.is_empty() {
        errors.push(FieldError::required("metadata.name", "name or generateName is required"));
    } else if let Some(why) = name_fault(resource, name) {
        errors.push(FieldError::invalid("metadata.name", name, why));
    }
    for key in keys(object, "labels") {
        let faults = qualified_name_faults(&key).into_iter();
        errors.extend(faults.map(|why| FieldError::invalid("metadata.labels", key.as_str(), why)));
    }
    for (_, value) in pairs(object, "labels") {
        errors
            .extend(label_value_fault(&value).map(|why| FieldError::invalid("metadata.labels", value, why)));
    }
    for key in keys(object, "annotations") {
        let faults = qualified_name_faults(&key.to_lowercase()).into_iter();
        errors.extend(faults.map(|why| FieldError::invalid("metadata.annotations", key.as_str(), why)));
    }
    for (index, finalizer) in object::finalizers(object).iter().enumerate() {
        errors.extend(finalizer_faults(finalizer, index));
    }
    errors.extend(owner_faults(object));
    errors
}

fn owner_faults(object: &Value) -> Vec<FieldError> {
    let owners = object::list(object, &["metadata", "ownerReferences"]);
    let mut errors = Vec::new();
    for (index, owner) in owners.iter().enumerate() {
        let empty = ["apiVersion", "kind", "name", "uid"]
            .into_iter()
            .filter(|key| object::text(owner, &[key]).is_empty());
        errors.extend(empty.map(|key| {
            FieldError::required(format!("metadata.ownerReferences[{index}].{key}"), "must not be empty")
        }));
    }
    let mut controllers = owners.iter().filter(|owner| owner.get("controller") == Some(&json!(true)));
    if let (Some(first), Some(second)) = (controllers.next(), controllers.next()) {
        let shown =
            |owner: &Value| format!("{}/{}", object::text(owner, &["kind"]), object::text(owner, &["name"]));
        let why = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references for {} and {}",
            shown(first),
            shown(second)
        );
        errors.push(FieldError::invalid("metadata.ownerReferences", json!(owners), why));
    }
    errors
}

/// Complaints about how metadata changed.
pub(crate) fn validate_change(old: &Value, new: &Value) -> Vec<FieldError> {
    if !object::is_deleting(old) {
        return Vec::new();
    }
    let before = object::finalizers(old);
    let added: Vec<String> = object::finalizers(new)
        .into_iter()
        .filter(|finalizer| !before.contains(finalizer))
        .map(|finalizer| format!("\"{finalizer}\""))
        .collect();
    if added.is_empty() {
        return Vec::new();
    }
    let why = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
        added.join(", ")
    );
    vec![FieldError::forbidden("metadata.finalizers", why)]
}

fn pairs(object: &Value, place: &str) -> Vec<(String, String)> {
    let map = object::at(object, &["metadata", place]).and_then(Value::as_object);
    map.into_iter()
        .flatten()
        .map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect()
}

fn keys(object: &Value, place: &str) -> Vec<String> {
    pairs(object, place).into_iter().map(|(key, _)| key).collect()
}

pub(crate) const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const TWO_SLASHES: &str = "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// Why the name does not suit the kind.
fn name_fault(resource: &Resource, name: &str) -> Option<String> {
    if resource.group == "rbac.authorization.k8s.io" {
        return path_segment_fault(name);
    }
    // Services too, since 1.36 (RelaxedServiceNameValidation).
    if resource.is("", "namespaces") || resource.is("", "services") {
        if is_subdomain(name) && name.contains('.') {
            return Some("must not contain dots".to_owned());
        }
        return too_long(name, 63).or_else(|| (!is_label(name)).then(|| LABEL.to_owned()));
    }
    too_long(name, 253).or_else(|| (!is_subdomain(name)).then(|| SUBDOMAIN.to_owned()))
}

fn too_long(text: &str, limit: usize) -> Option<String> {
    (text.len() > limit).then(|| format!("must be no more than {limit} characters"))
}

fn path_segment_fault(name: &str) -> Option<String> {
    match name {
        "." | ".." => Some(format!("may not be '{name}'")),
        _ => ["/", "%"]
            .iter()
            .find(|sign| name.contains(**sign))
            .map(|sign| format!("may not contain '{sign}'")),
    }
}

/// Lower-case letters, digits and inner dashes.
pub(crate) fn is_label(text: &str) -> bool {
    let fits = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit();
    text.starts_with(fits) && text.ends_with(fits) && text.chars().all(|sign| fits(sign) || sign == '-')
}

/// Labels joined by dots.
pub(crate) fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

fn is_name_part(text: &str) -> bool {
    let edge = |sign: char| sign.is_ascii_alphanumeric();
    text.starts_with(edge)
        && text.ends_with(edge)
        && text.chars().all(|sign| edge(sign) || matches!(sign, '-' | '_' | '.'))
}

/// Everything that keeps a text from being a name with an optional prefix.
pub(crate) fn qualified_name_faults(key: &str) -> Vec<String> {
    if key.matches('/').count() > 1 {
        return vec![TWO_SLASHES.to_owned()];
    }
    let (prefix, part) = match key.split_once('/') {
        Some((prefix, part)) => (Some(prefix), part),
        None => (None, key),
    };
    let mut faults = Vec::new();
    match prefix {
        Some("") => faults.push("prefix part must be non-empty".to_owned()),
        Some(prefix) if !is_subdomain(prefix) => faults.push(format!("prefix part {SUBDOMAIN}")),
        _ => {}
    }
    if part.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if part.len() > 63 {
        faults.push("name part must be no more than 63 characters".to_owned());
    }
    if !is_name_part(part) {
        faults.push(QUALIFIED.to_owned());
    }
    faults
}

pub(crate) fn label_value_fault(value: &str) -> Option<String> {
    if value.is_empty() {
        return None;
    }
    too_long(value, 63).or_else(|| (!is_name_part(value)).then(|| LABEL_VALUE.to_owned()))
}

fn finalizer_faults(finalizer: &str, index: usize) -> Vec<FieldError> {
    const STANDARD: &[&str] = &["orphan", "foregroundDeletion", "kubernetes"];
    let field = "metadata.finalizers";
    let faults = qualified_name_faults(finalizer);
    if !faults.is_empty() {
        return faults.into_iter().map(|why| FieldError::invalid(field, finalizer, why)).collect();
    }
    if !finalizer.contains('/') && !STANDARD.contains(&finalizer) {
        let why = "name is neither a standard finalizer name nor is it fully qualified";
        return vec![FieldError::invalid(format!("{field}[{index}]"), finalizer, why)];
    }
    Vec::new()
}
