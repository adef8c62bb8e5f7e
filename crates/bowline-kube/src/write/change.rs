//! What to change, and the guard that goes with it into the same patch, so that the server checks both as one. Pure.

use kube::api::Patch;
use serde_json::{Map, Value, json};

/// What must still be true for a change to apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Guard {
    /// Nobody wrote the object since we read this version.
    ResourceVersion(String),
    /// It is still the same object, whatever else changed.
    Uid(String),
}

/// A change of an object.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A JSON merge patch (lists are replaced whole).
    Merge(Value),
    /// A strategic merge patch, with its `$patch` directives written out.
    Strategic(Value),
    /// The operations of a JSON patch. The server does not say which test failed: an object that was replaced is a
    /// conflict here, where the other kinds of patch tell it apart.
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
    /// Whether this changes nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Merge(patch) | Self::Strategic(patch) => changes_nothing(patch),
            Self::Json(operations) => operations.is_empty(),
        }
    }

    /// The patch to send: the change and its guard.
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

/// An object without leaves says nothing; `null` deletes a field, so it is a change unless it is all there is.
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
