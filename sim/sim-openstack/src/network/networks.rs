//! Networks; and adding networks and subnets to an estate without the API.

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::changes::{
    check_known, check_revision, may_change, may_write, now, project, wanted, wanted_changes, with_changes,
    with_tenant,
};
use super::collection::Listing;
use super::errors::{conflict, missing, path_unknown, policy};
use super::model::{AllocationPool, Network, Port};
use super::{quotas, subnets};
use crate::cloud::World;
use crate::http::json::{members, to_map};
use crate::http::{ApiResponse, Call, Caller, Refusal, Reply};

const WRITABLE: [&str; 9] = [
    "name",
    "description",
    "admin_state_up",
    "mtu",
    "shared",
    "router:external",
    "port_security_enabled",
    "dns_domain",
    "is_default",
];
const KNOWN: [&str; 16] = [
    "name",
    "description",
    "admin_state_up",
    "mtu",
    "shared",
    "router:external",
    "port_security_enabled",
    "dns_domain",
    "is_default",
    "availability_zone_hints",
    "qos_policy_id",
    "provider:network_type",
    "provider:physical_network",
    "provider:segmentation_id",
    "vlan_transparent",
    "qinq",
];

/// Requests below `/networks`.
pub(super) fn serve(world: &mut World, call: &Call<'_>, rest: &[&str]) -> Reply {
    match (call.request.method.as_str(), rest) {
        ("GET", []) => {
            let listing = Listing {
                collection: "networks",
                table: &world.state.network.networks,
                indexed: &[],
                computed: &[
                    "subnets",
                    "provider:network_type",
                    "provider:physical_network",
                    "provider:segmentation_id",
                    "subnet_id",
                ],
                visible: &|network| may_see(call.caller, network),
                render: &|network| render(world, call.caller, network, false),
                special: None,
            };
            listing.answer(world, call)
        }
        ("POST", []) => create(world, call),
        ("GET", [id]) => {
            let network = find(world, call.caller, id)?;
            Ok(ApiResponse::ok(json!({"network": render(world, call.caller, network, false)})))
        }
        ("PUT", [id]) => change(world, call, id),
        ("DELETE", [id]) => delete(world, call, id),
        _ => Err(path_unknown()),
    }
}

/// Own, shared and external networks are seen.
pub(super) fn may_see(caller: &Caller, network: &Network) -> bool {
    caller.may_see(&network.project_id) || network.shared || network.external
}

/// A network the caller may see.
pub(super) fn find<'a>(world: &'a World, caller: &Caller, id: &str) -> Result<&'a Network, Refusal> {
    let network = world.state.network.networks.get(id);
    network.filter(|network| may_see(caller, network)).ok_or_else(|| missing("networks", id))
}

fn render(world: &World, caller: &Caller, network: &Network, new: bool) -> Value {
    let mut shown = with_tenant(to_map(network));
    let subnets: Vec<&String> =
        world.state.network.subnets.find("network_id", &network.id).map(|subnet| &subnet.id).collect();
    shown.insert("subnets".into(), json!(subnets));
    if !network.external && !new {
        shown.remove("is_default");
    }
    let empty = ["availability_zone_hints", "availability_zones"];
    let null = ["qos_policy_id", "ipv4_address_scope", "ipv6_address_scope"];
    shown.extend(empty.map(|name| (name.to_owned(), json!([]))));
    shown.extend(null.map(|name| (name.to_owned(), Value::Null)));
    shown.extend(
        [("vlan_transparent", false), ("qinq", false), ("l2_adjacency", true)]
            .map(|(name, value)| (name.to_owned(), json!(value))),
    );
    if caller.is_admin() {
        let (kind, physical) =
            if network.external { ("flat", json!("public")) } else { ("geneve", Value::Null) };
        shown.insert("provider:network_type".into(), json!(kind));
        shown.insert("provider:physical_network".into(), physical);
        shown.insert("provider:segmentation_id".into(), Value::Null);
    }
    Value::Object(shown)
}

fn create(world: &mut World, call: &Call<'_>) -> Reply {
    may_write(call.caller, "create_network")?;
    let (all, bulk) = wanted(call, "network", "networks")?;
    let mut made: Vec<Network> = Vec::new();
    for wanted in all {
        match create_one(world, call, &wanted) {
            Ok(network) => made.push(network),
            Err(refusal) => {
                // All or none.
                for network in made {
                    world.state.network.networks.remove(&network.id);
                }
                return Err(refusal);
            }
        }
    }
    let mut made: Vec<Value> = made.iter().map(|network| render(world, call.caller, network, true)).collect();
    let body = if bulk { json!({"networks": made}) } else { json!({"network": made.pop()}) };
    Ok(ApiResponse::json(StatusCode::CREATED, body))
}

