//! Ports.

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::allocation::{self, AllocationError};
use super::changes::{
    check_known, check_revision, may_change, may_write, now, project, wanted, wanted_changes, with_changes,
    with_tenant,
};
use super::collection::{Listing, Special};
use super::errors::{bad_request, conflict, missing, path_unknown, policy, required};
use super::fixed_ips::{NoAddress, allocate, refuse};
use super::model::{FixedIp, Port, Standard};
use super::{networks, quotas, security_groups, server_ports};
use crate::cloud::World;
use crate::http::json::{JsonExt, members, to_map};
use crate::http::{ApiResponse, Call, Caller, Refusal, Reply};

const WRITABLE: [&str; 10] = [
    "name",
    "description",
    "admin_state_up",
    "device_id",
    "device_owner",
    "security_groups",
    "allowed_address_pairs",
    "port_security_enabled",
    "dns_name",
    "binding:vnic_type",
];
const KNOWN: [&str; 20] = [
    "name",
    "description",
    "admin_state_up",
    "device_id",
    "device_owner",
    "security_groups",
    "allowed_address_pairs",
    "port_security_enabled",
    "dns_name",
    "binding:vnic_type",
    "network_id",
    "fixed_ips",
    "mac_address",
    "extra_dhcp_opts",
    "qos_policy_id",
    "binding:host_id",
    "binding:profile",
    "dns_domain",
    "propagate_uplink_status",
    "tags",
];
/// Owners whose ports only go with what owns them.
const SERVICE_OWNERS: [&str; 3] =
    ["network:router_interface", "network:router_gateway", "network:floatingip"];

/// Requests below `/ports`.
pub(super) fn serve(world: &mut World, call: &Call<'_>, rest: &[&str]) -> Reply {
    match (call.request.method.as_str(), rest) {
        ("GET", []) => {
            let listing = Listing {
                collection: "ports",
                table: &world.state.network.ports,
                indexed: &["device_id", "security_groups"],
                computed: &[
                    "dns_assignment",
                    "qos_policy_id",
                    "ip_allocation",
                    "binding:host_id",
                    "mac_address",
                ],
                visible: &|port| may_see(world, call.caller, port),
                render: &|port| render(world, port),
                special: Some(Special { name: "fixed_ips", has: &has_fixed_ip, index: fixed_ip_index }),
            };
            listing.answer(world, call)
        }
        ("POST", []) => create(world, call),
        ("GET", [id]) => {
            let port = find(world, call.caller, id)?;
            Ok(ApiResponse::ok(json!({"port": render(world, port)})))
        }
        ("PUT", [id]) => change(world, call, id),
        ("DELETE", [id]) => delete(world, call, id),
        _ => Err(path_unknown()),
    }
}

/// Own ports are seen, and all ports on one's own networks.
fn may_see(world: &World, caller: &Caller, port: &Port) -> bool {
    let network = world.state.network.networks.get(&port.network_id);
    caller.may_see(&port.project_id) || network.is_some_and(|network| caller.may_see(&network.project_id))
}

/// A port the caller may see.
pub(super) fn find<'a>(world: &'a World, caller: &Caller, id: &str) -> Result<&'a Port, Refusal> {
    let port = world.state.network.ports.get(id);
    port.filter(|port| may_see(world, caller, port)).ok_or_else(|| missing("ports", id))
}

/// `fixed_ips=ip_address=…`, `fixed_ips=subnet_id=…`, `fixed_ips=ip_address_substr=…`. Of each kind that is asked for, one
/// of the values must be the address's.
fn has_fixed_ip(port: &Port, wanted: &[String]) -> bool {
    let split: Vec<(&str, &str)> = wanted.iter().filter_map(|wanted| wanted.split_once('=')).collect();
    let kinds = ["ip_address", "subnet_id", "ip_address_substr"];
    if split.len() < wanted.len() || split.iter().any(|(kind, _)| !kinds.contains(kind)) {
        return false;
    }
    let one_of = |kind: &str, is: &dyn Fn(&str) -> bool| {
        let mut of_kind = split.iter().filter(|(asked, _)| *asked == kind).peekable();
        of_kind.peek().is_none() || of_kind.any(|(_, value)| is(value))
    };
    port.fixed_ips.iter().any(|fixed| {
        one_of("ip_address", &|address| fixed.ip_address == address)
            && one_of("subnet_id", &|subnet| fixed.subnet_id == subnet)
            && one_of("ip_address_substr", &|part| fixed.ip_address.contains(part))
    })
}

/// One whole address is found by an index.
fn fixed_ip_index(wanted: &[String]) -> Option<(&'static str, String)> {
    let mut addresses = wanted.iter().filter_map(|wanted| wanted.strip_prefix("ip_address="));
    match (addresses.next(), addresses.next()) {
        (Some(address), None) => Some(("ip_address", address.to_owned())),
        _ => None,
    }
}

