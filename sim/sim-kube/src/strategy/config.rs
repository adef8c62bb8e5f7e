//! ConfigMaps and Secrets: their keys, and what is immutable.

use serde_json::{Value, json};

use crate::object::at;
use crate::status::FieldError;

const KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
                   'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const IMMUTABLE: &str = "field is immutable when `immutable` is set";

pub(super) fn validate(object: &Value) -> Vec<FieldError> {
    let parts = ["data", "binaryData"];
    let keys = parts.iter().flat_map(|part| {
        let map = at(object, &[part]).and_then(Value::as_object);
        map.into_iter().flatten().map(move |(key, _)| (*part, key))
    });
    let fits = |key: &str| {
        !key.is_empty()
            && key.chars().all(|sign| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_' | '.'))
    };
    keys.filter(|(_, key)| !fits(key))
        .map(|(part, key)| FieldError::invalid(format!("{part}[{key}]"), key.as_str(), KEY))
        .collect()
}

pub(super) fn validate_change(old: &Value, new: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if at(old, &["immutable"]) == Some(&json!(true)) {
        if at(new, &["immutable"]) != Some(&json!(true)) {
            errors.push(FieldError::forbidden("immutable", IMMUTABLE));
        }
        let changed = ["data", "binaryData"].into_iter().filter(|part| at(old, &[part]) != at(new, &[part]));
        errors.extend(changed.map(|part| FieldError::forbidden(part, IMMUTABLE)));
    }
    errors.extend(validate(new));
    errors
}
