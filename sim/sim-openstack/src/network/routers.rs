//! Routers: their way out, their interfaces.

use http::StatusCode;
use serde_json::{Value, json};

use super::changes::{
    check_known, check_revision, may_change, may_write, now, project, wanted_changes, with_changes,
    with_tenant,
};
use super::collection::Listing;
use super::errors::{bad_request, conflict, missing, not_found, path_unknown};
use super::model::{ExternalGateway, Router, Standard};
use super::ports::{PortPlan, add_port};
use super::{networks, quotas, routes, server_ports};
use crate::cloud::World;
use crate::http::json::{JsonExt, to_map};
use crate::http::{ApiResponse, Call, Refusal, Reply};

const WRITABLE: [&str; 3] = ["name", "description", "admin_state_up"];
const KNOWN: [&str; 10] = [
    "name",
    "description",
    "admin_state_up",
    "external_gateway_info",
    "routes",
    "distributed",
    "ha",
    "availability_zone_hints",
    "flavor_id",
    "enable_ndp_proxy",
];

/// Requests below `/routers`.
pub(super) fn serve(world: &mut World, call: &Call<'_>, rest: &[&str]) -> Reply {
    match (call.request.method.as_str(), rest) {
        ("GET", []) => {
            let listing = Listing {
                collection: "routers",
                table: &world.state.network.routers,
                indexed: &[],
                computed: &["enable_snat", "distributed", "ha", "flavor_id"],
                visible: &|router| call.caller.may_see(&router.project_id),
                render: &|router| render(router, call.caller.is_admin()),
                special: None,
            };
            listing.answer(world, call)
        }
        ("POST", []) => create(world, call),
        ("GET", [id]) => {
            let router = find(world, call, id)?;
            Ok(ApiResponse::ok(json!({"router": render(router, call.caller.is_admin())})))
        }
        ("PUT", [id]) => change(world, call, id),
        ("DELETE", [id]) => delete(world, call, id),
        ("PUT", [id, "add_router_interface"]) => add_interface(world, call, id),
        ("PUT", [id, "remove_router_interface"]) => remove_interface(world, call, id),
        (
            "PUT",
            [
                id,
                action @ ("add_external_gateways" | "update_external_gateways" | "remove_external_gateways"),
            ],
        ) => change_gateways(world, call, id, *action != "remove_external_gateways"),
        ("PUT", [id, action @ ("add_extraroutes" | "remove_extraroutes")]) => {
            routes::serve(world, call, id, *action == "add_extraroutes")
        }
        _ => Err(path_unknown()),
    }
}

/// A router the caller may see.
pub(super) fn find<'a>(world: &'a World, call: &Call<'_>, id: &str) -> Result<&'a Router, Refusal> {
    let router = world.state.network.routers.get(id);
    router.filter(|router| call.caller.may_see(&router.project_id)).ok_or_else(|| missing("routers", id))
}

/// A router; `all` also shows what is for administrators.
pub(super) fn render(router: &Router, all: bool) -> Value {
    let mut shown = with_tenant(to_map(router));
    let gateway = router.external_gateway_info.as_ref();
    shown.insert("enable_snat".into(), json!(gateway.is_none_or(|gateway| gateway.enable_snat)));
    let gateways: Vec<Value> = gateway
        .iter()
        .map(|gateway| json!({"network_id": gateway.network_id, "external_fixed_ips": gateway.external_fixed_ips}))
        .collect();
    shown.insert("external_gateways".into(), json!(gateways));
    shown.insert("availability_zones".into(), json!([]));
    shown.insert("availability_zone_hints".into(), json!([]));
    shown.insert("flavor_id".into(), Value::Null);
    shown.insert("enable_default_route_ecmp".into(), json!(false));
    shown.insert("enable_default_route_bfd".into(), json!(false));
    if all {
        shown.insert("gw_port_id".into(), json!(router.gateway_port_id));
        shown.insert("distributed".into(), json!(false));
        shown.insert("ha".into(), json!(true));
        shown.insert("ha_vr_id".into(), json!(0));
    }
    Value::Object(shown)
}