/// A port as Neutron shows it.
pub(super) fn render(world: &World, port: &Port) -> Value {
    let mut shown = with_tenant(to_map(port));
    let assignment = |fixed: &FixedIp| {
        let host = if port.dns_name.is_empty() {
            format!("host-{}", fixed.ip_address.replace(['.', ':'], "-"))
        } else {
            port.dns_name.clone()
        };
        json!({"ip_address": fixed.ip_address, "hostname": host, "fqdn": format!("{host}.openstack.internal.")})
    };
    let assignments: Vec<Value> = port.fixed_ips.iter().map(assignment).collect();
    shown.insert("dns_assignment".into(), Value::Array(assignments));
    shown.insert("extra_dhcp_opts".into(), json!([]));
    shown.insert("qos_policy_id".into(), Value::Null);
    shown.insert("qos_network_policy_id".into(), Value::Null);
    shown.insert("ip_allocation".into(), json!("immediate"));
    if let Some(trunk) = world.state.network.trunks.find("port_id", &port.id).next() {
        let sub_ports = trunk.sub_ports.iter().map(|sub| {
            let mac = world.state.network.ports.get(&sub.port_id).map(|port| &port.mac_address);
            let mut shown = to_map(sub);
            shown.insert("mac_address".into(), json!(mac));
            Value::Object(shown)
        });
        let details = json!({"trunk_id": trunk.id, "sub_ports": sub_ports.collect::<Vec<_>>()});
        shown.insert("trunk_details".into(), details);
    }
    Value::Object(shown)
}

fn create(world: &mut World, call: &Call<'_>) -> Reply {
    may_write(call.caller, "create_port")?;
    let (all, bulk) = wanted(call, "port", "ports")?;
    let mut made: Vec<Port> = Vec::new();
    for wanted in all {
        match create_one(world, call, &wanted) {
            Ok(port) => made.push(port),
            Err(refusal) => {
                // All or none.
                made.iter().for_each(|port| server_ports::drop_port(world, &port.id));
                return Err(refusal);
            }
        }
    }
    let mut made: Vec<Value> = made.iter().map(|port| render(world, port)).collect();
    let body = if bulk { json!({"ports": made}) } else { json!({"port": made.pop()}) };
    Ok(ApiResponse::json(StatusCode::CREATED, body))
}

fn create_one(world: &mut World, call: &Call<'_>, wanted: &Value) -> Result<Port, Refusal> {
    let changes = members(wanted);
    check_known(&changes, &KNOWN)?;
    let network_id = wanted.text("network_id").ok_or_else(|| required("network_id"))?;
    networks::find(world, call.caller, network_id)?;
    let project = project(call.caller, wanted, "create_port")?;
    check_groups(world, &changes)?;
    quotas::check(world, &project, "port", 1)?;
    let blank = blank(world, &project, network_id);
    let mut port = with_changes(&blank, &changes, &WRITABLE)?;
    port.tags = wanted.texts("tags");
    if let Some(mac) = wanted.text("mac_address") {
        mac.clone_into(&mut port.mac_address);
    }
    if !changes.contains_key("security_groups") && port.port_security_enabled {
        port.security_groups = vec![security_groups::default_group(world, &project)];
    }
    fill_pairs(&mut port);
    let asked = changes.get("fixed_ips").map(|asked| asked.as_array().cloned().unwrap_or_default());
    port.fixed_ips = allocate(world, network_id, asked.as_deref()).map_err(|error| refuse(&error))?;
    world.state.network.ports.insert(port.clone());
    Ok(port)
}

/// Security groups and allowed pairs only mean something where security is on.
fn check_security(port: &Port) -> Result<(), Refusal> {
    if port.port_security_enabled {
        return Ok(());
    }
    if !port.allowed_address_pairs.is_empty() {
        let message = "Port Security must be enabled in order to have allowed address pairs on a port.";
        return Err(conflict("AddressPairAndPortSecurityRequired", message));
    }
    if !port.security_groups.is_empty() {
        let message =
            "Port security must be enabled and port must have an IP address in order to use security groups.";
        return Err(bad_request("PortSecurityAndIPRequiredForSecurityGroups", message));
    }
    Ok(())
}

/// Pairs without a MAC address get the port's.
fn fill_pairs(port: &mut Port) {
    for pair in port.allowed_address_pairs.iter_mut().filter(|pair| pair.mac_address.is_empty()) {
        pair.mac_address.clone_from(&port.mac_address);
    }
}

fn check_groups(world: &World, changes: &Map<String, Value>) -> Result<(), Refusal> {
    let groups = changes.get("security_groups").and_then(Value::as_array).into_iter().flatten();
    for id in groups.filter_map(Value::as_str) {
        if !world.state.network.security_groups.contains(id) {
            return Err(missing("security-groups", id));
        }
    }
    Ok(())
}

