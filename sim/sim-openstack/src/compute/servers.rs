//! Requests about servers.

use http::StatusCode;
use serde_json::json;

use super::errors::{no_server, path_unknown, policy};
use super::model::{Server, Transition};
use super::render::{self, View};
use super::{ComputeCall, actions, collection, create, interfaces, metadata};
use crate::clock::later;
use crate::cloud::World;
use crate::http::json::JsonExt;
use crate::http::{ApiResponse, Refusal, Reply};
use crate::schedule::Effect;

/// What the answer to a change does not show before 2.75.
const UNSHOWN_AFTER_CHANGE: [&str; 6] = [
    "OS-SRV-USG:launched_at",
    "OS-SRV-USG:terminated_at",
    "config_drive",
    "key_name",
    "os-extended-volumes:volumes_attached",
    "security_groups",
];

/// Requests below `/servers`.
pub(super) fn serve(world: &mut World, call: &ComputeCall<'_>, rest: &[&str]) -> Reply {
    match (call.call.request.method.as_str(), rest) {
        ("GET", []) => collection::list(world, call, false),
        ("GET", ["detail"]) => collection::list(world, call, true),
        ("POST", []) => create::create(world, call),
        ("GET", [id]) => show(world, call, id),
        ("PUT", [id]) => change(world, call, id),
        ("DELETE", [id]) => delete(world, call, id),
        ("POST", [id, "action"]) => actions::act(world, call, id),
        (_, [id, "os-interface", rest @ ..]) => interfaces::serve(world, call, id, rest),
        (_, [id, "metadata", rest @ ..]) => metadata::metadata(world, call, id, rest),
        (_, [id, "tags", rest @ ..]) => metadata::tags(world, call, id, rest),
        ("GET", [id, "ips"]) => {
            let server = find(world, call, id)?;
            Ok(ApiResponse::ok(json!({"addresses": render::plain_addresses(world, server)})))
        }
        ("GET", [id, "os-security-groups"]) => interfaces::security_groups(world, call, id),
        ("GET", [id, "os-volume_attachments"]) => {
            find(world, call, id)?;
            Ok(ApiResponse::ok(json!({"volumeAttachments": []})))
        }
        ("GET", [id, "os-instance-actions"]) => {
            find(world, call, id)?;
            Ok(ApiResponse::ok(json!({"instanceActions": []})))
        }
        _ => Err(path_unknown()),
    }
}

/// A server the caller may see.
pub(super) fn find<'a>(world: &'a World, call: &ComputeCall<'_>, id: &str) -> Result<&'a Server, Refusal> {
    let server = world.state.compute.servers.get(id);
    server.filter(|server| call.call.caller.may_see(&server.project_id)).ok_or_else(|| no_server(id))
}

/// A server the caller may change.
pub(super) fn find_to_change<'a>(
    world: &'a World,
    call: &ComputeCall<'_>,
    id: &str,
    rule: &str,
) -> Result<&'a Server, Refusal> {
    let server = find(world, call, id)?;
    if call.call.caller.may_write() { Ok(server) } else { Err(policy(&format!("os_compute_api:{rule}"))) }
}

fn show(world: &World, call: &ComputeCall<'_>, id: &str) -> Reply {
    let server = find(world, call, id)?;
    let shown = render::full(world, call.call.caller, call.version, View::Single, server);
    Ok(ApiResponse::ok(json!({"server": shown})))
}

fn change(world: &mut World, call: &ComputeCall<'_>, id: &str) -> Reply {
    find_to_change(world, call, id, "servers:update")?;
    let wanted = call.call.request.body.get("server").cloned().unwrap_or_default();
    let now = world.now;
    world.state.compute.servers.update(id, |server| {
        server.updated = now;
        if let Some(name) = wanted.text("name") {
            name.clone_into(&mut server.name);
        }
        if let Some(description) = wanted.get("description") {
            server.description = description.as_str().map(str::to_owned);
        }
        if let Some(address) = wanted.text("accessIPv4") {
            address.clone_into(&mut server.access.0);
        }
        if let Some(address) = wanted.text("accessIPv6") {
            address.clone_into(&mut server.access.1);
        }
    });
    let server = find(world, call, id)?;
    let mut shown = render::full(world, call.call.caller, call.version, View::Single, server);
    if let Some(shown) = shown.as_object_mut().filter(|_| !call.version.has(75)) {
        shown
            .retain(|name, _| !UNSHOWN_AFTER_CHANGE.contains(&name.as_str()) && !name.starts_with("OS-EXT-"));
        shown.insert("addresses".into(), render::plain_addresses(world, server));
    }
    Ok(ApiResponse::ok(json!({"server": shown})))
}

fn delete(world: &mut World, call: &ComputeCall<'_>, id: &str) -> Reply {
    find_to_change(world, call, id, "servers:delete")?;
    let done = later(world.now, world.config.latencies.server_delete);
    let now = world.now;
    world.state.compute.servers.update(id, |server| {
        server.transition = Some((Transition::Delete, done));
        server.updated = now;
    });
    world.schedule.add(done, Effect::Server(id.to_owned()));
    Ok(ApiResponse::empty(StatusCode::NO_CONTENT).with("content-type", "application/json"))
}