fn create(world: &mut World, call: &Call<'_>) -> Reply {
    may_write(call.caller, "create_router")?;
    let changes = wanted_changes(call, "router")?;
    check_known(&changes, &KNOWN)?;
    let wanted = Value::Object(changes.clone());
    let project = project(call.caller, &wanted, "create_router")?;
    quotas::check(world, &project, "router", 1)?;
    let blank = blank(world, &project);
    let router = with_changes(&blank, &changes, &WRITABLE)?;
    let id = router.id.clone();
    world.state.network.routers.insert(router);
    let gateway = wanted.get("external_gateway_info").filter(|gateway| !gateway.is_null());
    if let Some(refusal) = gateway.and_then(|gateway| set_gateway(world, call, &id, gateway).err()) {
        world.state.network.routers.remove(&id);
        return Err(refusal);
    }
    let shown = render(find(world, call, &id)?, call.caller.is_admin());
    Ok(ApiResponse::json(StatusCode::CREATED, json!({"router": shown})))
}

fn blank(world: &mut World, project: &str) -> Router {
    let now = now(world);
    Router {
        id: world.ids.uuid(),
        project_id: project.to_owned(),
        admin_state_up: true,
        status: "ACTIVE".to_owned(),
        created_at: now.clone(),
        updated_at: now,
        revision_number: 1,
        ..Router::default()
    }
}

fn change(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let router = find(world, call, id)?.clone();
    may_change(call.caller, &router.project_id, "update_router", missing("routers", id))?;
    check_revision(call, &router)?;
    let changes = wanted_changes(call, "router")?;
    check_known(&changes, &KNOWN)?;
    let routes = match changes.get("routes") {
        None => router.routes.clone(),
        Some(wanted) => routes::checked(world, id, wanted)?,
    };
    if let Some(gateway) = changes.get("external_gateway_info") {
        let leave = gateway.is_null() || gateway.as_object().is_some_and(serde_json::Map::is_empty);
        if leave {
            clear_gateway(world, id);
        } else {
            set_gateway(world, call, id, gateway)?;
        }
    }
    let current = find(world, call, id)?.clone();
    let merged = with_changes(&current, &changes, &WRITABLE)?;
    let mut changed = Router { routes, gateway_port_id: current.gateway_port_id.clone(), ..merged };
    changed.touch(&now(world));
    world.state.network.routers.insert(changed.clone());
    Ok(ApiResponse::ok(json!({"router": render(&changed, call.caller.is_admin())})))
}

/// The newer way to say where a router leads out; of several ways out only the first is kept.
fn change_gateways(world: &mut World, call: &Call<'_>, id: &str, set: bool) -> Reply {
    let router = find(world, call, id)?.clone();
    may_change(call.caller, &router.project_id, "update_router", missing("routers", id))?;
    let changes = Value::Object(wanted_changes(call, "router")?);
    match changes.list("external_gateways").first().filter(|_| set) {
        Some(gateway) => set_gateway(world, call, id, gateway)?,
        None => clear_gateway(world, id),
    }
    let time = now(world);
    world.state.network.routers.update(id, |router| router.touch(&time));
    let shown = render(find(world, call, id)?, call.caller.is_admin());
    Ok(ApiResponse::ok(json!({"router": shown})))
}

fn set_gateway(world: &mut World, call: &Call<'_>, id: &str, wanted: &Value) -> Result<(), Refusal> {
    let network_id = wanted.text("network_id").unwrap_or_default();
    let network = networks::find(world, call.caller, network_id)?;
    if !network.external {
        let message = format!("Bad router request: Network {network_id} is not an external network.");
        return Err(bad_request("BadRequest", &message));
    }
    clear_gateway(world, id);
    let fixed = wanted.list("external_fixed_ips").iter().filter_map(|fixed| {
        Some((fixed.text("subnet_id")?.to_owned(), fixed.text("ip_address").map(str::to_owned)))
    });
    let fixed = fixed.collect();
    open_gateway(world, id, network_id, fixed, wanted.flag("enable_snat").unwrap_or(true)).ok_or_else(|| {
        let message = format!("No more IP addresses available on network {network_id}.");
        conflict("IpAddressGenerationFailure", &message)
    })
}

