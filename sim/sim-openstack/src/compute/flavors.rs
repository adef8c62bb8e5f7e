//! Flavors.

use http::StatusCode;
use serde_json::{Value, json};

use super::errors::{conflict, not_found, path_unknown, policy};
use super::model::Flavor;
use super::{ComputeCall, Microversion, render};
use crate::cloud::World;
use crate::http::json::JsonExt;
use crate::http::{ApiResponse, Reply};

/// Requests below `/flavors`.
pub(super) fn serve(world: &mut World, call: &ComputeCall<'_>, rest: &[&str]) -> Reply {
    match (call.call.request.method.as_str(), rest) {
        ("GET", []) => Ok(list(world, call, false)),
        ("GET", ["detail"]) => Ok(list(world, call, true)),
        ("POST", []) => create(world, call),
        ("GET", [id]) => {
            let flavor = find(world, id)?;
            Ok(ApiResponse::ok(json!({"flavor": full(world, call.version, flavor)})))
        }
        ("GET", [id, "os-extra_specs"]) => {
            let flavor = find(world, id)?;
            Ok(ApiResponse::ok(json!({"extra_specs": flavor.extra_specs})))
        }
        ("DELETE", [id]) => {
            find(world, id)?;
            if !call.call.caller.is_admin() {
                return Err(policy("os_compute_api:os-flavor-manage:delete"));
            }
            world.state.compute.flavors.remove(*id);
            Ok(ApiResponse::empty(StatusCode::ACCEPTED))
        }
        _ => Err(path_unknown()),
    }
}

fn find<'a>(world: &'a World, id: &str) -> Result<&'a Flavor, crate::http::Refusal> {
    let flavor = world.state.compute.flavors.get(id);
    flavor.ok_or_else(|| not_found(&format!("Flavor {id} could not be found.")))
}

fn list(world: &World, call: &ComputeCall<'_>, detail: bool) -> ApiResponse {
    let query = &call.call.request.query;
    let marker = query.get("marker");
    let limit = query.get("limit").and_then(|limit| limit.parse().ok()).unwrap_or(usize::MAX);
    let flavors = &world.state.compute.flavors;
    let after = flavors.values().filter(|flavor| marker.is_none_or(|marker| flavor.id.as_str() > marker));
    let visible = after.filter(|flavor| flavor.is_public || call.call.caller.is_admin());
    let shown = visible.take(limit).map(|flavor| {
        if detail {
            full(world, call.version, flavor)
        } else {
            json!({"id": flavor.id, "name": flavor.name, "links": render::links(world, "flavors", &flavor.id)})
        }
    });
    ApiResponse::ok(json!({"flavors": shown.collect::<Vec<_>>()}))
}

fn create(world: &mut World, call: &ComputeCall<'_>) -> Reply {
    if !call.call.caller.is_admin() {
        return Err(policy("os_compute_api:os-flavor-manage:create"));
    }
    let wanted = call.call.request.body.get("flavor").cloned().unwrap_or_default();
    let name = wanted.text("name").unwrap_or_default().to_owned();
    let id = match wanted.text("id").or_else(|| wanted.text("flavorid")) {
        Some(id) if id != "auto" => id.to_owned(),
        _ => world.ids.uuid(),
    };
    let flavors = &mut world.state.compute.flavors;
    if flavors.contains_key(&id) || flavors.values().any(|flavor| flavor.name == name) {
        return Err(conflict(&format!("Flavor with name {name} already exists.")));
    }
    let number = |key: &str| wanted.integer(key).unwrap_or(0);
    let is_public = wanted.flag("os-flavor-access:is_public").unwrap_or(true);
    let (vcpus, ram, disk) = (number("vcpus"), number("ram"), number("disk"));
    let flavor =
        Flavor { id: id.clone(), name, vcpus, ram, disk, is_public, extra_specs: Default::default() };
    let shown = full(world, call.version, &flavor);
    world.state.compute.flavors.insert(id, flavor);
    Ok(ApiResponse::ok(json!({"flavor": shown})))
}

fn full(world: &World, version: Microversion, flavor: &Flavor) -> Value {
    let mut shown = json!({
        "id": flavor.id, "name": flavor.name, "ram": flavor.ram, "disk": flavor.disk, "vcpus": flavor.vcpus,
        "OS-FLV-EXT-DATA:ephemeral": 0, "OS-FLV-DISABLED:disabled": false, "rxtx_factor": 1.0,
        "os-flavor-access:is_public": flavor.is_public, "links": render::links(world, "flavors", &flavor.id),
    });
    if let Some(shown) = shown.as_object_mut() {
        let swap = if version.has(75) { json!(0) } else { json!("") };
        shown.insert("swap".into(), swap);
        if version.has(55) {
            shown.insert("description".into(), Value::Null);
        }
        if version.has(61) {
            shown.insert("extra_specs".into(), json!(flavor.extra_specs));
        }
    }
    shown
}
