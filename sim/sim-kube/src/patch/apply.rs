//! Server-side apply: an object, somebody's configuration of it, and what becomes of both.
//!
//! Decides about fields and owners only. Whether the object may be created, is valid, or changed at all, is for the
//! caller to say, and so are defaults.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::compare::{compared, element_of, fields_of, with_named_fields};
use super::failure;
use super::field_set::{FieldSet, shown};
use super::managed::{
    Entry, Manager, entries, managed_after_update, owned, with_entries, without_fields,
    without_managed_fields,
};
use super::remove::{merged, removed};
use super::schema::{MergeSchema, Place, Shape};
use crate::object::seconds;

/// Where `kubectl apply` without `--server-side` keeps its last configuration.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A field that somebody else owns with another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The owner, as messages name it.
    pub manager: String,
    /// The field's path, such as `.spec.replicas`.
    pub field: String,
}

/// Why a configuration was not applied.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ApplyError {
    /// The configuration is not one for this object.
    #[error("{0}")]
    BadRequest(String),
    /// Others own fields of the configuration, and it is not forced.
    #[error("{}", message(.0))]
    Conflicts(Vec<Conflict>),
    /// The configuration contradicts the kind's schema; the real server calls this its own error.
    #[error("{0}")]
    Internal(String),
}

impl ApplyError {
    /// The `Status` that the API answers with.
    #[must_use]
    pub fn status(&self) -> Value {
        let conflicts = match self {
            Self::BadRequest(message) => return failure(400, "BadRequest", message),
            Self::Internal(message) => return failure(500, "", message),
            Self::Conflicts(conflicts) => conflicts,
        };
        let causes: Vec<Value> = conflicts
            .iter()
            .map(|conflict| {
                json!({
                    "reason": "FieldManagerConflict",
                    "message": format!("conflict with {}", conflict.manager),
                    "field": conflict.field,
                })
            })
            .collect();
        let mut status = failure(409, "Conflict", &message(conflicts));
        if let Value::Object(fields) = &mut status {
            fields.insert("details".to_owned(), json!({ "causes": causes }));
        }
        status
    }
}

/// Applies a configuration. `current` is none if the object does not exist; the result is then what to create.
///
/// # Errors
/// When the configuration is malformed, or others own its fields and `manager.force` is not set.
pub fn applied(
    current: Option<&Value>,
    config: &Value,
    manager: &Manager,
    now: Timestamp,
    schema: &MergeSchema,
) -> Result<Value, ApplyError> {
    check(config, manager, schema)?;
    let tracked = current.map(|current| tracked(current, manager, schema));
    let result = outcome(tracked.as_ref(), config, manager, now, schema);
    let result = match result {
        Err(ApplyError::Conflicts(conflicts)) if manager.name == "kubectl" => {
            let allowed = tracked.as_ref().map(|live| last_applied_fields(live, schema)).unwrap_or_default();
            let left: Vec<_> =
                conflicts.into_iter().filter(|conflict| !allowed.contains(&conflict.field)).collect();
            if !left.is_empty() {
                return Err(ApplyError::Conflicts(left));
            }
            let forced = Manager { force: true, ..manager.clone() };
            outcome(tracked.as_ref(), config, &forced, now, schema)?
        }
        other => other?,
    };
    Ok(with_last_applied(result, config, manager))
}

/// An object whose fields nobody tracks gets an owner for all that is there.
fn tracked(current: &Value, manager: &Manager, schema: &MergeSchema) -> Value {
    if !entries(current).is_empty() {
        return current.clone();
    }
    let before = Manager { name: "before-first-apply".to_owned(), force: true, ..manager.clone() };
    let mut object = managed_after_update(None, current, &before, Timestamp::UNIX_EPOCH, schema);
    if let Some(Value::Object(entry)) = object.pointer_mut("/metadata/managedFields/0") {
        entry.remove("time");
    }
    object
}

