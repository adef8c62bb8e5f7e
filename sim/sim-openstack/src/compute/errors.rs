//! Nova's refusals, in its words.

use http::{HeaderValue, StatusCode};
use serde_json::json;

use crate::http::{ApiResponse, Body, Refusal};

/// A refusal with Nova's body. Nova says the character set only when it refuses.
pub(super) fn refusal(status: StatusCode, kind: &str, message: &str) -> Refusal {
    let body = json!({kind: {"code": status.as_u16(), "message": message}});
    Refusal::json(status, body).with("content-type", "application/json; charset=UTF-8")
}

/// 400.
pub(super) fn bad_request(message: &str) -> Refusal {
    refusal(StatusCode::BAD_REQUEST, "badRequest", message)
}

/// 403.
pub(super) fn forbidden(message: &str) -> Refusal {
    refusal(StatusCode::FORBIDDEN, "forbidden", message)
}

/// 403 by policy.
pub(super) fn policy(rule: &str) -> Refusal {
    forbidden(&format!("Policy doesn't allow {rule} to be performed."))
}

/// 404.
pub(super) fn not_found(message: &str) -> Refusal {
    refusal(StatusCode::NOT_FOUND, "itemNotFound", message)
}

/// 404 of a server.
pub(super) fn no_server(id: &str) -> Refusal {
    not_found(&format!("Instance {id} could not be found."))
}

/// 409.
pub(super) fn conflict(message: &str) -> Refusal {
    refusal(StatusCode::CONFLICT, "conflictingRequest", message)
}

/// 404 of a path that Nova does not have.
pub(super) fn path_unknown() -> Refusal {
    let message = "The resource could not be found.<br /><br />\n\n\n";
    let body = json!({"message": message, "code": "404 Not Found", "title": "Not Found"});
    Refusal::json(StatusCode::NOT_FOUND, body)
}

/// Whether a refusal comes from before Nova's own code, which adds no microversion headers.
pub(super) fn is_path_unknown(refusal: &Refusal) -> bool {
    let response: ApiResponse = refusal.clone().into_response();
    let json = HeaderValue::from_static("application/json; charset=UTF-8");
    matches!(&response.body, Body::Json(body) if body.get("title").is_some())
        && !response.headers.iter().any(|(_, value)| *value == json)
}