fn open_gateway(
    world: &mut World,
    id: &str,
    network_id: &str,
    fixed: Vec<(String, Option<String>)>,
    enable_snat: bool,
) -> Option<()> {
    // The port of a way out belongs to nobody.
    let plan = PortPlan {
        network_id: network_id.to_owned(),
        device_id: id.to_owned(),
        device_owner: "network:router_gateway".to_owned(),
        admin_state_up: true,
        fixed,
        ..PortPlan::default()
    };
    let port = add_port(world, plan).ok()?;
    world.state.network.ports.update(&port.id, |port| port.port_security_enabled = false);
    world.state.network.routers.update(id, |router| {
        let (network_id, external_fixed_ips) = (network_id.to_owned(), port.fixed_ips);
        router.external_gateway_info = Some(ExternalGateway { network_id, external_fixed_ips, enable_snat });
        router.gateway_port_id = Some(port.id);
    })
}

fn clear_gateway(world: &mut World, id: &str) {
    let port = world.state.network.routers.update(id, |router| {
        router.external_gateway_info = None;
        router.gateway_port_id.take()
    });
    if let Some(port) = port.flatten() {
        server_ports::drop_port(world, &port);
    }
}

fn delete(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let router = find(world, call, id)?;
    may_change(call.caller, &router.project_id, "delete_router", missing("routers", id))?;
    let interfaces = world.state.network.ports.find("device_id", id);
    let interfaces: Vec<&str> = interfaces
        .filter(|port| port.device_owner == "network:router_interface")
        .map(|port| port.id.as_str())
        .collect();
    if !interfaces.is_empty() {
        let message = format!("Router {id} has ports still attached: {}", interfaces.join(", "));
        return Err(conflict("RouterInUse", &message));
    }
    clear_gateway(world, id);
    world.state.network.routers.remove(id);
    Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
}

fn add_interface(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let router = find(world, call, id)?.clone();
    may_change(call.caller, &router.project_id, "add_router_interface", missing("routers", id))?;
    let body = &call.request.body;
    let (port, subnet) = match (body.text("port_id"), body.text("subnet_id")) {
        (Some(port), _) => {
            let port = super::ports::find(world, call.caller, port)?.clone();
            let subnet = port.fixed_ips.first().map(|fixed| fixed.subnet_id.clone()).unwrap_or_default();
            world.state.network.ports.update(&port.id, |port| {
                id.clone_into(&mut port.device_id);
                "network:router_interface".clone_into(&mut port.device_owner);
                "ACTIVE".clone_into(&mut port.status);
            });
            (port.id, subnet)
        }
        (None, Some(subnet)) => {
            if !world.state.network.subnets.contains(subnet) {
                return Err(missing("subnets", subnet));
            }
            if connected(world, id, subnet) {
                let cidr = world.state.network.subnets.get(subnet).map(|subnet| subnet.cidr.as_str());
                let cidr = cidr.unwrap_or_default();
                let message = format!(
                    "Bad router request: Cidr {cidr} of subnet {subnet} overlaps with cidr {cidr} of subnet {subnet}."
                );
                return Err(bad_request("BadRequest", &message));
            }
            let port = connect(world, id, subnet).ok_or_else(|| {
                let message = format!("The gateway address of subnet {subnet} is in use.");
                conflict("IpAddressInUse", &message)
            })?;
            (port, subnet.to_owned())
        }
        (None, None) => {
            let message = "Bad router request: Either subnet_id or port_id must be specified.";
            return Err(bad_request("BadRequest", message));
        }
    };
    Ok(ApiResponse::ok(interface(world, &router, &port, &subnet)))
}

