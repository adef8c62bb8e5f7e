//! Floating IPs: addresses of an external network, attached to a port behind a router.

use http::StatusCode;
use serde_json::{Value, json};

use super::allocation::{self, AllocationError};
use super::changes::{
    check_known, check_revision, may_change, may_write, now, project, wanted_changes, with_changes,
    with_tenant,
};
use super::collection::Listing;
use super::errors::{bad_request, conflict, missing, not_found, path_unknown, policy, required};
use super::model::{FloatingIp, Port, Standard, Subnet};
use super::{networks, ports, quotas};
use crate::clock::later;
use crate::cloud::World;
use crate::http::json::{JsonExt, to_map};
use crate::http::{ApiResponse, Call, Refusal, Reply};
use crate::schedule::Effect;

const WRITABLE: [&str; 3] = ["description", "dns_domain", "dns_name"];
const KNOWN: [&str; 10] = [
    "description",
    "dns_domain",
    "dns_name",
    "floating_network_id",
    "port_id",
    "fixed_ip_address",
    "subnet_id",
    "floating_ip_address",
    "qos_policy_id",
    "distributed",
];

/// Requests below `/floatingips`.
pub(super) fn serve(world: &mut World, call: &Call<'_>, rest: &[&str]) -> Reply {
    match (call.request.method.as_str(), rest) {
        ("GET", []) => {
            let listing = Listing {
                collection: "floatingips",
                table: &world.state.network.floating_ips,
                indexed: &["port_id", "floating_ip_address"],
                computed: &["port_details", "qos_policy_id"],
                visible: &|floating| call.caller.may_see(&floating.project_id),
                render: &|floating| render(world, floating),
                special: None,
            };
            listing.answer(world, call)
        }
        ("POST", []) => create(world, call),
        ("GET", [id]) => {
            let floating = find(world, call, id)?;
            Ok(ApiResponse::ok(json!({"floatingip": render(world, floating)})))
        }
        ("PUT", [id]) => change(world, call, id),
        ("DELETE", [id]) => delete(world, call, id),
        _ => Err(path_unknown()),
    }
}

fn find<'a>(world: &'a World, call: &Call<'_>, id: &str) -> Result<&'a FloatingIp, Refusal> {
    let floating = world.state.network.floating_ips.get(id);
    floating
        .filter(|floating| call.caller.may_see(&floating.project_id))
        .ok_or_else(|| missing("floatingips", id))
}

fn render(world: &World, floating: &FloatingIp) -> Value {
    let mut shown = with_tenant(to_map(floating));
    let port = floating.port_id.as_ref().and_then(|id| world.state.network.ports.get(id));
    let details = port.map(|port| {
        json!({
            "name": port.name, "network_id": port.network_id, "mac_address": port.mac_address,
            "admin_state_up": port.admin_state_up, "status": port.status, "device_id": port.device_id,
            "device_owner": port.device_owner,
        })
    });
    shown.insert("port_details".into(), json!(details));
    shown.insert("qos_policy_id".into(), Value::Null);
    shown.insert("port_forwardings".into(), json!([]));
    Value::Object(shown)
}

fn create(world: &mut World, call: &Call<'_>) -> Reply {
    may_write(call.caller, "create_floatingip")?;
    let changes = wanted_changes(call, "floatingip")?;
    check_known(&changes, &KNOWN)?;
    let wanted = Value::Object(changes.clone());
    let address = wanted.text("floating_ip_address");
    if address.is_some() && !call.caller.is_admin() {
        return Err(policy("rule:create_floatingip and rule:create_floatingip:floating_ip_address"));
    }
    let network_id = wanted.text("floating_network_id").ok_or_else(|| required("floating_network_id"))?;
    let network = networks::find(world, call.caller, network_id)?;
    if !network.external {
        let message =
            format!("Bad floatingip request: Network {network_id} is not a valid external network.");
        return Err(bad_request("BadRequest", &message));
    }
    let project = project(call.caller, &wanted, "create_floatingip")?;
    quotas::check(world, &project, "floatingip", 1)?;
    let port = match wanted.text("port_id") {
        None => None,
        Some(port) => Some(ports::find(world, call.caller, port)?.clone()),
    };
    let (floating_ip_address, subnet_id) = allocate(world, network_id, wanted.text("subnet_id"), address)?;
    let time = now(world);
    let blank = FloatingIp {
        id: world.ids.uuid(),
        project_id: project,
        floating_ip_address,
        floating_network_id: network_id.to_owned(),
        status: "DOWN".to_owned(),
        created_at: time.clone(),
        updated_at: time,
        subnet_id,
        ..FloatingIp::default()
    };
    let mut floating =
        FloatingIp { subnet_id: blank.subnet_id.clone(), ..with_changes(&blank, &changes, &WRITABLE)? };
    if let Some(port) = port {
        if let Err(refusal) = attach(world, &mut floating, &port, wanted.text("fixed_ip_address")) {
            allocation::release(&mut world.state.network, &floating.subnet_id, &floating.floating_ip_address);
            return Err(refusal);
        }
        schedule(world, &floating.id);
    }
    world.state.network.floating_ips.insert(floating.clone());
    Ok(ApiResponse::json(StatusCode::CREATED, json!({"floatingip": render(world, &floating)})))
}

