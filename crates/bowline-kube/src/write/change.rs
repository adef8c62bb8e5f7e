//! A change and its guard, which are sent in one patch so that the API server checks and applies them atomically. Pure.

use kube::api::Patch;
use serde_json::{Map, Value, json};

/// The condition under which a change applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Guard {
    /// No client wrote the object since this version was read.
    ResourceVersion(String),
    /// The object still has this UID, whatever else changed.
    Uid(String),
}

/// A change of an object.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A JSON merge patch (lists are replaced as a whole).
    Merge(Value),
    /// A strategic merge patch, including its `$patch` directives.
    Strategic(Value),
    /// The operations of a JSON patch. The API server does not report which test failed, so a replaced object is a conflict here, whereas
    /// the other kinds of patch report it as replaced.
    Json(Vec<Value>),
}

impl Guard {
    fn field(&self) -> (&'static str, &str) {
        match self {
            Self::ResourceVersion(version) => ("resourceVersion", version),
            Self::Uid(uid) => ("uid", uid),
        }
    }
}

impl Change {
    /// Whether this is an empty change.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Merge(patch) | Self::Strategic(patch) => changes_nothing(patch),
            Self::Json(operations) => operations.is_empty(),
        }
    }

    /// The patch to send: the change with its guard.
    pub(super) fn guarded(self, guard: &Guard) -> Result<Patch<Value>, String> {
        let (field, value) = guard.field();
        if value.is_empty() {
            return Err(format!("a change needs the {field} that was read, but none was given"));
        }
        match self {
            Self::Merge(patch) => guard_object(patch, field, value).map(Patch::Merge),
            Self::Strategic(patch) => guard_object(patch, field, value).map(Patch::Strategic),
            Self::Json(operations) => {
                let mut all =
                    vec![json!({"op": "test", "path": format!("/metadata/{field}"), "value": value})];
                all.extend(operations);
                serde_json::from_value(Value::Array(all))
                    .map(Patch::Json)
                    .map_err(|error| format!("not a JSON patch: {error}"))
            }
        }
    }
}

/// Nested objects without any leaf are an empty change. `null` deletes a field, so it is a change, unless the whole patch is `null`.
fn changes_nothing(patch: &Value) -> bool {
    fn is_hollow(value: &Value) -> bool {
        value.as_object().is_some_and(|object| object.values().all(is_hollow))
    }
    patch.is_null() || is_hollow(patch)
}

fn guard_object(patch: Value, field: &str, value: &str) -> Result<Value, String> {
    let Value::Object(mut patch) = patch else {
        return Err("a merge patch must be an object".to_owned());
    };
    let metadata = patch.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    let Value::Object(metadata) = metadata else {
        return Err("metadata in a patch must be an object".to_owned());
    };
    metadata.insert(field.to_owned(), Value::String(value.to_owned()));
    Ok(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_says_something_is_a_change() {
        for empty in [
            json!({}),
            json!(null),
            json!({"metadata": {}}),
            json!({"metadata": {"labels": {}}, "status": {}}),
        ] {
            assert!(Change::Merge(empty.clone()).is_empty(), "{empty}");
            assert!(Change::Strategic(empty.clone()).is_empty(), "{empty}");
        }
        for full in
            [json!({"spec": {"taints": null}}), json!({"status": {"addresses": []}}), json!({"a": false})]
        {
            assert!(!Change::Merge(full.clone()).is_empty(), "{full}");
        }
        assert!(Change::Json(vec![]).is_empty());
    }

    #[test]
    fn the_guard_is_part_of_the_patch() {
        let uid = Guard::Uid("u-1".into());
        let change = Change::Strategic(json!({"metadata": {"labels": {"a": "b"}}}));
        let Ok(Patch::Strategic(patch)) = change.guarded(&uid) else { panic!() };
        assert_eq!(patch, json!({"metadata": {"labels": {"a": "b"}, "uid": "u-1"}}));
        let version = Guard::ResourceVersion("7".into());
        let Ok(Patch::Merge(patch)) = Change::Merge(json!({"spec": {"x": 1}})).guarded(&version) else {
            panic!()
        };
        assert_eq!(patch, json!({"metadata": {"resourceVersion": "7"}, "spec": {"x": 1}}));
        let operation = json!({"op": "remove", "path": "/metadata/finalizers/0"});
        let patch = Change::Json(vec![operation.clone()]).guarded(&uid).unwrap();
        let test = json!({"op": "test", "path": "/metadata/uid", "value": "u-1"});
        let Patch::Json(patch) = patch else { panic!() };
        assert_eq!(serde_json::to_value(patch).unwrap(), json!([test, operation]));
    }

    #[test]
    fn a_change_without_a_guard_cannot_be_made() {
        assert!(Change::Merge(json!({"a": 1})).guarded(&Guard::Uid(String::new())).is_err());
        assert!(Change::Merge(json!([1])).guarded(&Guard::Uid("u".into())).is_err());
        assert!(Change::Json(vec![json!({"op": "dance"})]).guarded(&Guard::Uid("u".into())).is_err());
    }
}