fn outcome(
    live: Option<&Value>,
    config: &Value,
    manager: &Manager,
    now: Timestamp,
    schema: &MergeSchema,
) -> Result<Value, ApplyError> {
    let place = schema.root();
    let mut others = live.map(entries).unwrap_or_default();
    let live = live.map_or_else(|| json!({}), without_managed_fields);
    let reset = FieldSet::of_paths(schema.reset(manager.subresource.as_deref()));
    let mut entry = manager.entry(true, fields_of(config, place).outside(&reset));
    let last = position_of(&others, &entry).map(|position| others.remove(position));
    let laid_over = merged(Some(&live), Some(config), place).unwrap_or_else(|| json!({}));
    let object = match &last {
        Some(last) => pruned(&laid_over, last, &entry, &others, place),
        None => laid_over,
    };
    let comparison = compared(&live, &object, place).outside(&reset);
    let conflicts = conflicts(&others, &comparison.changed());
    if !manager.force && !conflicts.is_empty() {
        return Err(ApplyError::Conflicts(conflicts));
    }
    entry.time = if object == live { last.and_then(|last| last.time) } else { Some(seconds(now)) };
    let mut all = without_fields(others, &comparison);
    entry.fields = owned(&entry.fields.difference(&comparison.removed));
    if !entry.fields.is_empty() {
        all.push(entry);
    }
    Ok(with_entries(object, all))
}

fn position_of(entries: &[Entry], wanted: &Entry) -> Option<usize> {
    entries.iter().position(|entry| entry.is_same_manager(wanted))
}

/// Takes out what the manager applied before, does not apply now, and nobody else owns.
fn pruned(object: &Value, last: &Entry, entry: &Entry, others: &[Entry], place: Place) -> Value {
    let without = |fields: &FieldSet| removed(object, fields, place).unwrap_or_else(|| json!({}));
    let named = |fields: &FieldSet| with_named_fields(fields, place);
    let last = named(&last.fields);
    let all = named(&fields_of(object, place));
    let everybodys = others.iter().fold(entry.fields.clone(), |all, other| all.union(&other.fields));
    let first_cut = named(&fields_of(&without(&last), place));
    let second_cut = without(&all.difference(&first_cut.union(&named(&everybodys))));
    let second_cut = named(&fields_of(&second_cut, place));
    without(&all.difference(&second_cut).intersection(&last))
}

fn conflicts(others: &[Entry], changed: &FieldSet) -> Vec<Conflict> {
    let of_entry = |entry: &Entry| {
        let manager = named_manager(entry);
        let paths = entry.fields.intersection(changed).paths();
        paths.into_iter().map(move |path| Conflict { manager: manager.clone(), field: shown(&path) })
    };
    others.iter().flat_map(of_entry).collect()
}

/// The owner as conflict messages name it.
fn named_manager(entry: &Entry) -> String {
    let mut name = format!("{:?}", entry.manager);
    if !entry.subresource.is_empty() {
        name.push_str(&format!(" with subresource {:?}", entry.subresource));
    }
    if !entry.applied {
        name.push_str(&format!(" using {}", entry.api_version));
    }
    name
}

fn message(conflicts: &[Conflict]) -> String {
    if let [only] = conflicts {
        return format!("Apply failed with 1 conflict: conflict with {}: {}", only.manager, only.field);
    }
    let mut managers: Vec<&str> = conflicts.iter().map(|conflict| conflict.manager.as_str()).collect();
    managers.sort_unstable();
    managers.dedup();
    let mut lines = Vec::new();
    for manager in managers {
        lines.push(format!("conflicts with {manager}:"));
        let theirs = conflicts.iter().filter(|conflict| conflict.manager == manager);
        lines.extend(theirs.map(|conflict| format!("- {}", conflict.field)));
    }
    format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
}

