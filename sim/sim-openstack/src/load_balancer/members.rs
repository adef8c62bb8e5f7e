//! Members of pools, one by one or all at once.

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::collection::Listing;
use super::errors::{
    bad_request, bad_value, conflict, invalid, mandatory, method_not_allowed, no_pool, not_found,
    path_unknown, refusal,
};
use super::lifecycle::check_settled;
use super::model::{LoadBalancer, Member, Pool};
use super::wanted::{check_known, check_port, object, with_changes};
use super::{load_balancers, pools, providers, quotas, render};
use crate::clock::plain;
use crate::cloud::World;
use crate::http::json::{JsonExt, members as as_map};
use crate::http::{ApiResponse, Call, Refusal, Reply};

const CHANGEABLE: [&str; 8] =
    ["name", "admin_state_up", "weight", "backup", "monitor_address", "monitor_port", "tags", "vnic_type"];

/// Requests below `/pools/{id}/members`.
pub(super) fn serve(world: &mut World, call: &Call<'_>, pool: &str, rest: &[&str]) -> Reply {
    let found = world.state.load_balancer.pools.get(pool);
    let found = found.filter(|pool| call.caller.may_see(&pool.project_id)).cloned();
    let pool = found.ok_or_else(|| no_pool(pool))?;
    match (call.request.method.as_str(), rest) {
        ("GET", []) => {
            let listing = Listing {
                name: "members",
                table: &world.state.load_balancer.members,
                indexed: &[],
                within: Some(("pool_id", &pool.id)),
                tags: &|member| &member.tags,
                visible: &|member: &Member| member.pool_id == pool.id,
                render: &|member| render::member(world, member),
            };
            listing.answer(world, call)
        }
        ("POST", []) => create(world, call, &pool),
        ("PUT", []) => replace(world, call, &pool),
        ("GET", [id]) => {
            let member = find(world, &pool, id)?;
            Ok(ApiResponse::ok(json!({"member": render::member(world, member)})))
        }
        ("PUT", [id]) => change(world, call, &pool, id),
        ("DELETE", [id]) => delete(world, &pool, id),
        (_, [] | [_]) => Err(method_not_allowed()),
        _ => Err(path_unknown()),
    }
}

fn find<'a>(world: &'a World, pool: &Pool, id: &str) -> Result<&'a Member, Refusal> {
    let member = world.state.load_balancer.members.get(id);
    member.filter(|member| member.pool_id == pool.id).ok_or_else(|| not_found("Member", id))
}

/// A member that could be made in a pool.
pub(super) fn planned(
    world: &mut World,
    balancer: &LoadBalancer,
    pool: &Pool,
    wanted: &Map<String, Value>,
) -> Result<Member, Refusal> {
    check_body(world, "member_.member", wanted)?;
    let text = |name: &str| wanted.get(name).and_then(Value::as_str);
    let address = text("address").ok_or_else(|| mandatory("address"))?;
    if let Some(subnet) = text("subnet_id").filter(|subnet| !world.state.network.subnets.contains(subnet)) {
        return Err(bad_request(&format!("Subnet {subnet} not found.")));
    }
    let monitored = world.state.load_balancer.monitors.find("pool_id", &pool.id).next().is_some();
    let status = if monitored { "OFFLINE" } else { "NO_MONITOR" };
    let blank = Member {
        id: world.ids.uuid(),
        operating_status: status.to_owned(),
        provisioning_status: "PENDING_CREATE".to_owned(),
        admin_state_up: true,
        address: address.to_owned(),
        weight: 1,
        subnet_id: text("subnet_id").map(str::to_owned),
        project_id: pool.project_id.clone(),
        created_at: plain(world.now),
        vnic_type: "normal".to_owned(),
        pool_id: pool.id.clone(),
        ..Member::default()
    };
    let creatable: Vec<&str> = CHANGEABLE.iter().chain(&["protocol_port"]).copied().collect();
    let member = with_changes(&blank, wanted, &creatable)?;
    providers::check_member(balancer, &member)?;
    Ok(member)
}

fn check_body(world: &World, argument: &str, wanted: &Map<String, Value>) -> Result<(), Refusal> {
    let known: Vec<&str> = CHANGEABLE
        .iter()
        .chain(&["address", "protocol_port", "subnet_id", "project_id", "tenant_id", "request_sriov"])
        .copied()
        .collect();
    check_known(world, argument, wanted, &known)?;
    check_weight(wanted)?;
    check_port(wanted, "protocol_port", true)?;
    check_port(wanted, "monitor_port", false)?;
    match wanted.get("address").and_then(Value::as_str) {
        Some(address) if address.parse::<std::net::IpAddr>().is_err() => {
            Err(bad_value("address", address, "Value should be IPv4 or IPv6 format"))
        }
        _ => Ok(()),
    }
}

fn create(world: &mut World, call: &Call<'_>, pool: &Pool) -> Reply {
    let wanted = object(call, "member")?;
    let balancer = load_balancers::find(world, call, &pool.loadbalancer_id)?.clone();
    quotas::check(world, &pool.project_id, "Member", 1)?;
    check_body(world, "member_.member", &wanted)?;
    let subnet = wanted.get("subnet_id").and_then(Value::as_str);
    if let Some(subnet) = subnet.filter(|subnet| !world.state.network.subnets.contains(subnet)) {
        return Err(bad_request(&format!("Subnet {subnet} not found.")));
    }
    pools::check_changeable(world, pool)?;
    let member = planned(world, &balancer, pool, &wanted)?;
    let twin = world.state.load_balancer.members.find("pool_id", &pool.id).any(|other| same(other, &member));
    if twin {
        return Err(taken(&member));
    }
    let id = member.id.clone();
    world.state.load_balancer.members.insert(member);
    pools::begin_below(world, pool);
    let member = find(world, pool, &id)?;
    Ok(ApiResponse::json(StatusCode::CREATED, json!({"member": render::member(world, member)})))
}

