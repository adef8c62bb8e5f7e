//! Keystone's refusals, in its words.

use http::StatusCode;
use serde_json::json;

use crate::cloud::World;
use crate::config::Service;
use crate::http::Refusal;

/// A refusal with Keystone's body.
pub(super) fn refusal(status: StatusCode, message: &str) -> Refusal {
    let title = status.canonical_reason().unwrap_or("Error");
    Refusal::json(status, json!({"error": {"code": status.as_u16(), "message": message, "title": title}}))
}

/// 401, the same words whatever was wrong.
pub(super) fn unauthorized(world: &World) -> Refusal {
    challenged(world, refusal(StatusCode::UNAUTHORIZED, "The request you have made requires authentication."))
}

/// 401 for an application credential that is used wrongly.
pub(super) fn application_credential_misused(world: &World, why: &str) -> Refusal {
    let message = format!("Error authenticating with application credential: {why}");
    let body = json!({"error": {"code": 401, "identity": {}, "message": message, "title": "Unauthorized"}});
    challenged(world, Refusal::json(StatusCode::UNAUTHORIZED, body))
}

fn challenged(world: &World, refusal: Refusal) -> Refusal {
    let uri = format!("Keystone uri=\"{}/v3\"", world.config.base(Service::Identity));
    refusal.with("www-authenticate", &uri)
}

/// 400.
pub(super) fn bad_request(message: &str) -> Refusal {
    refusal(StatusCode::BAD_REQUEST, message)
}

/// 403 by policy.
pub(super) fn forbidden(action: &str) -> Refusal {
    let message = format!("You are not authorized to perform the requested action: {action}.");
    refusal(StatusCode::FORBIDDEN, &message)
}

/// 404.
pub(super) fn not_found(kind: &str, id: &str) -> Refusal {
    refusal(StatusCode::NOT_FOUND, &format!("Could not find {kind}: {id}."))
}

/// 409 for a name that is taken.
pub(super) fn duplicate(kind: &str, name: &str) -> Refusal {
    let message =
        format!("Conflict occurred attempting to store {kind} - Duplicate entry found with name {name}.");
    refusal(StatusCode::CONFLICT, &message)
}

/// 404 for a path that Keystone does not have.
pub(super) fn path_unknown() -> Refusal {
    let message = "The requested URL was not found on the server. If you entered the URL manually please check \
                   your spelling and try again.";
    refusal(StatusCode::NOT_FOUND, message)
}
