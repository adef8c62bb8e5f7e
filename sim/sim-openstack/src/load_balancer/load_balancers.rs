//! Load balancers.

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::collection::Listing;
use super::errors::{bad_request, invalid, method_not_allowed, not_found, path_unknown, policy, unsupported};
use super::lifecycle::{begin, check_state};
use super::model::{LoadBalancer, OperationKind};
use super::wanted::{check_known, object, with_changes};
use super::{populate, providers, quotas, render, status, vip};
use crate::clock::plain;
use crate::cloud::World;
use crate::http::{ApiResponse, Call, Refusal, Reply};

const KNOWN: [&str; 21] = [
    "name",
    "description",
    "admin_state_up",
    "project_id",
    "tenant_id",
    "vip_address",
    "vip_port_id",
    "vip_subnet_id",
    "vip_network_id",
    "vip_qos_policy_id",
    "vip_sg_ids",
    "additional_vips",
    "provider",
    "flavor",
    "flavor_id",
    "tags",
    "availability_zone",
    "listeners",
    "pools",
    "vip_vnic_type",
    "id",
];
const CHANGEABLE: [&str; 6] =
    ["name", "description", "admin_state_up", "tags", "vip_qos_policy_id", "vip_sg_ids"];

/// Requests below `/loadbalancers`.
pub(super) fn serve(world: &mut World, call: &Call<'_>, rest: &[&str]) -> Reply {
    match (call.request.method.as_str(), rest) {
        ("GET", []) => {
            let listing = Listing {
                name: "loadbalancers",
                table: &world.state.load_balancer.load_balancers,
                indexed: &["name", "vip_port_id"],
                within: None,
                tags: &|balancer| &balancer.tags,
                visible: &|balancer| call.caller.may_see(&balancer.project_id),
                render: &|balancer| render::load_balancer(world, balancer),
            };
            listing.answer(world, call)
        }
        ("POST", []) => create(world, call),
        ("GET", [id]) => {
            let balancer = find(world, call, id)?;
            Ok(ApiResponse::ok(json!({"loadbalancer": render::load_balancer(world, balancer)})))
        }
        ("PUT", [id]) => change(world, call, id),
        ("DELETE", [id]) => delete(world, call, id),
        ("GET", [id, "status" | "statuses"]) => {
            Ok(ApiResponse::ok(status::tree(world, find(world, call, id)?)))
        }
        ("GET", [id, "stats"]) => {
            find(world, call, id)?;
            Ok(ApiResponse::ok(json!({"stats": {
                "bytes_in": 0, "bytes_out": 0, "active_connections": 0, "total_connections": 0, "request_errors": 0,
            }})))
        }
        ("PUT", [id, "failover"]) => fail_over(world, call, id),
        (_, [] | [_]) => Err(method_not_allowed()),
        _ => Err(path_unknown()),
    }
}

/// A load balancer the caller may see.
pub(super) fn find<'a>(world: &'a World, call: &Call<'_>, id: &str) -> Result<&'a LoadBalancer, Refusal> {
    let balancer = world.state.load_balancer.load_balancers.get(id);
    balancer
        .filter(|balancer| call.caller.may_see(&balancer.project_id))
        .ok_or_else(|| not_found("Load Balancer", id))
}

fn create(world: &mut World, call: &Call<'_>) -> Reply {
    let wanted = object(call, "loadbalancer")?;
    check_known(world, "load_balancer.loadbalancer", &wanted, &KNOWN)?;
    let project = project(call, &wanted)?;
    let place = vip::place(world, call.caller, &wanted)?;
    let named = wanted.get("provider").and_then(Value::as_str);
    let provider = named.unwrap_or(&world.config.default_load_balancer_provider).to_owned();
    if !providers::exists(&provider) {
        return Err(bad_request(&format!("Provider '{provider}' is not enabled.")));
    }
    check_flavor(world, &wanted, &provider)?;
    check_zone(world, &wanted)?;
    check_groups(world, &wanted)?;
    quotas::check(world, &project, "Load Balancer", 1)?;
    let blank = LoadBalancer {
        id: world.ids.uuid(),
        provisioning_status: "PENDING_CREATE".to_owned(),
        operating_status: "OFFLINE".to_owned(),
        admin_state_up: true,
        project_id: project,
        created_at: plain(world.now),
        provider,
        vip_vnic_type: "normal".to_owned(),
        ..LoadBalancer::default()
    };
    let creatable: Vec<&str> =
        CHANGEABLE.iter().chain(&["flavor_id", "availability_zone"]).copied().collect();
    let mut balancer = with_changes(&blank, &wanted, &creatable)?;
    // What hangs on it has to fit its address, which is given first.
    vip::take(world, place, &mut balancer)?;
    let children = match populate::plan(world, &balancer, &wanted) {
        Ok(children) => children,
        Err(refusal) => {
            vip::give_back(world, &balancer);
            return Err(refusal);
        }
    };
    let id = balancer.id.clone();
    world.state.load_balancer.load_balancers.insert(balancer);
    populate::insert(world, children);
    begin(world, &id, OperationKind::Create);
    let balancer = find(world, call, &id)?;
    let shown = render::populated(world, balancer);
    Ok(ApiResponse::json(StatusCode::CREATED, json!({"loadbalancer": shown})))
}

