//! `metadata.managedFields`: who owns which fields, and its upkeep when somebody creates, updates or patches.
//!
//! Must be told the object after defaulting and before the server's own allocations, as the real server does it: what the
//! server allocates is nobody's.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::compare::{Comparison, compared};
use super::field_set::FieldSet;
use super::schema::MergeSchema;
use crate::object::seconds;

/// Whose write it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manager {
    /// The field manager's name.
    pub name: String,
    /// Whether an apply takes fields from others.
    pub force: bool,
    /// The subresource that is written, if any.
    pub subresource: Option<String>,
    /// The `apiVersion` of the request, such as `apps/v1`.
    pub api_version: String,
}

/// One entry of `metadata.managedFields`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) manager: String,
    pub(super) applied: bool,
    pub(super) api_version: String,
    pub(super) subresource: String,
    pub(super) time: Option<String>,
    pub(super) fields: FieldSet,
}

impl Manager {
    /// The name of the manager: the one the request gives, else the user agent's up to its first slash.
    #[must_use]
    pub fn name_of(field_manager: Option<&str>, user_agent: Option<&str>) -> String {
        if let Some(name) = field_manager.filter(|name| !name.is_empty()) {
            return name.to_owned();
        }
        let agent = user_agent.unwrap_or_default().split('/').next().unwrap_or_default();
        agent.chars().filter(|letter| !letter.is_control()).take(128).collect()
    }

    pub(super) fn entry(&self, applied: bool, fields: FieldSet) -> Entry {
        Entry {
            manager: self.name.clone(),
            applied,
            api_version: self.api_version.clone(),
            subresource: self.subresource.clone().unwrap_or_default(),
            time: None,
            fields,
        }
    }
}

impl Entry {
    /// Whether both are entries of one manager: an applier keeps its entry when it changes versions.
    pub(super) fn is_same_manager(&self, other: &Self) -> bool {
        self.manager == other.manager
            && self.applied == other.applied
            && self.subresource == other.subresource
            && (self.applied || self.api_version == other.api_version)
    }

    fn of_json(entry: &Value) -> Option<Self> {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).map(str::to_owned);
        let applied = match text("operation")?.as_str() {
            "Apply" => true,
            "Update" => false,
            _ => return None,
        };
        Some(Self {
            manager: text("manager").unwrap_or_default(),
            applied,
            api_version: text("apiVersion")?,
            subresource: text("subresource").unwrap_or_default(),
            time: text("time"),
            fields: FieldSet::from_json(entry.get("fieldsV1").unwrap_or(&json!({}))),
        })
    }

    fn to_json(&self) -> Value {
        let mut entry = json!({
            "operation": if self.applied { "Apply" } else { "Update" },
            "apiVersion": self.api_version,
            "fieldsType": "FieldsV1",
            "fieldsV1": self.fields.to_json(),
        });
        let optional = [
            ("manager", Some(&self.manager)),
            ("subresource", Some(&self.subresource)),
            ("time", self.time.as_ref()),
        ];
        if let Value::Object(fields) = &mut entry {
            for (name, value) in optional {
                if let Some(value) = value.filter(|value| !value.is_empty()) {
                    fields.insert(name.to_owned(), value.as_str().into());
                }
            }
        }
        entry
    }
}

/// The object with its `managedFields` as they are after a create (`old` is none), an update or a patch.
///
/// `new` may bring `managedFields` of its own: an empty list resets them, other entries take the place of the old ones,
/// except on a subresource.
#[must_use]
pub fn managed_after_update(
    old: Option<&Value>,
    new: &Value,
    manager: &Manager,
    now: Timestamp,
    schema: &MergeSchema,
) -> Value {
    let nothing = json!({});
    let before = old.map_or_else(|| nothing.clone(), without_managed_fields);
    let after = without_managed_fields(new);
    let Some(entries) = entries_to_start_from(old, new, manager.subresource.is_some()) else {
        return after;
    };
    let comparison = compared(&before, &after, schema.root());
    let entries = updated(entries, &comparison, manager, now, schema);
    with_entries(after, entries)
}

