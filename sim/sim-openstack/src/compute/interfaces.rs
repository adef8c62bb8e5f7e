//! The interfaces of a server: Neutron's ports, seen and attached through Nova.

use http::StatusCode;
use serde_json::{Value, json};

use super::errors::{bad_request, conflict, not_found, path_unknown};
use super::{ComputeCall, servers};
use crate::cloud::World;
use crate::http::json::JsonExt;
use crate::http::{ApiResponse, Reply};
use crate::network::{self, Port};

/// Requests below `/servers/{id}/os-interface`.
pub(super) fn serve(world: &mut World, call: &ComputeCall<'_>, id: &str, rest: &[&str]) -> Reply {
    match (call.call.request.method.as_str(), rest) {
        ("GET", []) => {
            servers::find(world, call, id)?;
            let ports = world.state.network.ports.find("device_id", id);
            Ok(ApiResponse::ok(json!({"interfaceAttachments": ports.map(render).collect::<Vec<_>>()})))
        }
        ("GET", [port]) => {
            servers::find(world, call, id)?;
            let port = attached(world, id, port)?;
            Ok(ApiResponse::ok(json!({"interfaceAttachment": render(port)})))
        }
        ("POST", []) => attach(world, call, id),
        ("DELETE", [port]) => {
            servers::find_to_change(world, call, id, "os-attach-interfaces:delete")?;
            attached(world, id, port)?;
            network::drop_port(world, port);
            Ok(ApiResponse::empty(StatusCode::ACCEPTED).with("content-type", "application/json"))
        }
        _ => Err(path_unknown()),
    }
}

/// `GET /servers/{id}/os-security-groups`.
pub(super) fn security_groups(world: &World, call: &ComputeCall<'_>, id: &str) -> Reply {
    servers::find(world, call, id)?;
    let ids = world.state.network.ports.find("device_id", id).flat_map(|port| &port.security_groups);
    let groups = ids.filter_map(|id| world.state.network.security_groups.get(id));
    let shown = groups.map(|group| {
        json!({
            "id": group.id, "name": group.name, "description": group.description,
            "tenant_id": group.project_id, "rules": [],
        })
    });
    Ok(ApiResponse::ok(json!({"security_groups": shown.collect::<Vec<_>>()})))
}

fn attached<'a>(world: &'a World, id: &str, port: &str) -> Result<&'a Port, crate::http::Refusal> {
    let found = world.state.network.ports.get(port).filter(|port| port.device_id == id);
    found.ok_or_else(|| not_found(&format!("Instance {id} does not have a port with id {port}")))
}

fn attach(world: &mut World, call: &ComputeCall<'_>, id: &str) -> Reply {
    let server = servers::find_to_change(world, call, id, "os-attach-interfaces:create")?.clone();
    let wanted = call.call.request.body.get("interfaceAttachment").cloned().unwrap_or_default();
    let port = match (wanted.text("port_id"), wanted.text("net_id")) {
        (Some(port), _) => {
            let known = world.state.network.ports.get(port);
            let known = known.ok_or_else(|| not_found(&format!("Port id {port} could not be found.")))?;
            if !known.device_id.is_empty() {
                return Err(conflict(&format!("Port {port} is still in use.")));
            }
            network::bind_port(world, port, id, &server.zone, &server.name);
            port.to_owned()
        }
        (None, Some(network)) => {
            let fixed = wanted.list("fixed_ips").first().and_then(|fixed| fixed.text("ip_address"));
            network::add_server_port(world, network, fixed, &server, &server.zone, &[])
                .map_err(|problem| bad_request(&problem))?
        }
        (None, None) => return Err(bad_request("Either net_id or port_id must be given.")),
    };
    let port = attached(world, id, &port)?;
    Ok(ApiResponse::ok(json!({"interfaceAttachment": render(port)})))
}

fn render(port: &Port) -> Value {
    json!({
        "net_id": port.network_id, "port_id": port.id, "mac_addr": port.mac_address,
        "port_state": port.status, "fixed_ips": port.fixed_ips,
    })
}