fn project(call: &Call<'_>, wanted: &Map<String, Value>) -> Result<String, Refusal> {
    let named = wanted.get("project_id").or_else(|| wanted.get("tenant_id")).and_then(Value::as_str);
    match named {
        None => Ok(call.caller.project_id.clone()),
        Some(project) if call.caller.may_see(project) => Ok(project.to_owned()),
        Some(_) => Err(policy()),
    }
}

fn check_flavor(world: &World, wanted: &Map<String, Value>, provider: &str) -> Result<(), Refusal> {
    let Some(id) = wanted.get("flavor_id").and_then(Value::as_str) else { return Ok(()) };
    let state = &world.state.load_balancer;
    let flavor = state.flavors.get(id).filter(|flavor| flavor.enabled).ok_or_else(|| {
        bad_request(&format!("The selected flavor is not allowed in this deployment: {id}"))
    })?;
    let profile = state.flavor_profiles.get(&flavor.flavor_profile_id);
    if profile.is_none_or(|profile| profile.provider_name != provider) {
        return Err(bad_request(&format!("Flavor '{id}' is not compatible with provider '{provider}'")));
    }
    Ok(())
}

fn check_zone(world: &World, wanted: &Map<String, Value>) -> Result<(), Refusal> {
    let Some(name) = wanted.get("availability_zone").and_then(Value::as_str) else { return Ok(()) };
    let zone = world.state.load_balancer.zones.get(name).filter(|zone| zone.enabled);
    if zone.is_some() { Ok(()) } else { Err(invalid("Invalid availability zone.")) }
}

fn check_groups(world: &World, wanted: &Map<String, Value>) -> Result<(), Refusal> {
    let groups = wanted.get("vip_sg_ids").and_then(Value::as_array).into_iter().flatten();
    let known = |id: &&str| world.state.network.security_groups.contains(id);
    match groups.filter_map(Value::as_str).find(|id| !known(id)) {
        None => Ok(()),
        Some(id) => Err(bad_request(&format!("Security Group {id} not found."))),
    }
}

fn change(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let wanted = object(call, "loadbalancer")?;
    let balancer = find(world, call, id)?.clone();
    check_known(world, "load_balancer.loadbalancer", &wanted, &CHANGEABLE)?;
    check_state(&balancer, false)?;
    let mut changed = with_changes(&balancer, &wanted, &CHANGEABLE)?;
    changed.updated_at = Some(plain(world.now));
    world.state.load_balancer.load_balancers.insert(changed);
    begin(world, id, OperationKind::Change);
    let balancer = find(world, call, id)?;
    Ok(ApiResponse::ok(json!({"loadbalancer": render::load_balancer(world, balancer)})))
}

fn delete(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let balancer = find(world, call, id)?;
    check_state(balancer, true)?;
    let state = &world.state.load_balancer;
    let children = state.listeners.find("loadbalancer_id", id).next().is_some()
        || state.pools.find("loadbalancer_id", id).next().is_some();
    if children && !call.request.query.is_true("cascade") {
        return Err(invalid(&format!("Cannot delete Load Balancer {id} - it has children")));
    }
    begin(world, id, OperationKind::Delete);
    Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
}

fn fail_over(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let balancer = find(world, call, id)?;
    if !call.caller.is_admin() {
        return Err(policy());
    }
    if balancer.provider == "ovn" {
        return Err(unsupported("ovn", "OVN provider does not support failover"));
    }
    check_state(balancer, true)?;
    begin(world, id, OperationKind::Change);
    Ok(ApiResponse::empty(StatusCode::ACCEPTED))
}
