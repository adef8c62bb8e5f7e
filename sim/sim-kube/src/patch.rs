//! Patches as pure functions: a document and a patch in, the patched document out.
//!
//! The three patch formats are here and in the modules below, server-side apply in [`apply`], and the upkeep of
//! `metadata.managedFields` in [`managed`]. Nothing here stores, validates, defaults or reads a clock.

pub mod apply;
mod compare;
mod field_set;
mod json;
pub mod managed;
mod remove;
mod schema;
mod strategic;

use serde_json::{Value, json};

pub use schema::MergeSchema;

/// What a refused JSON patch is told, whatever the reason: the real server says no more.
const REJECTED: &str = "the server rejected our request due to an error in our request";

/// The formats of a patch that are no apply configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchKind {
    /// RFC 6902: a list of operations.
    Json,
    /// RFC 7386: a partial document.
    Merge,
    /// Kubernetes' own: a partial document with directives, lists merged by keys.
    Strategic,
}

/// Why a patch was not applied.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PatchError {
    /// The patch is not one of its format.
    #[error("{0}")]
    BadRequest(String),
    /// A JSON patch does not fit the document; the text says why, the client is not told.
    #[error("{0}")]
    Rejected(String),
    /// A strategic merge patch for a kind whose fields nobody knows.
    #[error("strategic merge patch format is not supported")]
    Unsupported,
    /// Directives that contradict the document; the real server calls this its own error.
    #[error("{0}")]
    Internal(String),
}

impl PatchKind {
    /// The format that a content type names, with or without parameters.
    #[must_use]
    pub fn of_content_type(content_type: &str) -> Option<Self> {
        match content_type.split(';').next().unwrap_or_default().trim() {
            "application/json-patch+json" => Some(Self::Json),
            "application/merge-patch+json" => Some(Self::Merge),
            "application/strategic-merge-patch+json" => Some(Self::Strategic),
            _ => None,
        }
    }
}

impl PatchError {
    /// The `Status` that the API answers with.
    #[must_use]
    pub fn status(&self) -> Value {
        match self {
            Self::BadRequest(message) => failure(400, "BadRequest", message),
            Self::Rejected(_) => {
                let mut status = failure(422, "Invalid", REJECTED);
                if let Value::Object(fields) = &mut status {
                    fields.insert("details".to_owned(), json!({}));
                }
                status
            }
            Self::Unsupported => failure(
                415,
                "UnsupportedMediaType",
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
            ),
            Self::Internal(message) => failure(500, "", message),
        }
    }
}

/// Applies `patch` to `current`.
///
/// # Errors
/// When the patch is malformed, or does not fit the document.
pub fn patched(
    kind: PatchKind,
    schema: &MergeSchema,
    current: &Value,
    patch: &Value,
) -> Result<Value, PatchError> {
    match kind {
        PatchKind::Json => json::patched(current, patch),
        PatchKind::Merge => {
            require_object(patch, "error decoding patch: ")?;
            let mut document = current.clone();
            json_patch::merge(&mut document, patch);
            Ok(document)
        }
        PatchKind::Strategic if schema.is_custom() => Err(PatchError::Unsupported),
        PatchKind::Strategic => {
            require_object(patch, "")?;
            strategic::patched(schema, current, patch)
        }
    }
}

/// Go's words for a document of the wrong kind.
fn require_object(patch: &Value, prefix: &str) -> Result<(), PatchError> {
    if patch.is_object() {
        return Ok(());
    }
    let found = go_kind(patch);
    let wanted = "map[string]interface {}";
    Err(PatchError::BadRequest(format!(
        "{prefix}json: cannot unmarshal {found} into Go value of type {wanted}"
    )))
}

pub(crate) fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn failure(code: u16, reason: &str, message: &str) -> Value {
    let mut status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "code": code,
    });
    if let (Value::Object(fields), false) = (&mut status, reason.is_empty()) {
        fields.insert("reason".to_owned(), reason.into());
    }
    status
}

#[cfg(test)]
mod tests;
