//! Keystone's refusals, in its words.

use http::StatusCode;
use serde_json::json;

use crate::cloud::World;
use crate::config::Service;
use crate::http::{ApiResponse, Body, Refusal};

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

/// 404 for a token that is none.
pub(super) fn unknown_token() -> Refusal {
    refusal(StatusCode::NOT_FOUND, "Could not recognize Fernet token")
}

/// 404, not 401, for an application credential that is not there: when logging in, and for the tokens it gave.
pub(super) fn no_application_credential(id: &str) -> Refusal {
    not_found("Application Credential", id)
}

/// 401 for a way to authenticate that there is not, with those that there are.
pub(super) fn unsupported_method(world: &World) -> Refusal {
    let methods =
        ["external", "password", "token", "oauth1", "mapped", "application_credential", "ec2credential"];
    let message = "Attempted to authenticate with an unsupported method.";
    let identity = json!({"methods": methods});
    let body =
        json!({"error": {"code": 401, "identity": identity, "message": message, "title": "Unauthorized"}});
    challenged(world, Refusal::json(StatusCode::UNAUTHORIZED, body))
}

/// 400 for a body in which something is not found.
pub(super) fn malformed(expected: &str) -> Refusal {
    bad_request(&format!(
        "Expecting to find {expected}. The server could not comply with the request since it is either malformed or \
         otherwise incorrect. The client is assumed to be in error."
    ))
}

/// 409 for a project whose name is taken.
pub(super) fn duplicate_project(name: &str, id: &str) -> Refusal {
    let message = format!(
        "Conflict occurred attempting to store project - it is not permitted to have two projects with either the same \
         name or same id in the same domain: name is {name}, project id {id}."
    );
    refusal(StatusCode::CONFLICT, &message)
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

/// 404 for a path that Keystone does not have: a page of the framework below it, not of Keystone.
pub(super) fn path_unknown() -> Refusal {
    let page = "<!doctype html>\n<html lang=en>\n<title>404 Not Found</title>\n<h1>Not Found</h1>\n<p>The requested URL was not \
                found on the server. If you entered the URL manually please check your spelling and try again.</p>\n";
    let body = Body::Text(page.to_owned(), "text/html; charset=utf-8");
    Refusal::from(ApiResponse { status: StatusCode::NOT_FOUND, headers: Vec::new(), body })
}
