//! Tags of all kinds of objects.

use http::StatusCode;
use serde_json::{Value, json};

use super::changes::{may_change, now};
use super::errors::{bad_request, internal, missing, not_found, path_unknown};
use super::model::Standard;
use crate::cloud::World;
use crate::http::json::JsonExt;
use crate::http::{ApiResponse, Body, Call, Reply};
use crate::table::Table;

/// The longest tag.
const TAG_CHARACTERS_MAX: usize = 255;

/// Requests below `/{collection}/{id}/tags`.
pub(super) fn serve(world: &mut World, call: &Call<'_>, collection: &str, id: &str, rest: &[&str]) -> Reply {
    let time = now(world);
    let network = &mut world.state.network;
    match collection {
        "networks" => on(&mut network.networks, call, collection, id, rest, &time),
        "subnets" => on(&mut network.subnets, call, collection, id, rest, &time),
        "ports" => on(&mut network.ports, call, collection, id, rest, &time),
        "routers" => on(&mut network.routers, call, collection, id, rest, &time),
        "floatingips" => on(&mut network.floating_ips, call, collection, id, rest, &time),
        "security-groups" => on(&mut network.security_groups, call, collection, id, rest, &time),
        "trunks" => on(&mut network.trunks, call, collection, id, rest, &time),
        _ => Err(path_unknown()),
    }
}

fn on<T: Standard>(
    table: &mut Table<T>,
    call: &Call<'_>,
    collection: &str,
    id: &str,
    rest: &[&str],
    time: &str,
) -> Reply {
    let row = table.get(id).filter(|row| call.caller.may_see(row.project_id()));
    // Neutron stumbles when tags are put on what is not there.
    let puts_all = call.request.method == http::Method::PUT && rest.is_empty();
    let row = row.ok_or_else(|| if puts_all { internal() } else { missing(collection, id) })?;
    let mut tags = row.tags().to_vec();
    let method = call.request.method.as_str();
    if method != "GET" {
        may_change(call.caller, row.project_id(), "update_tags", missing(collection, id))?;
    }
    let has = |tag: &str| tags.iter().any(|own| own == tag);
    let absent = |tag: &str| not_found("TagNotFound", &format!("Tag {tag} could not be found."));
    let empty = |status| ApiResponse::empty(status);
    let response = match (method, rest) {
        ("GET", []) => return Ok(ApiResponse::ok(json!({"tags": tags}))),
        ("GET", [tag]) if has(tag) => return Ok(empty(StatusCode::NO_CONTENT)),
        ("GET" | "DELETE", [tag]) if !has(tag) => return Err(absent(tag)),
        ("PUT", []) if !call.request.body.get("tags").is_some_and(Value::is_array) => {
            let found = call.request.body.text("tags").unwrap_or_default();
            let message = format!("Invalid input for operation: '{found}' is not a list.");
            return Err(bad_request("InvalidInput", &message));
        }
        ("PUT", []) => {
            tags = call.request.body.texts("tags");
            ApiResponse::ok(json!({"tags": tags}))
        }
        ("PUT", [tag]) => {
            if !has(tag) {
                tags.push((*tag).to_owned());
            }
            ApiResponse { body: Body::Json(Value::Null), ..empty(StatusCode::CREATED) }
        }
        ("DELETE", []) => {
            tags.clear();
            empty(StatusCode::NO_CONTENT)
        }
        ("DELETE", [tag]) => {
            tags.retain(|own| own != tag);
            empty(StatusCode::NO_CONTENT)
        }
        _ => return Err(path_unknown()),
    };
    if let Some(long) = tags.iter().find(|tag| tag.chars().count() > TAG_CHARACTERS_MAX) {
        let message = format!("Invalid input for operation: '{long}' exceeds maximum length of 255.");
        return Err(bad_request("InvalidInput", &message));
    }
    tags.sort();
    tags.dedup();
    table.update(id, |row| {
        *row.tags_mut() = tags;
        row.touch(time);
    });
    Ok(response)
}
