//! Octavia v2: load balancers with their children, providers, flavors, zones, quotas.
//!
//! The rule of the house: while a load balancer is PENDING, nothing about it or below it can be changed.

mod collection;
mod errors;
mod flavors;
mod health;
mod lifecycle;
mod listeners;
mod load_balancers;
mod members;
mod model;
mod monitor_ports;
mod monitors;
mod pools;
mod populate;
mod providers;
mod quotas;
mod render;
mod status;
mod vip;
mod wanted;

use serde_json::{Value, json};

use crate::cloud::World;
use crate::config::Service;
use crate::http::{ApiRequest, ApiResponse, Call, Caller, Reply};
use crate::identity;

pub use health::{set_failed, set_member_health};
pub use lifecycle::Fate;
pub(crate) use lifecycle::{finish, finish_children};
pub use model::{
    AdditionalVip, AvailabilityZone, Flavor, HealthMonitor, Listener, LoadBalancer, LoadBalancerQuota,
    LoadBalancerState, Member, Operation, OperationKind, Pool, Profile, SessionPersistence,
};

#[cfg(test)]
mod tests;

/// Answers a request to Octavia.
pub(crate) fn serve(world: &mut World, request: &ApiRequest) -> Reply {
    let parts = request.parts();
    if let ("GET", []) = (request.method.as_str(), parts.as_slice()) {
        return Ok(versions(world));
    }
    let caller = identity::authenticate(world, request)?;
    let call = Call { request, caller: &caller };
    match parts.as_slice() {
        ["v2" | "v2.0"] => Ok(ApiResponse::ok(json!("v2"))),
        ["v2" | "v2.0", "lbaas", rest @ ..] => route(world, &call, rest),
        _ => Err(errors::path_unknown()),
    }
}

fn route(world: &mut World, call: &Call<'_>, rest: &[&str]) -> Reply {
    check_policy(call, rest)?;
    if call.request.body_is_garbage {
        return Err(errors::bad_request("Request is not in valid JSON format"));
    }
    if call.request.body.is_array() {
        return Err(errors::not_an_object());
    }
    match rest {
        ["loadbalancers", rest @ ..] => load_balancers::serve(world, call, rest),
        ["listeners", rest @ ..] => listeners::serve(world, call, rest),
        ["pools", pool, "members", rest @ ..] => members::serve(world, call, pool, rest),
        ["pools", rest @ ..] => pools::serve(world, call, rest),
        ["healthmonitors", rest @ ..] => monitors::serve(world, call, rest),
        ["quotas", rest @ ..] => quotas::serve(world, call, rest),
        ["providers", rest @ ..] => providers::serve(call, rest),
        ["flavors" | "flavorprofiles" | "availabilityzones" | "availabilityzoneprofiles", ..] => {
            flavors::serve(world, call, rest)
        }
        ["l7policies"] => Ok(ApiResponse::ok(json!({"l7policies": [], "l7policies_links": []}))),
        _ => Err(errors::path_unknown()),
    }
}

/// Octavia has roles of its own.
fn check_policy(call: &Call<'_>, rest: &[&str]) -> Result<(), crate::http::Refusal> {
    let caller = call.caller;
    let member = caller.is_admin() || caller.has_role("load-balancer_member");
    let reads = call.request.method == http::Method::GET;
    let public = matches!(rest, ["providers" | "flavors" | "availabilityzones", ..]);
    if member || (reads && (public || may_observe(caller))) { Ok(()) } else { Err(errors::policy()) }
}

fn may_observe(caller: &Caller) -> bool {
    caller.has_role("load-balancer_observer") || caller.has_role("reader")
}

fn versions(world: &World) -> ApiResponse {
    let newest = world.config.load_balancer_minor_version;
    let href = format!("{}/v2", world.config.base(Service::LoadBalancer));
    let version = |minor: u32| {
        let status = if minor == newest { "CURRENT" } else { "SUPPORTED" };
        let links = json!([{"href": href, "rel": "self"}]);
        json!({"id": format!("v2.{minor}"), "status": status, "updated": "2016-12-11T00:00:00Z", "links": links})
    };
    let versions: Vec<Value> = (0..=newest).map(version).collect();
    ApiResponse::ok(json!({"versions": versions}))
}
