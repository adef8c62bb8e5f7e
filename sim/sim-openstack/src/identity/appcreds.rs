//! Application credentials: a user makes them for itself.

use http::StatusCode;
use serde_json::{Value, json};

use super::errors::{bad_request, duplicate, forbidden, not_found};
use super::model::ApplicationCredential;
use super::resources::{collection, link};
use super::tokens;
use crate::clock::micros_zulu;
use crate::cloud::World;
use crate::http::json::JsonExt;
use crate::http::{ApiResponse, Call, Reply};

/// Requests below `/v3/users/{id}/application_credentials`.
pub(super) fn serve(world: &mut World, call: &Call<'_>, user_id: &str, rest: &[&str]) -> Reply {
    if call.caller.user_id != user_id && !call.caller.is_admin() {
        return Err(forbidden("identity:list_application_credentials"));
    }
    if call.request.method != http::Method::GET && is_restricted(world, call) {
        return Err(forbidden(
            "Using method 'application_credential' is not allowed for managing additional application credentials.",
        ));
    }
    match (call.request.method.as_str(), rest) {
        ("GET", []) => Ok(list(world, call, user_id)),
        ("POST", []) => create(world, call, user_id),
        ("GET", [id]) => {
            let credential = find(world, user_id, id)?;
            Ok(ApiResponse::ok(json!({"application_credential": render(world, credential)})))
        }
        ("DELETE", [id]) => {
            find(world, user_id, id)?;
            world.state.identity.application_credentials.remove(*id);
            Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
        }
        _ => Err(super::errors::path_unknown()),
    }
}

/// Whether the caller came with an application credential that may not make or remove others.
fn is_restricted(world: &World, call: &Call<'_>) -> bool {
    let identity = &world.state.identity;
    let token = call.request.header("x-auth-token").and_then(|text| identity.tokens.get(text));
    let credential = token.and_then(|token| token.application_credential_id.as_deref());
    let credential = credential.and_then(|id| identity.application_credentials.get(id));
    credential.is_some_and(|credential| credential.unrestricted != Some(true))
}

fn find<'a>(
    world: &'a World,
    user_id: &str,
    id: &str,
) -> Result<&'a ApplicationCredential, crate::http::Refusal> {
    let credentials = &world.state.identity.application_credentials;
    let credential = credentials.get(id).filter(|credential| credential.user_id == user_id);
    credential.ok_or_else(|| not_found("application credential", id))
}

fn list(world: &World, call: &Call<'_>, user_id: &str) -> ApiResponse {
    let name = call.request.query.get("name");
    let own = world.state.identity.application_credentials.values().filter(|credential| {
        credential.user_id == user_id && name.is_none_or(|name| credential.name == name)
    });
    let shown = own.map(|credential| render(world, credential)).collect();
    collection(world, call, "application_credentials", shown)
}

fn create(world: &mut World, call: &Call<'_>, user_id: &str) -> Reply {
    let wanted = call.request.body.get("application_credential").cloned().unwrap_or_default();
    let name = wanted.text("name").ok_or_else(|| bad_request("'name' is a required property"))?.to_owned();
    let identity = &world.state.identity;
    let own = |credential: &&ApplicationCredential| credential.user_id == user_id && credential.name == name;
    if identity.application_credentials.values().any(|credential| own(&credential)) {
        return Err(duplicate("application_credential", &name));
    }
    let has = identity.roles_of(user_id, &call.caller.project_id);
    let asked = wanted.list("roles");
    let roles = if asked.is_empty() {
        has
    } else {
        let role = |wanted: &Value| match wanted.text("id") {
            Some(id) => Some(id.to_owned()),
            None => identity.role_named(wanted.text("name")?).map(|role| role.id.clone()),
        };
        let roles: Option<Vec<String>> = asked.iter().map(role).collect();
        roles
            .filter(|roles| roles.iter().all(|role| has.contains(role)))
            .ok_or_else(|| bad_request("Invalid application credential: Could not find role assignment."))?
    };
    let credential = ApplicationCredential {
        id: world.ids.hex(),
        secret: wanted.text("secret").map_or_else(|| world.ids.secret(86), str::to_owned),
        name,
        user_id: user_id.to_owned(),
        project_id: call.caller.project_id.clone(),
        roles,
        unrestricted: wanted.flag("unrestricted"),
        description: wanted.text("description").map(str::to_owned),
        expires_at: wanted
            .text("expires_at")
            .and_then(|time| format!("{}Z", time.trim_end_matches('Z')).parse().ok()),
    };
    let mut shown = render(world, &credential);
    if let Some(shown) = shown.as_object_mut() {
        shown.insert("secret".into(), json!(credential.secret));
    }
    world.state.identity.application_credentials.insert(credential.id.clone(), credential);
    Ok(ApiResponse::json(StatusCode::CREATED, json!({"application_credential": shown})))
}

fn render(world: &World, credential: &ApplicationCredential) -> Value {
    let roles = credential.roles.iter().filter_map(|id| world.state.identity.roles.get(id));
    let path = format!("application_credentials/{}", credential.id);
    json!({
        "id": credential.id, "name": credential.name, "description": credential.description,
        "project_id": credential.project_id, "user_id": credential.user_id, "system": null,
        "unrestricted": credential.unrestricted,
        "expires_at": credential.expires_at.map(micros_zulu),
        "roles": roles.map(tokens::role).collect::<Vec<_>>(),
        "links": {"self": link(world, &path)},
    })
}
