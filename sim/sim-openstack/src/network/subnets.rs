//! Subnets.

use std::net::IpAddr;

use http::StatusCode;
use ipnet::IpNet;
use serde_json::{Value, json};

use super::allocation::{address, number};
use super::changes::{
    check_known, check_revision, may_change, may_write, now, project, wanted, wanted_changes, with_changes,
    with_tenant,
};
use super::collection::Listing;
use super::errors::{bad_request, conflict, missing, path_unknown, required};
use super::model::{AllocationPool, NetworkState, Standard, Subnet};
use super::{networks, quotas};
use crate::cloud::World;
use crate::http::json::{JsonExt, members, to_map};
use crate::http::{ApiResponse, Call, Caller, Refusal, Reply};

const WRITABLE: [&str; 8] = [
    "name",
    "description",
    "enable_dhcp",
    "dns_nameservers",
    "host_routes",
    "ipv6_ra_mode",
    "ipv6_address_mode",
    "service_types",
];
const KNOWN: [&str; 16] = [
    "name",
    "description",
    "enable_dhcp",
    "dns_nameservers",
    "host_routes",
    "ipv6_ra_mode",
    "ipv6_address_mode",
    "service_types",
    "network_id",
    "ip_version",
    "cidr",
    "gateway_ip",
    "allocation_pools",
    "subnetpool_id",
    "prefixlen",
    "segment_id",
];

/// Requests below `/subnets`.
pub(super) fn serve(world: &mut World, call: &Call<'_>, rest: &[&str]) -> Reply {
    match (call.request.method.as_str(), rest) {
        ("GET", []) => {
            let listing = Listing {
                collection: "subnets",
                table: &world.state.network.subnets,
                indexed: &["network_id"],
                computed: &["router:external", "shared", "segment_id"],
                visible: &|subnet| may_see(world, call.caller, subnet),
                render: &|subnet| render(world, subnet),
                special: None,
            };
            listing.answer(world, call)
        }
        ("POST", []) => create(world, call),
        ("GET", [id]) => {
            let subnet = find(world, call.caller, id)?;
            Ok(ApiResponse::ok(json!({"subnet": render(world, subnet)})))
        }
        ("PUT", [id]) => change(world, call, id),
        ("DELETE", [id]) => delete(world, call, id),
        _ => Err(path_unknown()),
    }
}

/// Subnets are seen by who sees their network.
fn may_see(world: &World, caller: &Caller, subnet: &Subnet) -> bool {
    let network = world.state.network.networks.get(&subnet.network_id);
    caller.may_see(&subnet.project_id) || network.is_some_and(|network| networks::may_see(caller, network))
}

fn find<'a>(world: &'a World, caller: &Caller, id: &str) -> Result<&'a Subnet, Refusal> {
    let subnet = world.state.network.subnets.get(id);
    subnet.filter(|subnet| may_see(world, caller, subnet)).ok_or_else(|| missing("subnets", id))
}

fn render(world: &World, subnet: &Subnet) -> Value {
    let mut shown = with_tenant(to_map(subnet));
    let external =
        world.state.network.networks.get(&subnet.network_id).is_some_and(|network| network.external);
    shown.insert("router:external".into(), json!(external));
    Value::Object(shown)
}

fn create(world: &mut World, call: &Call<'_>) -> Reply {
    may_write(call.caller, "create_subnet")?;
    let (all, bulk) = wanted(call, "subnet", "subnets")?;
    let mut made: Vec<Subnet> = Vec::new();
    for wanted in all {
        match create_one(world, call, &wanted) {
            Ok(subnet) => made.push(subnet),
            Err(refusal) => {
                // All or none.
                made.iter().for_each(|subnet| forget(&mut world.state.network, &subnet.id));
                return Err(refusal);
            }
        }
    }
    let mut made: Vec<Value> = made.iter().map(|subnet| render(world, subnet)).collect();
    let body = if bulk { json!({"subnets": made}) } else { json!({"subnet": made.pop()}) };
    Ok(ApiResponse::json(StatusCode::CREATED, body))
}

fn create_one(world: &mut World, call: &Call<'_>, wanted: &Value) -> Result<Subnet, Refusal> {
    let changes = members(wanted);
    check_known(&changes, &KNOWN)?;
    let network_id = wanted.text("network_id").ok_or_else(|| required("network_id"))?;
    let network = networks::find(world, call.caller, network_id)?.clone();
    may_change(call.caller, &network.project_id, "create_subnet", missing("networks", network_id))?;
    let cidr = wanted.text("cidr").ok_or_else(|| {
        bad_request(
            "BadRequest",
            "Bad subnets request: a subnetpool must be specified in the absence of a cidr.",
        )
    })?;
    let project = project(call.caller, wanted, "create_subnet")?;
    quotas::check(world, &project, "subnet", 1)?;
    check_overlap(world, network_id, cidr)?;
    let gateway = wanted.get("gateway_ip").map(|gateway| gateway.as_str().map(str::to_owned));
    let pools: Vec<AllocationPool> =
        serde_json::from_value(wanted.get("allocation_pools").cloned().unwrap_or_default())
            .unwrap_or_default();
    let pools = Some(pools).filter(|pools| !pools.is_empty());
    let blank = blank(world, &project, network_id, cidr, gateway, pools).ok_or_else(|| {
        bad_request("InvalidInput", &format!("Invalid input for operation: {cidr} is not in a CIDR format."))
    })?;
    if wanted.integer("ip_version").is_some_and(|version| version != i64::from(blank.ip_version)) {
        let message = format!("Invalid input for operation: CIDR '{cidr}' and ip_version do not match.");
        return Err(bad_request("InvalidInput", &message));
    }
    let subnet = with_changes(&blank, &changes, &WRITABLE)?;
    world.state.network.subnets.insert(subnet.clone());
    let time = now(world);
    world.state.network.networks.update(network_id, |network| network.touch(&time));
    Ok(subnet)
}

