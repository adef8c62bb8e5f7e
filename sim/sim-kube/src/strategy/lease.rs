//! Leases: the few values that are checked.

use serde_json::Value;

use crate::object;
use crate::status::FieldError;

pub(super) fn validate(object: &Value) -> Vec<FieldError> {
    let number = |key| object::at(object, &["spec", key]).and_then(Value::as_i64);
    let mut errors = Vec::new();
    if let Some(seconds) = number("leaseDurationSeconds").filter(|seconds| *seconds <= 0) {
        errors.push(FieldError::invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"));
    }
    if let Some(count) = number("leaseTransitions").filter(|count| *count < 0) {
        errors.push(FieldError::invalid(
            "spec.leaseTransitions",
            count,
            "must be greater than or equal to 0",
        ));
    }
    errors
}
