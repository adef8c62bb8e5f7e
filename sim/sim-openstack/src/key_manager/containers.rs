//! Containers: a certificate with its key, by reference.

use std::collections::BTreeMap;

use http::StatusCode;
use serde_json::{Value, json};

use super::{Container, listed, not_found, path_unknown, refusal, secrets};
use crate::clock::plain;
use crate::cloud::World;
use crate::config::Service;
use crate::http::json::JsonExt;
use crate::http::{ApiResponse, Call, Refusal, Reply};

/// Requests below `/v1/containers`.
pub(super) fn serve(world: &mut World, call: &Call<'_>, rest: &[&str]) -> Reply {
    match (call.request.method.as_str(), rest) {
        ("GET", []) => {
            let own = world.state.key_manager.containers.from_position(None, false);
            let own = own.filter(|container| container.project_id == call.caller.project_id);
            let all = own.map(|container| render(world, container)).collect();
            Ok(listed(world, call, "containers", all))
        }
        ("POST", []) => create(world, call),
        ("GET", [id]) => Ok(ApiResponse::ok(render(world, find(world, call, id)?))),
        ("DELETE", [id]) => {
            find(world, call, id)?;
            world.state.key_manager.containers.remove(id);
            Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
        }
        _ => Err(path_unknown()),
    }
}

fn find<'a>(world: &'a World, call: &Call<'_>, id: &str) -> Result<&'a Container, Refusal> {
    let container = world.state.key_manager.containers.get(id);
    container
        .filter(|container| call.caller.may_see(&container.project_id))
        .ok_or_else(|| not_found("container"))
}

fn create(world: &mut World, call: &Call<'_>) -> Reply {
    let wanted = &call.request.body;
    let kind = wanted.text("type").ok_or_else(|| {
        refusal(
            StatusCode::BAD_REQUEST,
            "Provided object does not match schema 'Container': 'type' is a required property.",
        )
    })?;
    let mut secrets = BTreeMap::new();
    for entry in wanted.list("secret_refs") {
        let reference = entry.text("secret_ref").unwrap_or_default();
        let id = reference.rsplit('/').next().unwrap_or_default();
        if !world.state.key_manager.secrets.contains(id) {
            return Err(refusal(StatusCode::NOT_FOUND, "Secret provided doesn't exist."));
        }
        secrets.insert(entry.text("name").unwrap_or_default().to_owned(), id.to_owned());
    }
    let container = Container {
        id: world.ids.uuid(),
        project_id: call.caller.project_id.clone(),
        creator_id: call.caller.user_id.clone(),
        name: wanted.text("name").map(str::to_owned),
        kind: kind.to_owned(),
        secrets,
        created: plain(world.now),
    };
    let reference = reference(world, &container.id);
    world.state.key_manager.containers.insert(container);
    let body = json!({"container_ref": reference});
    Ok(ApiResponse::json(StatusCode::CREATED, body).with("location", &reference))
}

fn reference(world: &World, id: &str) -> String {
    format!("{}/v1/containers/{id}", world.config.base(Service::KeyManager))
}

fn render(world: &World, container: &Container) -> Value {
    let secrets = container.secrets.iter();
    let secrets =
        secrets.map(|(name, id)| json!({"name": name, "secret_ref": secrets::reference(world, id)}));
    json!({
        "container_ref": reference(world, &container.id), "name": container.name, "type": container.kind,
        "status": "ACTIVE", "creator_id": container.creator_id, "consumers": [],
        "secret_refs": secrets.collect::<Vec<_>>(), "created": container.created, "updated": container.created,
    })
}