fn check_overlap(world: &World, network_id: &str, cidr: &str) -> Result<(), Refusal> {
    let Ok(range) = cidr.parse::<IpNet>() else { return Ok(()) };
    for other in world.state.network.subnets.find("network_id", network_id) {
        let overlaps = other
            .cidr
            .parse::<IpNet>()
            .is_ok_and(|other| other.contains(&range.network()) || range.contains(&other.network()));
        if overlaps {
            let message = format!(
                "Invalid input for operation: Requested subnet with cidr: {cidr} for network: {network_id} overlaps with \
                 another subnet."
            );
            return Err(bad_request("InvalidInput", &message));
        }
    }
    Ok(())
}

/// A subnet of a range, with gateway and pools as Neutron chooses them; nothing if the range is none.
pub(super) fn blank(
    world: &mut World,
    project: &str,
    network_id: &str,
    cidr: &str,
    gateway: Option<Option<String>>,
    pools: Option<Vec<AllocationPool>>,
) -> Option<Subnet> {
    let range: IpNet = cidr.parse().ok()?;
    let version: u8 = if matches!(range, IpNet::V4(_)) { 4 } else { 6 };
    let (first, last) = (number(range.network()), number(range.broadcast()));
    // IPv4 keeps the first and last address; IPv6 starts with the gateway itself.
    let default_gateway = if version == 4 { first + 1 } else { first };
    let gateway_ip = gateway.unwrap_or_else(|| Some(address(default_gateway, version)));
    let pools = pools.unwrap_or_else(|| {
        let end = if version == 4 { last.saturating_sub(1) } else { last };
        let start = if version == 4 { first + 1 } else { first };
        let gateway = gateway_ip.as_ref().and_then(|gateway| gateway.parse::<IpAddr>().ok()).map(number);
        around(start, end, gateway, version)
    });
    let now = now(world);
    Some(Subnet {
        id: world.ids.uuid(),
        project_id: project.to_owned(),
        network_id: network_id.to_owned(),
        ip_version: version,
        enable_dhcp: true,
        gateway_ip,
        cidr: range.trunc().to_string(),
        allocation_pools: pools,
        created_at: now.clone(),
        updated_at: now,
        ..Subnet::default()
    })
}

/// A range without one address.
fn around(start: u128, end: u128, hole: Option<u128>, version: u8) -> Vec<AllocationPool> {
    let pool = |start: u128, end: u128| {
        (start <= end).then(|| AllocationPool { start: address(start, version), end: address(end, version) })
    };
    match hole.filter(|hole| (start..=end).contains(hole)) {
        None => pool(start, end).into_iter().collect(),
        Some(hole) => {
            let before = if hole > start { pool(start, hole - 1) } else { None };
            before.into_iter().chain(pool(hole + 1, end)).collect()
        }
    }
}

fn change(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let subnet = find(world, call.caller, id)?.clone();
    may_change(call.caller, &subnet.project_id, "update_subnet", missing("subnets", id))?;
    check_revision(call, &subnet)?;
    let changes = wanted_changes(call, "subnet")?;
    check_known(&changes, &KNOWN)?;
    let writable: Vec<&str> = WRITABLE.iter().chain(&["gateway_ip", "allocation_pools"]).copied().collect();
    let mut changed = with_changes(&subnet, &changes, &writable)?;
    changed.touch(&now(world));
    world.state.network.subnets.insert(changed.clone());
    Ok(ApiResponse::ok(json!({"subnet": render(world, &changed)})))
}

fn delete(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let subnet = find(world, call.caller, id)?;
    may_change(call.caller, &subnet.project_id, "delete_subnet", missing("subnets", id))?;
    if world.state.network.taken.get(id).is_some_and(|taken| !taken.is_empty()) {
        let message = format!(
            "Unable to complete operation on subnet {id}: One or more ports have an IP allocation from this subnet."
        );
        return Err(conflict("SubnetInUse", &message));
    }
    forget(&mut world.state.network, id);
    Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
}

/// Takes a subnet out, with what is known about its addresses.
pub(super) fn forget(state: &mut NetworkState, id: &str) {
    state.subnets.remove(id);
    state.taken.remove(id);
    state.cursor.remove(id);
}
