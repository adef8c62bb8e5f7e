//! Keystone v3: domains, projects, users, roles, tokens, application credentials, trusts, catalog, discovery.

mod appcreds;
mod auth;
mod catalog;
mod errors;
mod model;
mod resources;
mod tokens;
mod trusts;

use http::StatusCode;
use jiff::Timestamp;
use serde_json::json;

use crate::cloud::World;
use crate::config::Service;
use crate::http::{ApiRequest, ApiResponse, Call, Caller, Reply};

pub use model::{ApplicationCredential, Domain, IdentityState, Project, Role, Scope, Token, Trust, User};

#[cfg(test)]
mod tests;

/// Answers a request to Keystone.
pub(crate) fn serve(world: &mut World, request: &ApiRequest) -> Reply {
    let parts = request.parts();
    match (request.method.as_str(), parts.as_slice()) {
        ("GET", []) => Ok(versions(world)),
        ("GET", ["v3"]) => Ok(ApiResponse::ok(json!({"version": version(world)}))),
        ("POST", ["v3", "auth", "tokens"]) => auth::issue(world, request),
        (_, ["v3", rest @ ..]) => {
            let caller = own_caller(world, request)?;
            resources::serve(world, &Call { request, caller: &caller }, rest)
        }
        _ => Err(errors::path_unknown()),
    }
}

fn version(world: &World) -> serde_json::Value {
    let href = format!("{}/v3/", world.config.base(Service::Identity));
    json!({
        "id": "v3.14", "status": "stable", "updated": "2020-04-07T00:00:00Z",
        "links": [{"rel": "self", "href": href}],
        "media-types": [{"base": "application/json", "type": "application/vnd.openstack.identity-v3+json"}],
    })
}

fn versions(world: &World) -> ApiResponse {
    let body = json!({"versions": {"values": [version(world)]}});
    let location = format!("{}/v3/", world.config.base(Service::Identity));
    ApiResponse::json(StatusCode::MULTIPLE_CHOICES, body).with("location", &location)
}

/// Who asks, when Keystone itself is asked.
fn own_caller(world: &World, request: &ApiRequest) -> Result<Caller, crate::http::Refusal> {
    let identity = &world.state.identity;
    let token = request.header("x-auth-token").and_then(|text| identity.tokens.get(text));
    if let Some(lost) = token.and_then(|token| identity.lost_credential(token)) {
        return Err(errors::no_application_credential(lost));
    }
    caller(world, request).ok_or_else(|| errors::unauthorized(world))
}

/// Who asks, when another service is asked: its middleware has words of its own.
pub(crate) fn authenticate(world: &World, request: &ApiRequest) -> Result<Caller, crate::http::Refusal> {
    caller(world, request).ok_or_else(|| {
        let message = "The request you have made requires authentication.";
        let body = json!({"error": {"code": 401, "title": "Unauthorized", "message": message}});
        let uri = format!("Keystone uri=\"{}\"", world.config.base(Service::Identity));
        crate::http::Refusal::json(StatusCode::UNAUTHORIZED, body).with("www-authenticate", &uri)
    })
}

fn caller(world: &World, request: &ApiRequest) -> Option<Caller> {
    let token = world.state.identity.valid_token(request.header("x-auth-token")?, world.now)?;
    let identity = &world.state.identity;
    let roles = token.roles.iter().filter_map(|id| identity.roles.get(id)).map(|role| role.name.clone());
    Some(Caller {
        user_id: token.user_id.clone(),
        project_id: token.scope.project_id().unwrap_or_default().to_owned(),
        roles: roles.collect(),
    })
}

/// The project of a request's token, or nothing.
pub(crate) fn project_of(world: &World, request: &ApiRequest) -> String {
    caller(world, request).map(|caller| caller.project_id).unwrap_or_default()
}

/// Lets every token expire now.
pub(crate) fn expire_all_tokens(identity: &mut IdentityState, now: Timestamp) {
    for token in identity.tokens.values_mut() {
        token.expires_at = token.expires_at.min(now);
    }
}