fn check(config: &Value, manager: &Manager, schema: &MergeSchema) -> Result<(), ApplyError> {
    let bad = |message: &str| Err(ApplyError::BadRequest(message.to_owned()));
    if !config.is_object() {
        return bad("error decoding YAML: the configuration is not an object");
    }
    let text = |name: &str| config.get(name).and_then(Value::as_str).unwrap_or_default();
    if text("apiVersion") != manager.api_version || text("kind").is_empty() {
        return Err(ApplyError::BadRequest(format!("invalid object type: {}", type_of(config))));
    }
    if config.pointer("/metadata/managedFields").is_some_and(|fields| !fields.is_null()) {
        return bad("metadata.managedFields must be nil");
    }
    check_items(config, schema.root(), "").map_err(|why| {
        ApplyError::Internal(format!("failed to create typed patch object ({}): {why}", identity(config)))
    })
}

/// The object as the real server's messages name it.
fn identity(config: &Value) -> String {
    let text = |pointer: &str| config.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    format!("{}/{}; {}", text("/metadata/namespace"), text("/metadata/name"), type_of(config))
}

/// The type as Go prints a group, version and kind.
pub(crate) fn type_of(config: &Value) -> String {
    let text = |name: &str| config.get(name).and_then(Value::as_str).unwrap_or_default();
    let version = text("apiVersion");
    let slash = if version.contains('/') { "" } else { "/" };
    format!("{slash}{version}, Kind={}", text("kind"))
}

/// Items of lists must have their keys, and each only once.
fn check_items(value: &Value, place: Place, path: &str) -> Result<(), String> {
    match value {
        Value::Object(map) => {
            let mut fields = map.iter();
            fields.try_for_each(|(name, value)| {
                check_items(value, place.field(name), &format!("{path}.{name}"))
            })
        }
        Value::Array(items) if matches!(place.shape, Shape::Keyed(_) | Shape::Set) => {
            let mut seen = Vec::new();
            for (index, item) in items.iter().enumerate() {
                let element = element_of(item, place)
                    .ok_or_else(|| format!("{path}: element {index}: {}", missing_key(item, place)))?;
                let element = shown(&[element]);
                if seen.contains(&element) {
                    return Err(format!("{path}: duplicate entries for key {element}"));
                }
                check_items(item, place.item(), &format!("{path}{element}"))?;
                seen.push(element);
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn missing_key(item: &Value, place: Place) -> String {
    let Shape::Keyed(keys) = place.shape else { return String::new() };
    let missing = keys.iter().find(|(name, default)| default.is_none() && item.get(name).is_none());
    let missing = missing.map_or("", |(name, _)| name);
    format!(
        "associative list with keys has an element that omits key field {missing:?} (and doesn't have default value)"
    )
}

/// The fields that kubectl's own last configuration still has unchanged: it may take those from itself.
fn last_applied_fields(live: &Value, schema: &MergeSchema) -> Vec<String> {
    let annotation = live.get("metadata").and_then(|metadata| metadata.get("annotations")?.get(LAST_APPLIED));
    let config = annotation.and_then(Value::as_str).and_then(|text| serde_json::from_str::<Value>(text).ok());
    let Some(config) = config else { return Vec::new() };
    let comparison = compared(live, &config, schema.root());
    let different = comparison.changed().union(&comparison.removed);
    let fields = fields_of(&config, schema.root()).difference(&different);
    fields.paths().iter().map(|path| shown(path)).collect()
}

/// kubectl's annotation follows what kubectl applies on the server's side.
fn with_last_applied(mut object: Value, config: &Value, manager: &Manager) -> Value {
    let annotations = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
    let (true, Some(annotations)) = (manager.name == "kubectl", annotations) else { return object };
    if annotations.contains_key(LAST_APPLIED) {
        let mut config = config.clone();
        if let Some(Value::Object(annotations)) = config.pointer_mut("/metadata/annotations") {
            annotations.remove(LAST_APPLIED);
        }
        annotations.insert(LAST_APPLIED.to_owned(), format!("{config}\n").into());
    }
    object
}