pub(super) fn blank(world: &mut World, project: &str, network_id: &str) -> Port {
    let now = now(world);
    Port {
        id: world.ids.uuid(),
        network_id: network_id.to_owned(),
        project_id: project.to_owned(),
        mac_address: world.ids.mac_address(),
        admin_state_up: true,
        status: "DOWN".to_owned(),
        vnic_type: "normal".to_owned(),
        port_security_enabled: true,
        created_at: now.clone(),
        updated_at: now,
        revision_number: 1,
        ..Port::default()
    }
}

fn change(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let port = find(world, call.caller, id)?.clone();
    may_change(call.caller, &port.project_id, "update_port", missing("ports", id))?;
    check_revision(call, &port)?;
    let changes = wanted_changes(call, "port")?;
    check_known(&changes, &KNOWN)?;
    check_groups(world, &changes)?;
    if changes.contains_key("network_id") {
        return Err(bad_request("HTTPBadRequest", "Cannot update read-only attribute network_id"));
    }
    if changes.contains_key("binding:host_id") && !call.caller.is_admin() {
        return Err(policy("rule:update_port and rule:update_port:binding:host_id"));
    }
    let mut changed = with_changes(&port, &changes, &WRITABLE)?;
    check_security(&changed)?;
    fill_pairs(&mut changed);
    if let Some(asked) = changes.get("fixed_ips").and_then(Value::as_array) {
        for fixed in &port.fixed_ips {
            allocation::release(&mut world.state.network, &fixed.subnet_id, &fixed.ip_address);
        }
        match allocate(world, &port.network_id, Some(asked)) {
            Ok(fixed) => changed.fixed_ips = fixed,
            Err(error) => {
                retake(world, &port);
                return Err(refuse(&error));
            }
        }
    }
    if changed != port {
        changed.touch(&now(world));
    }
    world.state.network.ports.insert(changed.clone());
    Ok(ApiResponse::ok(json!({"port": render(world, &changed)})))
}

/// Takes the addresses of a port again after a change that failed.
fn retake(world: &mut World, port: &Port) {
    for fixed in &port.fixed_ips {
        if let Some(subnet) = world.state.network.subnets.get(&fixed.subnet_id).cloned() {
            let taken = allocation::take(&mut world.state.network, &subnet, &fixed.ip_address);
            debug_assert!(taken.is_ok(), "it was free a moment ago");
        }
    }
}

fn delete(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let port = find(world, call.caller, id)?;
    may_change(call.caller, &port.project_id, "delete_port", missing("ports", id))?;
    let owner = port.device_owner.clone();
    if SERVICE_OWNERS.contains(&owner.as_str()) {
        let message =
            format!("Port {id} cannot be deleted directly via the port API: has device owner {owner}.");
        return Err(conflict("ServicePortInUse", &message));
    }
    if world.state.network.trunks.find("port_id", id).next().is_some() {
        let message = format!("Port {id} is currently a parent port for a trunk.");
        return Err(conflict("PortInUse", &message));
    }
    server_ports::drop_port(world, id);
    Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
}

/// A port that another service makes.
#[derive(Clone, Debug, Default)]
pub(crate) struct PortPlan {
    pub(crate) project: String,
    pub(crate) network_id: String,
    pub(crate) name: String,
    pub(crate) device_id: String,
    pub(crate) device_owner: String,
    pub(crate) security_groups: Vec<String>,
    pub(crate) admin_state_up: bool,
    /// Subnets with addresses; empty: as Neutron chooses.
    pub(crate) fixed: Vec<(String, Option<String>)>,
}

/// Makes a port for another service; the error says why not.
pub(crate) fn add_port(world: &mut World, plan: PortPlan) -> Result<Port, (AllocationError, String)> {
    let asked: Vec<Value> = plan
        .fixed
        .iter()
        .map(|(subnet, address)| match address {
            Some(address) => json!({"subnet_id": subnet, "ip_address": address}),
            None => json!({"subnet_id": subnet}),
        })
        .collect();
    let asked = if asked.is_empty() { None } else { Some(asked.as_slice()) };
    let fixed_ips = allocate(world, &plan.network_id, asked).map_err(|error| match error {
        NoAddress::Allocation(error, name) => (error, name),
        NoAddress::SubnetMissing(id) => (AllocationError::Outside(id.clone()), id),
    })?;
    let blank = blank(world, &plan.project, &plan.network_id);
    let port = Port {
        name: plan.name,
        device_id: plan.device_id,
        device_owner: plan.device_owner,
        security_groups: plan.security_groups,
        admin_state_up: plan.admin_state_up,
        fixed_ips,
        ..blank
    };
    world.state.network.ports.insert(port.clone());
    Ok(port)
}
