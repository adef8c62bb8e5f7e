//! Secrets: what is known about them, and their content.

use http::StatusCode;
use serde_json::{Value, json};

use super::{Secret, listed, not_found, path_unknown, refusal};
use crate::clock::plain;
use crate::cloud::World;
use crate::config::Service;
use crate::http::json::JsonExt;
use crate::http::{ApiResponse, Body, Call, Refusal, Reply};

/// Requests below `/v1/secrets`.
pub(super) fn serve(world: &mut World, call: &Call<'_>, rest: &[&str]) -> Reply {
    match (call.request.method.as_str(), rest) {
        ("GET", []) => {
            let name = call.request.query.get("name");
            let secrets = world.state.key_manager.secrets.from_position(None, false).filter(|secret| {
                secret.project_id == call.caller.project_id
                    && name.is_none_or(|name| secret.name.as_deref() == Some(name))
            });
            let all = secrets.map(|secret| render(world, secret)).collect();
            Ok(listed(world, call, "secrets", all))
        }
        ("POST", []) => create(world, call),
        ("GET", [id]) => Ok(ApiResponse::ok(render(world, find(world, call, id)?))),
        ("GET", [id, "payload"]) => {
            let secret = find(world, call, id)?;
            match &secret.payload {
                Some(payload) => Ok(ApiResponse {
                    status: StatusCode::OK,
                    headers: Vec::new(),
                    body: Body::Text(payload.clone(), "text/plain"),
                }),
                None => Err(not_found("secret")),
            }
        }
        ("DELETE", [id]) => {
            find(world, call, id)?;
            world.state.key_manager.secrets.remove(id);
            Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
        }
        _ => Err(path_unknown()),
    }
}

fn find<'a>(world: &'a World, call: &Call<'_>, id: &str) -> Result<&'a Secret, Refusal> {
    let secret = world.state.key_manager.secrets.get(id).ok_or_else(|| not_found("secret"))?;
    if call.caller.may_see(&secret.project_id) {
        Ok(secret)
    } else {
        Err(refusal(
            StatusCode::FORBIDDEN,
            "Secret retrieval attempt not allowed - please review your user/project privileges",
        ))
    }
}

fn create(world: &mut World, call: &Call<'_>) -> Reply {
    let wanted = &call.request.body;
    if !wanted.is_object() {
        return Err(refusal(StatusCode::BAD_REQUEST, "Provided object does not match schema 'Secret'"));
    }
    let secret = Secret {
        id: world.ids.uuid(),
        project_id: call.caller.project_id.clone(),
        creator_id: call.caller.user_id.clone(),
        name: wanted.text("name").map(str::to_owned),
        kind: wanted.text("secret_type").unwrap_or("opaque").to_owned(),
        payload: wanted.text("payload").map(str::to_owned),
        content_type: wanted.text("payload_content_type").unwrap_or("text/plain").to_owned(),
        expiration: wanted.text("expiration").map(str::to_owned),
        created: plain(world.now),
    };
    let reference = reference(world, &secret.id);
    world.state.key_manager.secrets.insert(secret);
    let body = json!({"secret_ref": reference});
    Ok(ApiResponse::json(StatusCode::CREATED, body).with("location", &reference))
}

/// The address of a secret, by which others name it.
pub(super) fn reference(world: &World, id: &str) -> String {
    format!("{}/v1/secrets/{id}", world.config.base(Service::KeyManager))
}

fn render(world: &World, secret: &Secret) -> Value {
    let mut shown = json!({
        "secret_ref": reference(world, &secret.id), "name": secret.name, "secret_type": secret.kind,
        "status": "ACTIVE", "algorithm": null, "bit_length": null, "mode": null,
        "creator_id": secret.creator_id, "expiration": secret.expiration,
        "created": secret.created, "updated": secret.created,
    });
    if let Some(shown) = shown.as_object_mut().filter(|_| secret.payload.is_some()) {
        shown.insert("content_types".into(), json!({"default": secret.content_type}));
    }
    shown
}