fn connected(world: &World, router: &str, subnet: &str) -> bool {
    let ports = world.state.network.ports.find("device_id", router);
    ports.flat_map(|port| &port.fixed_ips).any(|fixed| fixed.subnet_id == subnet)
}

fn interface(world: &World, router: &Router, port: &str, subnet: &str) -> Value {
    let network = world.state.network.subnets.get(subnet).map(|subnet| &subnet.network_id);
    json!({
        "id": router.id, "project_id": router.project_id, "port_id": port, "network_id": network,
        "subnet_id": subnet, "subnet_ids": [subnet],
    })
}

fn remove_interface(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let router = find(world, call, id)?.clone();
    may_change(call.caller, &router.project_id, "remove_router_interface", missing("routers", id))?;
    let body = &call.request.body;
    let (port_id, subnet_id) = (body.text("port_id"), body.text("subnet_id"));
    let mut ports = world.state.network.ports.find("device_id", id);
    let port = ports.find(|port| {
        port.device_owner == "network:router_interface"
            && port_id.is_none_or(|wanted| port.id == wanted)
            && subnet_id.is_none_or(|wanted| port.fixed_ips.iter().any(|fixed| fixed.subnet_id == wanted))
    });
    let Some(port) = port.cloned() else {
        let what = subnet_id.or(port_id).unwrap_or_default();
        let message = format!("Router {id} has no interface on subnet {what}");
        return Err(not_found("RouterInterfaceNotFoundForSubnet", &message));
    };
    let subnet = port.fixed_ips.first().map(|fixed| fixed.subnet_id.clone()).unwrap_or_default();
    drop(ports);
    if uses_floating_ips(world, id, &subnet) {
        let message = format!(
            "Router interface for subnet {subnet} on router {id} cannot be deleted, as it is required by one or more \
             floating IPs."
        );
        return Err(conflict("RouterInterfaceInUseByFloatingIP", &message));
    }
    server_ports::drop_port(world, &port.id);
    Ok(ApiResponse::ok(interface(world, &router, &port.id, &subnet)))
}

fn uses_floating_ips(world: &World, router: &str, subnet: &str) -> bool {
    let network = &world.state.network;
    network.floating_ips.iter().any(|floating| {
        let port = floating.port_id.as_ref().and_then(|port| network.ports.get(port));
        floating.router_id.as_deref() == Some(router)
            && port.is_some_and(|port| port.fixed_ips.iter().any(|fixed| fixed.subnet_id == subnet))
    })
}

/// Adds a router to an estate, with its way out if a network is given.
pub fn add_router(world: &mut World, project: &str, name: &str, external_network: Option<&str>) -> String {
    let blank = blank(world, project);
    let router = Router { name: name.to_owned(), ..blank };
    let id = router.id.clone();
    world.state.network.routers.insert(router);
    if let Some(network) = external_network {
        open_gateway(world, &id, network, Vec::new(), true);
    }
    id
}

/// Gives a router an interface in a subnet, at its gateway address; gives the port, or nothing if that is taken.
pub fn connect(world: &mut World, router: &str, subnet: &str) -> Option<String> {
    let project = world.state.network.routers.get(router)?.project_id.clone();
    let subnet = world.state.network.subnets.get(subnet)?.clone();
    let plan = PortPlan {
        project,
        network_id: subnet.network_id.clone(),
        device_id: router.to_owned(),
        device_owner: "network:router_interface".to_owned(),
        admin_state_up: true,
        fixed: vec![(subnet.id, subnet.gateway_ip)],
        ..PortPlan::default()
    };
    let port = add_port(world, plan).ok()?;
    world.state.network.ports.update(&port.id, |port| {
        port.port_security_enabled = false;
        "ACTIVE".clone_into(&mut port.status);
    });
    let time = now(world);
    world.state.network.routers.update(router, |router| router.touch(&time));
    Some(port.id)
}
