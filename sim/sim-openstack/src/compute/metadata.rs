//! Metadata and tags of servers, and key pairs of users.

use http::StatusCode;
use serde_json::{Value, json};

use super::errors::{bad_request, conflict, not_found, path_unknown};
use super::model::KeyPair;
use super::{ComputeCall, servers};
use crate::cloud::World;
use crate::http::json::JsonExt;
use crate::http::{ApiResponse, Reply};
use crate::ids::steady_id;

/// Requests below `/servers/{id}/metadata`.
pub(super) fn metadata(world: &mut World, call: &ComputeCall<'_>, id: &str, rest: &[&str]) -> Reply {
    let method = call.call.request.method.as_str();
    if method == "GET" {
        let server = servers::find(world, call, id)?;
        return match rest {
            [] => Ok(ApiResponse::ok(json!({"metadata": server.metadata}))),
            [key] => match server.metadata.get(*key) {
                Some(value) => Ok(ApiResponse::ok(json!({"meta": {*key: value}}))),
                None => Err(not_found("Metadata item was not found")),
            },
            _ => Err(path_unknown()),
        };
    }
    servers::find_to_change(world, call, id, "server-metadata:update_all")?;
    let body = &call.call.request.body;
    let given = body.get("metadata").or_else(|| body.get("meta")).and_then(Value::as_object).cloned();
    let given: Vec<(String, String)> = given
        .unwrap_or_default()
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.as_str()?.to_owned())))
        .collect();
    let changed = world.state.compute.servers.update(id, |server| {
        match (method, rest) {
            ("PUT", []) => server.metadata = given.into_iter().collect(),
            ("POST", []) | ("PUT", [_]) => server.metadata.extend(given),
            ("DELETE", [key]) => {
                server.metadata.remove(*key);
            }
            _ => return None,
        }
        Some(server.metadata.clone())
    });
    match changed.flatten() {
        None => Err(path_unknown()),
        Some(_) if method == "DELETE" => Ok(ApiResponse::empty(StatusCode::NO_CONTENT)),
        Some(metadata) => Ok(ApiResponse::ok(json!({"metadata": metadata}))),
    }
}

/// Requests below `/servers/{id}/tags`.
pub(super) fn tags(world: &mut World, call: &ComputeCall<'_>, id: &str, rest: &[&str]) -> Reply {
    let method = call.call.request.method.as_str();
    let server = servers::find(world, call, id)?;
    let mut tags = server.tags.clone();
    let has = |tags: &[String], tag: &str| tags.iter().any(|own| own == tag);
    let response = match (method, rest) {
        ("GET", []) => return Ok(ApiResponse::ok(json!({"tags": tags}))),
        ("GET", [tag]) if has(&tags, tag) => return Ok(ApiResponse::empty(StatusCode::NO_CONTENT)),
        ("GET" | "DELETE", [tag]) if !has(&tags, tag) => {
            return Err(not_found(&format!("Server {id} has no tag '{tag}'")));
        }
        ("PUT", []) => {
            tags = call.call.request.body.texts("tags");
            ApiResponse::ok(json!({"tags": tags}))
        }
        ("PUT", [tag]) if has(&tags, tag) => ApiResponse::empty(StatusCode::NO_CONTENT),
        ("PUT", [tag]) => {
            tags.push((*tag).to_owned());
            ApiResponse::empty(StatusCode::CREATED)
        }
        ("DELETE", []) => {
            tags.clear();
            ApiResponse::empty(StatusCode::NO_CONTENT)
        }
        ("DELETE", [tag]) => {
            tags.retain(|own| own != tag);
            ApiResponse::empty(StatusCode::NO_CONTENT)
        }
        _ => return Err(path_unknown()),
    };
    servers::find_to_change(world, call, id, "os-server-tags:update")?;
    world.state.compute.servers.update(id, |server| server.tags = tags);
    Ok(response)
}

/// Requests below `/os-keypairs`.
pub(super) fn keypairs(world: &mut World, call: &ComputeCall<'_>, rest: &[&str]) -> Reply {
    let user = call.call.caller.user_id.clone();
    let pairs = &mut world.state.compute.keypairs;
    match (call.call.request.method.as_str(), rest) {
        ("GET", []) => {
            let own = pairs.iter().filter(|((owner, _), _)| *owner == user);
            let shown: Vec<Value> = own.map(|(_, pair)| json!({"keypair": render(pair, &user)})).collect();
            Ok(ApiResponse::ok(json!({"keypairs": shown})))
        }
        ("GET", [name]) => match pairs.get(&(user.clone(), (*name).to_owned())) {
            Some(pair) => Ok(ApiResponse::ok(json!({"keypair": render(pair, &user)}))),
            None => Err(not_found(&format!("Keypair {name} not found for user {user}"))),
        },
        ("POST", []) => {
            let wanted = call.call.request.body.get("keypair").cloned().unwrap_or_default();
            let name = wanted.text("name").ok_or_else(|| bad_request("'name' is a required property"))?;
            let key = (user.clone(), name.to_owned());
            if pairs.contains_key(&key) {
                return Err(conflict(&format!("Key pair '{name}' already exists.")));
            }
            let public_key = wanted.text("public_key").unwrap_or("ssh-rsa AAAA simulated").to_owned();
            let fingerprint = steady_id(&public_key);
            let pair = KeyPair { name: name.to_owned(), public_key, fingerprint };
            let shown = render(&pair, &user);
            pairs.insert(key, pair);
            Ok(ApiResponse::ok(json!({"keypair": shown})))
        }
        ("DELETE", [name]) => match pairs.remove(&(user.clone(), (*name).to_owned())) {
            Some(_) => Ok(ApiResponse::empty(StatusCode::ACCEPTED)),
            None => Err(not_found(&format!("Keypair {name} not found for user {user}"))),
        },
        _ => Err(path_unknown()),
    }
}

fn render(pair: &KeyPair, user: &str) -> Value {
    json!({
        "name": pair.name, "public_key": pair.public_key, "fingerprint": pair.fingerprint,
        "type": "ssh", "user_id": user,
    })
}
