//! Reading and writing the few places of an object that every kind shares. Must not know kinds.

use serde_json::{Map, Value, json};

/// The value at a path of keys, or `None` where a step is missing.
pub(crate) fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |inner, key| inner.get(key)).filter(|found| !found.is_null())
}

/// The text at a path, or "" where there is none.
pub(crate) fn text<'a>(value: &'a Value, path: &[&str]) -> &'a str {
    at(value, path).and_then(Value::as_str).unwrap_or_default()
}

/// The list at a path, or an empty one.
pub(crate) fn list<'a>(value: &'a Value, path: &[&str]) -> &'a [Value] {
    at(value, path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The texts of the list at a path.
pub(crate) fn texts(value: &Value, path: &[&str]) -> Vec<String> {
    list(value, path).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The value as a map; whatever else was there is replaced by an empty one.
#[expect(clippy::panic, reason = "the value was made a map in the line before")]
pub(crate) fn map_of(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = json!({});
    }
    match value {
        Value::Object(map) => map,
        other => panic!("wanted a map, found {other}"),
    }
}

/// The map at a path, made where it is missing.
pub(crate) fn map_at<'a>(value: &'a mut Value, path: &[&str]) -> &'a mut Map<String, Value> {
    let mut inner = value;
    for key in path {
        inner = map_of(inner).entry(*key).or_insert_with(|| json!({}));
    }
    map_of(inner)
}

/// The object's metadata, made where it is missing.
pub(crate) fn meta(value: &mut Value) -> &mut Map<String, Value> {
    map_at(value, &["metadata"])
}

/// `metadata.name`.
pub(crate) fn name(value: &Value) -> &str {
    text(value, &["metadata", "name"])
}

/// `metadata.namespace`.
pub(crate) fn namespace(value: &Value) -> &str {
    text(value, &["metadata", "namespace"])
}

/// `metadata.uid`.
pub(crate) fn uid(value: &Value) -> &str {
    text(value, &["metadata", "uid"])
}

/// `metadata.resourceVersion` as a number; 0 where it is missing or unreadable.
pub(crate) fn resource_version(value: &Value) -> u64 {
    text(value, &["metadata", "resourceVersion"]).parse().unwrap_or(0)
}

/// Whether the object waits for its finalizers.
pub(crate) fn is_deleting(value: &Value) -> bool {
    at(value, &["metadata", "deletionTimestamp"]).is_some()
}

/// `metadata.finalizers`.
pub(crate) fn finalizers(value: &Value) -> Vec<String> {
    texts(value, &["metadata", "finalizers"])
}

/// Replaces `metadata.finalizers`; an empty list removes the key.
pub(crate) fn set_finalizers(value: &mut Value, finalizers: &[String]) {
    if finalizers.is_empty() {
        meta(value).remove("finalizers");
    } else {
        meta(value).insert("finalizers".into(), json!(finalizers));
    }
}

/// Drops nulls everywhere: a typed server forgets them when it reads an object.
pub(crate) fn strip_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, inner| !inner.is_null());
            map.values_mut().for_each(strip_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_nulls),
        _ => {}
    }
}

/// Sets a key to what `from` has under it, or removes it when `from` has nothing.
pub(crate) fn copy_key(from: &Value, into: &mut Value, key: &str) {
    match from.get(key) {
        Some(kept) => map_of(into).insert(key.into(), kept.clone()),
        None => map_of(into).remove(key),
    };
}

/// A timestamp as metadata shows it: whole seconds.
pub(crate) fn seconds(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
