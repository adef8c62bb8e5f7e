//! What is wrong with one field, worded as the real server's validation words it.

use std::fmt;

use serde_json::{Value, json};

/// One complaint about one field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FieldError {
    field: String,
    fault: Fault,
    detail: String,
}

#[derive(Debug, Clone, PartialEq)]
enum Fault {
    Required,
    Invalid(Value),
    Forbidden,
    NotSupported(Value),
    /// The value as it is shown, which is not JSON of ours.
    DuplicateShown(String),
    Duplicate(Value),
    TooLong,
}

impl FieldError {
    fn new(field: impl Into<String>, fault: Fault, detail: impl Into<String>) -> Self {
        Self { field: field.into(), fault, detail: detail.into() }
    }

    pub(crate) fn required(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(field, Fault::Required, detail)
    }

    pub(crate) fn invalid(
        field: impl Into<String>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(field, Fault::Invalid(value.into()), detail)
    }

    pub(crate) fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(field, Fault::Forbidden, detail)
    }

    pub(crate) fn duplicate(field: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::new(field, Fault::Duplicate(value.into()), "")
    }

    /// A duplicate whose value the real server shows in Go's form.
    pub(crate) fn duplicate_shown(
        field: impl Into<String>,
        shown: String,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(field, Fault::DuplicateShown(shown), detail)
    }

    pub(crate) fn too_long(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(field, Fault::TooLong, detail)
    }

    pub(crate) fn not_supported(field: impl Into<String>, value: impl Into<Value>, known: &[&str]) -> Self {
        let known: Vec<String> = known.iter().map(|name| format!("\"{name}\"")).collect();
        let detail = format!("supported values: {}", known.join(", "));
        Self::new(field, Fault::NotSupported(value.into()), detail)
    }

    /// The complaint without the field's name.
    fn words(&self) -> String {
        let head = match &self.fault {
            Fault::Required => "Required value".to_owned(),
            Fault::Forbidden => "Forbidden".to_owned(),
            Fault::Invalid(value) => format!("Invalid value: {}", shown(value)),
            Fault::NotSupported(value) => format!("Unsupported value: {}", shown(value)),
            Fault::Duplicate(value) => format!("Duplicate value: {}", shown(value)),
            Fault::TooLong => "Too long".to_owned(),
            Fault::DuplicateShown(shown) => format!("Duplicate value: {shown}"),
        };
        if self.detail.is_empty() { head } else { format!("{head}: {}", self.detail) }
    }

    /// The entry of `details.causes`.
    pub(crate) fn cause(&self) -> Value {
        let reason = match &self.fault {
            Fault::Required => "FieldValueRequired",
            Fault::Forbidden => "FieldValueForbidden",
            Fault::Invalid(_) => "FieldValueInvalid",
            Fault::NotSupported(_) => "FieldValueNotSupported",
            Fault::Duplicate(_) | Fault::DuplicateShown(_) => "FieldValueDuplicate",
            Fault::TooLong => "FieldValueTooLong",
        };
        json!({"reason": reason, "message": self.words(), "field": self.field})
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.field, self.words())
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}").replace("\\0", "\\x00"), // as Go quotes it
        other => other.to_string(),
    }
}
