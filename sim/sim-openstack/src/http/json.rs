//! Small questions to JSON values, and changes to typed rows by way of JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The members of an object; nothing for anything else.
pub(crate) trait JsonExt {
    /// A member that is a string.
    fn text(&self, name: &str) -> Option<&str>;
    /// A member that is a boolean, also when written as text or number.
    fn flag(&self, name: &str) -> Option<bool>;
    /// A member that is a whole number, also when written as text.
    fn integer(&self, name: &str) -> Option<i64>;
    /// The elements of a member that is a list.
    fn list(&self, name: &str) -> &[Value];
    /// The strings in a member that is a list.
    fn texts(&self, name: &str) -> Vec<String>;
}

impl JsonExt for Value {
    fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Value::as_str)
    }

    fn flag(&self, name: &str) -> Option<bool> {
        match self.get(name)? {
            Value::Bool(value) => Some(*value),
            Value::String(text) => Some(matches!(text.to_ascii_lowercase().as_str(), "true" | "1" | "yes")),
            Value::Number(number) => number.as_i64().map(|number| number != 0),
            _ => None,
        }
    }

    fn integer(&self, name: &str) -> Option<i64> {
        match self.get(name)? {
            Value::Number(number) => number.as_i64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        }
    }

    fn list(&self, name: &str) -> &[Value] {
        self.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn texts(&self, name: &str) -> Vec<String> {
        self.list(name).iter().filter_map(Value::as_str).map(str::to_owned).collect()
    }
}

/// A row with the given members changed, those that may be; the error names the member whose value does not fit.
pub(crate) fn merged<T: Serialize + DeserializeOwned>(
    row: &T,
    changes: &Map<String, Value>,
    allowed: &[&str],
) -> Result<T, String> {
    let mut members = to_map(row);
    for (name, value) in changes.iter().filter(|(name, _)| allowed.contains(&name.as_str())) {
        let before = members.insert(name.clone(), value.clone());
        if serde_json::from_value::<T>(Value::Object(members.clone())).is_err() {
            return Err(before.map_or_else(|| name.clone(), |_| name.clone()));
        }
    }
    serde_json::from_value(Value::Object(members)).map_err(|error| error.to_string())
}

/// A row as a JSON object.
pub(crate) fn to_map<T: Serialize>(row: &T) -> Map<String, Value> {
    match serde_json::to_value(row) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

/// The members of an object, or none.
pub(crate) fn members(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

/// A copy with only the named members.
pub(crate) fn selected(value: Value, names: &[&str]) -> Value {
    match value {
        Value::Object(members) if !names.is_empty() => {
            Value::Object(members.into_iter().filter(|(name, _)| names.contains(&name.as_str())).collect())
        }
        other => other,
    }
}