fn create_one(world: &mut World, call: &Call<'_>, wanted: &Value) -> Result<Network, Refusal> {
    let changes = members(wanted);
    check_known(&changes, &KNOWN)?;
    check_admin_only(call.caller, &changes, "create_network")?;
    let project = project(call.caller, wanted, "create_network")?;
    quotas::check(world, &project, "network", 1)?;
    let network = with_changes(&blank(world, &project), &changes, &WRITABLE)?;
    world.state.network.networks.insert(network.clone());
    Ok(network)
}

fn check_admin_only(caller: &Caller, changes: &Map<String, Value>, action: &str) -> Result<(), Refusal> {
    let special = |name: &&String| {
        *name == "router:external"
            || *name == "shared"
            || *name == "is_default"
            || name.starts_with("provider:")
    };
    let truthy = |value: &Value| !matches!(value, Value::Bool(false) | Value::Null);
    let attempted = changes.iter().find(|(name, value)| special(name) && truthy(value));
    match attempted {
        Some((name, _)) if !caller.is_admin() => {
            Err(policy(&format!("rule:{action} and rule:{action}:{name}")))
        }
        _ => Ok(()),
    }
}

fn blank(world: &mut World, project: &str) -> Network {
    let now = now(world);
    Network {
        id: world.ids.uuid(),
        project_id: project.to_owned(),
        admin_state_up: true,
        mtu: 1442,
        status: "ACTIVE".to_owned(),
        port_security_enabled: true,
        created_at: now.clone(),
        updated_at: now,
        revision_number: 1,
        ..Network::default()
    }
}

fn change(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let network = find(world, call.caller, id)?.clone();
    may_change(call.caller, &network.project_id, "update_network", missing("networks", id))?;
    check_revision(call, &network)?;
    let changes = wanted_changes(call, "network")?;
    check_known(&changes, &KNOWN)?;
    check_admin_only(call.caller, &changes, "update_network")?;
    let mut changed = with_changes(&network, &changes, &WRITABLE)?;
    super::model::Standard::touch(&mut changed, &now(world));
    world.state.network.networks.insert(changed.clone());
    Ok(ApiResponse::ok(json!({"network": render(world, call.caller, &changed, false)})))
}

fn delete(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let network = find(world, call.caller, id)?;
    may_change(call.caller, &network.project_id, "delete_network", missing("networks", id))?;
    let used: Vec<&str> =
        world.state.network.ports.find("network_id", id).map(|port: &Port| port.id.as_str()).collect();
    if !used.is_empty() {
        let message = format!(
            "Unable to complete operation on network {id}. There are one or more ports still in use on the network, id \
             for these ports is: {}.",
            used.join(",")
        );
        return Err(conflict("NetworkInUse", &message));
    }
    for subnet in world.state.network.subnets.find_ids("network_id", id) {
        subnets::forget(&mut world.state.network, &subnet);
    }
    world.state.network.networks.remove(id);
    Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
}

/// Adds a network to an estate; gives its identifier.
pub fn add_network(world: &mut World, project: &str, name: &str, external: bool) -> String {
    let blank = blank(world, project);
    let mtu = if external { 1500 } else { 1442 };
    let network = Network { name: name.to_owned(), external, mtu, ..blank };
    let id = network.id.clone();
    world.state.network.networks.insert(network);
    id
}

/// A subnet that an estate wants to have.
#[derive(Clone, Debug, Default)]
pub struct NewSubnet {
    /// Its name.
    pub name: String,
    /// Its network.
    pub network_id: String,
    /// Its range.
    pub cidr: String,
    /// Where addresses are chosen from; none: everything but the gateway.
    pub pool: Option<(String, String)>,
}

/// Adds a subnet to an estate; gives its identifier, or nothing if the range is none.
pub fn add_subnet(world: &mut World, project: &str, new: NewSubnet) -> Option<String> {
    let pools = new.pool.map(|(start, end)| vec![AllocationPool { start, end }]);
    let blank = subnets::blank(world, project, &new.network_id, &new.cidr, None, pools)?;
    // Nobody hands out addresses on an external network.
    let external = world.state.network.networks.get(&new.network_id).is_some_and(|network| network.external);
    let subnet = super::model::Subnet { name: new.name, enable_dhcp: !external, ..blank };
    let id = subnet.id.clone();
    world.state.network.subnets.insert(subnet);
    Some(id)
}