/// An address of the external network, with its subnet.
fn allocate(
    world: &mut World,
    network_id: &str,
    subnet_id: Option<&str>,
    address: Option<&str>,
) -> Result<(String, String), Refusal> {
    let all = world.state.network.subnets.find("network_id", network_id);
    let own = all.filter(|subnet| subnet.ip_version == 4 && subnet_id.is_none_or(|id| subnet.id == id));
    let subnets: Vec<Subnet> = own.cloned().collect();
    if let (Some(id), true) = (subnet_id, subnets.is_empty()) {
        return Err(missing("subnets", id));
    }
    for subnet in &subnets {
        let taken = match address {
            Some(address) => allocation::take(&mut world.state.network, subnet, address),
            None => allocation::take_any(&mut world.state.network, subnet),
        };
        match taken {
            Ok(address) => return Ok((address, subnet.id.clone())),
            Err(AllocationError::Taken(address)) => {
                let message = format!("IP address {address} already allocated in subnet {}", subnet.id);
                return Err(conflict("IpAddressAlreadyAllocated", &message));
            }
            Err(AllocationError::Exhausted | AllocationError::Outside(_)) => {}
        }
    }
    if let Some(address) = address {
        let message = format!("IP address {address} is not a valid IP for the specified subnet.");
        return Err(bad_request("InvalidIpForSubnet", &message));
    }
    let message = format!("No more IP addresses available on network {network_id}.");
    Err(conflict("IpAddressGenerationFailure", &message))
}

/// Attaches to a port, if a router leads from there to the floating IP's network.
fn attach(
    world: &World,
    floating: &mut FloatingIp,
    port: &Port,
    wanted: Option<&str>,
) -> Result<(), Refusal> {
    let (id, network_id) = (floating.id.clone(), floating.floating_network_id.clone());
    let suits = |address: &str| wanted.map_or(!address.contains(':'), |wanted| wanted == address);
    let fixed = port.fixed_ips.iter().find(|fixed| suits(&fixed.ip_address)).ok_or_else(|| {
        let message = format!(
            "Bad floatingip request: Cannot add floating IP to port {} that has no fixed IPv4 addresses.",
            port.id
        );
        bad_request("BadRequest", &message)
    })?;
    let taken =
        world.state.network.floating_ips.find("port_id", &port.id).any(|other| {
            other.id != id && other.fixed_ip_address.as_deref() == Some(fixed.ip_address.as_str())
        });
    if taken {
        let message = format!(
            "Cannot associate floating IP {} ({id}) with port {} using fixed IP {}, as that fixed IP already has a \
             floating IP on external network {network_id}.",
            floating.floating_ip_address, port.id, fixed.ip_address
        );
        return Err(conflict("FloatingIPPortAlreadyAssociated", &message));
    }
    let router = router_between(world, &fixed.subnet_id, &network_id).ok_or_else(|| {
        let message = format!(
            "External network {network_id} is not reachable from subnet {}.  Therefore, cannot associate Port {} with a \
             Floating IP.",
            fixed.subnet_id, port.id
        );
        not_found("ExternalGatewayForFloatingIPNotFound", &message)
    })?;
    floating.port_id = Some(port.id.clone());
    floating.fixed_ip_address = Some(fixed.ip_address.clone());
    floating.router_id = Some(router);
    Ok(())
}

/// The router with an interface in a subnet and its way out on a network.
fn router_between(world: &World, subnet_id: &str, network_id: &str) -> Option<String> {
    let network = &world.state.network;
    let inside = network.subnets.get(subnet_id)?.network_id.clone();
    let interfaces = network.ports.find("network_id", &inside).filter(|port| {
        port.device_owner == "network:router_interface"
            && port.fixed_ips.iter().any(|fixed| fixed.subnet_id == subnet_id)
    });
    let leads_out = |router: &&super::model::Router| {
        router.external_gateway_info.as_ref().is_some_and(|gateway| gateway.network_id == network_id)
    };
    interfaces
        .filter_map(|port| network.routers.get(&port.device_id))
        .find(leads_out)
        .map(|router| router.id.clone())
}

fn change(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let floating = find(world, call, id)?.clone();
    may_change(call.caller, &floating.project_id, "update_floatingip", missing("floatingips", id))?;
    check_revision(call, &floating)?;
    let changes = wanted_changes(call, "floatingip")?;
    check_known(&changes, &KNOWN)?;
    let merged = with_changes(&floating, &changes, &WRITABLE)?;
    let mut changed = FloatingIp { subnet_id: floating.subnet_id.clone(), ..merged };
    // An empty object means the same as `port_id: null`.
    if changes.contains_key("port_id") || changes.is_empty() {
        match changes.get("port_id").and_then(Value::as_str) {
            Some(port) => {
                let port = ports::find(world, call.caller, port)?.clone();
                let wanted = changes.get("fixed_ip_address").and_then(Value::as_str);
                attach(world, &mut changed, &port, wanted)?;
            }
            None => {
                changed.port_id = None;
                changed.fixed_ip_address = None;
                changed.router_id = None;
            }
        }
        schedule(world, id);
    }
    changed.touch(&now(world));
    world.state.network.floating_ips.insert(changed.clone());
    Ok(ApiResponse::ok(json!({"floatingip": render(world, &changed)})))
}

/// The status follows a little later.
fn schedule(world: &mut World, id: &str) {
    let due = later(world.now, world.config.latencies.floating_ip);
    world.schedule.add(due, Effect::FloatingIp(id.to_owned()));
}

/// Shows whether a floating IP is attached.
pub(crate) fn finish(world: &mut World, id: &str) {
    let time = now(world);
    world.state.network.floating_ips.update(id, |floating| {
        let status = if floating.port_id.is_some() { "ACTIVE" } else { "DOWN" };
        if floating.status != status {
            status.clone_into(&mut floating.status);
            floating.touch(&time);
        }
    });
}

fn delete(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let floating = find(world, call, id)?.clone();
    may_change(call.caller, &floating.project_id, "delete_floatingip", missing("floatingips", id))?;
    allocation::release(&mut world.state.network, &floating.subnet_id, &floating.floating_ip_address);
    world.state.network.floating_ips.remove(id);
    Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
}
