//! Octavia's refusals, in its words.

use http::StatusCode;
use serde_json::json;

use crate::http::Refusal;

/// A refusal with Octavia's body.
pub(super) fn refusal(status: StatusCode, message: &str) -> Refusal {
    let code = if status.is_server_error() { "Server" } else { "Client" };
    Refusal::json(status, json!({"faultcode": code, "faultstring": message, "debuginfo": null}))
}

/// 400.
pub(super) fn bad_request(message: &str) -> Refusal {
    refusal(StatusCode::BAD_REQUEST, message)
}

/// 400 by a rule of Octavia's.
pub(super) fn invalid(reason: &str) -> Refusal {
    bad_request(&format!("Validation failure: {reason}"))
}

/// 400 for a value that does not fit.
pub(super) fn bad_value(attribute: &str, value: &str, reason: &str) -> Refusal {
    bad_request(&format!("Invalid input for field/attribute {attribute}. Value: '{value}'. {reason}"))
}

/// 400 for something that must be given.
pub(super) fn mandatory(attribute: &str) -> Refusal {
    bad_value(attribute, "None", "Mandatory field missing.")
}

/// 403 by policy.
pub(super) fn policy() -> Refusal {
    refusal(StatusCode::FORBIDDEN, "Policy does not allow this request to be performed.")
}

/// 403 by quota.
pub(super) fn over_quota(resource: &str) -> Refusal {
    refusal(StatusCode::FORBIDDEN, &format!("Quota has been met for resources: {resource}"))
}

/// 404.
pub(super) fn not_found(kind: &str, id: &str) -> Refusal {
    refusal(StatusCode::NOT_FOUND, &format!("{kind} {id} not found."))
}

/// 409.
pub(super) fn conflict(message: &str) -> Refusal {
    refusal(StatusCode::CONFLICT, message)
}

/// 409 while something is being changed.
pub(super) fn immutable(kind: &str, id: &str) -> Refusal {
    conflict(&format!("{kind} {id} is immutable and cannot be updated."))
}

/// 501 for what a provider lacks.
pub(super) fn unsupported(provider: &str, what: &str) -> Refusal {
    let message = format!("Provider '{provider}' does not support a requested option: {what}");
    refusal(StatusCode::NOT_IMPLEMENTED, &message)
}

/// 404 below a pool, which has a form of its own.
pub(super) fn no_pool(id: &str) -> Refusal {
    let description = format!("Pool {id} not found.");
    let body = json!({"code": 404, "title": "Bad Request", "description": description});
    Refusal::json(StatusCode::NOT_FOUND, body)
}

/// 400 for a limit that is none, which has a form of its own.
pub(super) fn bad_limit(text: &str) -> Refusal {
    let description = format!("Supplied pagination limit '{text}' is not valid.");
    let body = json!({"code": 400, "title": "Bad Request", "description": description});
    Refusal::json(StatusCode::BAD_REQUEST, body)
}

/// 404 of a path that Octavia does not have.
pub(super) fn path_unknown() -> Refusal {
    Refusal::json(StatusCode::NOT_FOUND, json!({"code": 404, "title": "Not Found", "description": ""}))
}

/// 405.
pub(super) fn method_not_allowed() -> Refusal {
    let body = json!({"code": 405, "title": "Method Not Allowed", "description": ""});
    Refusal::json(StatusCode::METHOD_NOT_ALLOWED, body)
}

/// 500 for a body that is a list.
pub(super) fn not_an_object() -> Refusal {
    refusal(StatusCode::INTERNAL_SERVER_ERROR, "'list' object has no attribute 'keys'")
}