/// The entries that a write starts from; nothing if the object's fields are not tracked.
fn entries_to_start_from(old: Option<&Value>, new: &Value, subresource: bool) -> Option<Vec<Entry>> {
    let live = || old.map(entries).unwrap_or_default();
    let given = new.pointer("/metadata/managedFields").and_then(Value::as_array);
    let entries = match given {
        Some(given) if !subresource && is_reset(given) => Vec::new(),
        Some(_) if !subresource => Some(entries(new)).filter(|given| !given.is_empty()).unwrap_or_else(live),
        _ => live(),
    };
    (old.is_none() || !entries.is_empty()).then_some(entries)
}

fn is_reset(given: &[Value]) -> bool {
    given.is_empty() || matches!(given, [Value::Object(only)] if only.is_empty())
}

fn updated(
    entries: Vec<Entry>,
    comparison: &Comparison,
    manager: &Manager,
    now: Timestamp,
    schema: &MergeSchema,
) -> Vec<Entry> {
    let reset = FieldSet::of_paths(schema.reset(manager.subresource.as_deref()));
    let comparison = comparison.outside(&reset);
    let mut entries = without_fields(entries, &comparison);
    let fields = owned(&comparison.changed());
    if fields.is_empty() {
        return entries;
    }
    let mut entry = manager.entry(false, fields);
    entry.time = Some(seconds(now));
    if let Some(position) = entries.iter().position(|other| other.is_same_manager(&entry)) {
        let previous = entries.remove(position);
        entry.fields = entry.fields.union(&previous.fields);
    }
    entries.push(entry);
    entries
}

/// Everybody's entries without what changed or went.
pub(super) fn without_fields(entries: Vec<Entry>, comparison: &Comparison) -> Vec<Entry> {
    let gone = comparison.changed().union(&comparison.removed);
    entries
        .into_iter()
        .map(|entry| Entry { fields: entry.fields.difference(&gone), ..entry })
        .filter(|entry| !entry.fields.is_empty())
        .collect()
}

/// What of a set can be owned: not the object's identity, and not what the server keeps.
pub(super) fn owned(fields: &FieldSet) -> FieldSet {
    const NOBODYS: [&[&str]; 12] = [
        &["f:apiVersion"],
        &["f:kind"],
        &["f:metadata"],
        &["f:metadata", "f:name"],
        &["f:metadata", "f:namespace"],
        &["f:metadata", "f:creationTimestamp"],
        &["f:metadata", "f:selfLink"],
        &["f:metadata", "f:uid"],
        &["f:metadata", "f:clusterName"],
        &["f:metadata", "f:generation"],
        &["f:metadata", "f:managedFields"],
        &["f:metadata", "f:resourceVersion"],
    ];
    fields.difference(&FieldSet::of_paths(&NOBODYS))
}

/// The entries of an object; none if one of them cannot be read, as the real server has it.
pub(super) fn entries(object: &Value) -> Vec<Entry> {
    let list = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    list.and_then(|list| list.iter().map(Entry::of_json).collect()).unwrap_or_default()
}

/// The object with these entries, in the API's order.
pub(super) fn with_entries(mut object: Value, mut entries: Vec<Entry>) -> Value {
    fn key(entry: &Entry) -> (bool, &Option<String>, &str, &str, &str) {
        (!entry.applied, &entry.time, &entry.manager, &entry.api_version, &entry.subresource)
    }
    entries.sort_by(|one, other| key(one).cmp(&key(other)));
    if let (Some(metadata), false) = (metadata_of(&mut object), entries.is_empty()) {
        let list = entries.iter().map(Entry::to_json).collect();
        metadata.insert("managedFields".to_owned(), Value::Array(list));
    }
    object
}

pub(super) fn without_managed_fields(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
    }
    object
}

fn metadata_of(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let metadata = object.as_object_mut()?.entry("metadata").or_insert_with(|| json!({}));
    metadata.as_object_mut()
}

/// Whether two objects differ in nothing but the times of their `managedFields` (and their resourceVersion).
#[must_use]
pub fn is_same_but_for_times(one: &Value, other: &Value) -> bool {
    let plain = |object: &Value| {
        let mut object = object.clone();
        if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
            metadata.remove("resourceVersion");
            if let Some(Value::Array(entries)) = metadata.get_mut("managedFields") {
                entries.iter_mut().filter_map(Value::as_object_mut).for_each(|entry| {
                    entry.remove("time");
                });
            }
        }
        object
    };
    plain(one) == plain(other)
}