fn taken(member: &Member) -> Refusal {
    let (address, port) = (&member.address, member.protocol_port);
    conflict(&format!("Another member on this pool is already using ip {address} on protocol_port {port}"))
}

fn check_weight(wanted: &Map<String, Value>) -> Result<(), Refusal> {
    match wanted.get("weight").and_then(Value::as_i64).filter(|weight| *weight > 256) {
        None => Ok(()),
        Some(weight) => {
            Err(bad_value("weight", &weight.to_string(), "Value should be lower or equal to 256"))
        }
    }
}

/// Members are told apart by address and port.
fn same(a: &Member, b: &Member) -> bool {
    a.address == b.address && a.protocol_port == b.protocol_port
}

/// `PUT` of the whole list: new ones are made, known ones changed, others deleted unless only additions are wanted.
fn replace(world: &mut World, call: &Call<'_>, pool: &Pool) -> Reply {
    let additive = call.request.query.is_true("additive_only");
    if call.request.body.get("members").is_none() {
        let message = "'UnsetType' object is not iterable"; // Octavia does not expect it
        return Err(refusal(StatusCode::INTERNAL_SERVER_ERROR, message));
    }
    let all: Vec<Map<String, Value>> = call.request.body.list("members").iter().map(as_map).collect();
    let balancer = load_balancers::find(world, call, &pool.loadbalancer_id)?.clone();
    for wanted in &all {
        check_body(world, "members_.members", wanted)?;
    }
    pools::check_changeable(world, pool)?;
    let mut planned_all: Vec<(Member, Map<String, Value>)> = Vec::new();
    for wanted in all {
        let member = planned_for_batch(world, &balancer, pool, &wanted)?;
        if planned_all.iter().any(|(other, _)| same(other, &member)) {
            let known =
                world.state.load_balancer.members.find("pool_id", &pool.id).any(|own| same(own, &member));
            return Err(if known {
                invalid("Member must be updated only once in the same request.")
            } else {
                taken(&member)
            });
        }
        planned_all.push((member, wanted));
    }
    let existing: Vec<Member> =
        world.state.load_balancer.members.find("pool_id", &pool.id).cloned().collect();
    let fresh =
        planned_all.iter().filter(|(member, _)| !existing.iter().any(|other| same(other, member))).count();
    quotas::check(world, &pool.project_id, "Member", fresh)?;
    for (member, wanted) in &planned_all {
        match existing.iter().find(|other| same(other, member)) {
            None => world.state.load_balancer.members.insert(member.clone()),
            Some(other) => {
                let mut changed = with_changes(other, wanted, &CHANGEABLE)?;
                "PENDING_UPDATE".clone_into(&mut changed.provisioning_status);
                changed.updated_at = Some(plain(world.now));
                world.state.load_balancer.members.insert(changed);
            }
        }
    }
    if !additive {
        for gone in existing.iter().filter(|other| !planned_all.iter().any(|(member, _)| same(member, other)))
        {
            world.state.load_balancer.members.update(&gone.id, |member| {
                "PENDING_DELETE".clone_into(&mut member.provisioning_status);
            });
        }
    }
    pools::begin_below(world, pool);
    Ok(ApiResponse::empty(StatusCode::ACCEPTED))
}

/// In a batch, subnets are only looked at for members that are new.
fn planned_for_batch(
    world: &mut World,
    balancer: &LoadBalancer,
    pool: &Pool,
    wanted: &Map<String, Value>,
) -> Result<Member, Refusal> {
    let key =
        (wanted.get("address").and_then(Value::as_str), wanted.get("protocol_port").and_then(Value::as_u64));
    let known = world
        .state
        .load_balancer
        .members
        .find("pool_id", &pool.id)
        .any(|member| (Some(member.address.as_str()), Some(u64::from(member.protocol_port))) == key);
    let mut wanted = wanted.clone();
    if known {
        wanted.remove("subnet_id");
    }
    planned(world, balancer, pool, &wanted)
}

fn change(world: &mut World, call: &Call<'_>, pool: &Pool, id: &str) -> Reply {
    let wanted = object(call, "member")?;
    let member = find(world, pool, id)?.clone();
    check_known(world, "member_.member", &wanted, &CHANGEABLE)?;
    pools::check_changeable(world, pool)?;
    check_settled("Member", id, &member.provisioning_status)?;
    let mut changed = with_changes(&member, &wanted, &CHANGEABLE)?;
    providers::check_member(load_balancers::find(world, call, &pool.loadbalancer_id)?, &changed)?;
    "PENDING_UPDATE".clone_into(&mut changed.provisioning_status);
    changed.updated_at = Some(plain(world.now));
    world.state.load_balancer.members.insert(changed.clone());
    pools::begin_below(world, pool);
    Ok(ApiResponse::ok(json!({"member": render::member(world, &changed)})))
}

fn delete(world: &mut World, pool: &Pool, id: &str) -> Reply {
    let member = find(world, pool, id)?.clone();
    pools::check_changeable(world, pool)?;
    check_settled("Member", id, &member.provisioning_status)?;
    world.state.load_balancer.members.update(id, |member| {
        "PENDING_DELETE".clone_into(&mut member.provisioning_status);
    });
    pools::begin_below(world, pool);
    Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
}
