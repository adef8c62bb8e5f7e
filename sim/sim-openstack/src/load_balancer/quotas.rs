//! Octavia's quotas.

use http::StatusCode;
use serde_json::{Value, json};

use super::errors::{method_not_allowed, over_quota, path_unknown, policy};
use super::model::LoadBalancerQuota;
use super::wanted::check_known;
use crate::cloud::World;
use crate::http::json::JsonExt;
use crate::http::{ApiResponse, Call, Refusal, Reply};

const KNOWN: [&str; 9] = [
    "loadbalancer",
    "load_balancer",
    "listener",
    "member",
    "pool",
    "healthmonitor",
    "health_monitor",
    "l7policy",
    "l7rule",
];

/// Refuses when `more` of a resource would be too many.
pub(super) fn check(world: &World, project: &str, resource: &str, more: usize) -> Result<(), Refusal> {
    let state = &world.state.load_balancer;
    let quota = of(world, project);
    let (limit, used) = match resource {
        "Load Balancer" => (quota.load_balancer, state.load_balancers.count_of(project)),
        "Listener" => (quota.listener, state.listeners.count_of(project)),
        "Pool" => (quota.pool, state.pools.count_of(project)),
        "Member" => (quota.member, state.members.count_of(project)),
        _ => (quota.health_monitor, state.monitors.count_of(project)),
    };
    match usize::try_from(limit) {
        Ok(limit) if more > 0 && used + more > limit => Err(over_quota(resource)),
        _ => Ok(()),
    }
}

fn of(world: &World, project: &str) -> LoadBalancerQuota {
    world.state.load_balancer.quotas.get(project).copied().unwrap_or_default()
}

fn render(quota: LoadBalancerQuota) -> Value {
    json!({
        "loadbalancer": quota.load_balancer, "load_balancer": quota.load_balancer, "listener": quota.listener,
        "member": quota.member, "pool": quota.pool, "healthmonitor": quota.health_monitor,
        "health_monitor": quota.health_monitor, "l7policy": -1, "l7rule": -1,
    })
}

fn with_project(quota: LoadBalancerQuota, project: &str) -> Value {
    let mut shown = render(quota);
    if let Some(shown) = shown.as_object_mut() {
        shown.insert("project_id".into(), json!(project));
        shown.insert("tenant_id".into(), json!(project));
    }
    shown
}

/// Requests below `/quotas`.
pub(super) fn serve(world: &mut World, call: &Call<'_>, rest: &[&str]) -> Reply {
    let caller = call.caller;
    match (call.request.method.as_str(), rest) {
        ("GET", ["defaults"] | [_, "default"]) if !caller.is_admin() => Err(policy()),
        // Octavia takes the word for a project.
        ("GET", [project @ "defaults"]) => {
            let shown = with_project(LoadBalancerQuota::default(), project);
            Ok(ApiResponse::ok(json!({"quota": shown})))
        }
        ("GET", [_, "default"]) => {
            Ok(ApiResponse::ok(json!({"quota": render(LoadBalancerQuota::default())})))
        }
        ("GET", []) => {
            let all = world.state.load_balancer.quotas.iter().filter(|(project, _)| caller.may_see(project));
            let all: Vec<Value> = all.map(|(project, quota)| with_project(*quota, project)).collect();
            Ok(ApiResponse::ok(json!({"quotas": all, "quotas_links": []})))
        }
        ("GET", [project]) if caller.may_see(project) => {
            Ok(ApiResponse::ok(json!({"quota": with_project(of(world, project), project)})))
        }
        ("GET", [_]) => Err(policy()),
        ("PUT" | "DELETE", [_]) if !caller.is_admin() => Err(policy()),
        ("PUT", [project]) => {
            let wanted = call.request.body.get("quota").cloned().unwrap_or_default();
            check_known(world, "quotas.quota", &crate::http::json::members(&wanted), &KNOWN)?;
            let mut quota = of(world, project);
            let number =
                |names: &[&str], old: i64| names.iter().find_map(|name| wanted.integer(name)).unwrap_or(old);
            quota.load_balancer = number(&["load_balancer", "loadbalancer"], quota.load_balancer);
            quota.listener = number(&["listener"], quota.listener);
            quota.pool = number(&["pool"], quota.pool);
            quota.member = number(&["member"], quota.member);
            quota.health_monitor = number(&["health_monitor", "healthmonitor"], quota.health_monitor);
            world.state.load_balancer.quotas.insert((*project).to_owned(), quota);
            let shown = with_project(quota, project);
            Ok(ApiResponse::json(StatusCode::ACCEPTED, json!({"quota": shown})))
        }
        ("DELETE", [project]) => {
            world.state.load_balancer.quotas.remove(*project);
            Ok(ApiResponse::empty(StatusCode::ACCEPTED))
        }
        (_, [] | [_]) => Err(method_not_allowed()),
        _ => Err(path_unknown()),
    }
}
