//! Neutron's quotas.

use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::errors::{bad_request, conflict, over_quota, path_unknown, policy, refusal};
use crate::cloud::World;
use crate::http::json::{members, merged, to_map};
use crate::http::{ApiResponse, Call, Refusal, Reply};

/// How many of each thing a project may have; -1: any number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names of the API")]
pub struct NetworkQuota {
    pub network: i64,
    pub subnet: i64,
    pub subnetpool: i64,
    pub port: i64,
    pub router: i64,
    pub router_route: i64,
    pub floatingip: i64,
    pub rbac_policy: i64,
    pub security_group: i64,
    pub security_group_rule: i64,
    pub trunk: i64,
}

impl Default for NetworkQuota {
    /// Neutron's own defaults.
    fn default() -> Self {
        Self {
            network: 100,
            subnet: 100,
            subnetpool: -1,
            port: 500,
            router: 10,
            router_route: 30,
            floatingip: 50,
            rbac_policy: 10,
            security_group: 10,
            security_group_rule: 100,
            trunk: -1,
        }
    }
}

impl NetworkQuota {
    /// Any number of everything.
    #[must_use]
    pub fn unlimited() -> Self {
        Self {
            network: -1,
            subnet: -1,
            subnetpool: -1,
            port: -1,
            router: -1,
            router_route: -1,
            floatingip: -1,
            rbac_policy: -1,
            security_group: -1,
            security_group_rule: -1,
            trunk: -1,
        }
    }
}

const NAMES: [&str; 11] = [
    "network",
    "subnet",
    "subnetpool",
    "port",
    "router",
    "router_route",
    "floatingip",
    "rbac_policy",
    "security_group",
    "security_group_rule",
    "trunk",
];

/// The quota of a project.
pub(super) fn of(world: &World, project: &str) -> NetworkQuota {
    world.state.network.quotas.get(project).copied().unwrap_or_default()
}

fn used(world: &World, project: &str, resource: &str) -> usize {
    let network = &world.state.network;
    match resource {
        "network" => network.networks.count_of(project),
        "subnet" => network.subnets.count_of(project),
        "port" => network.ports.count_of(project),
        "router" => network.routers.count_of(project),
        "floatingip" => network.floating_ips.count_of(project),
        "security_group" => network.security_groups.count_of(project),
        "security_group_rule" => network.rules.count_of(project),
        "trunk" => network.trunks.count_of(project),
        _ => 0,
    }
}

/// Refuses when `more` of a resource would be too many.
pub(super) fn check(world: &World, project: &str, resource: &str, more: usize) -> Result<(), Refusal> {
    let quota = of(world, project);
    let limit = match resource {
        "network" => quota.network,
        "subnet" => quota.subnet,
        "port" => quota.port,
        "router" => quota.router,
        "floatingip" => quota.floatingip,
        "security_group" => quota.security_group,
        "security_group_rule" => quota.security_group_rule,
        _ => quota.trunk,
    };
    match usize::try_from(limit) {
        Ok(limit) if used(world, project, resource) + more > limit => Err(over_quota(resource)),
        _ => Ok(()),
    }
}

/// Requests below `/quotas`.
pub(super) fn serve(world: &mut World, call: &Call<'_>, rest: &[&str]) -> Reply {
    let caller = call.caller;
    match (call.request.method.as_str(), rest) {
        ("GET", [_, "default"] | [_, "default.json"]) => {
            Ok(ApiResponse::ok(json!({"quota": NetworkQuota::default()})))
        }
        ("GET", [project, "details"] | [project, "details.json"]) if caller.may_see(project) => {
            let mut shown = to_map(&of(world, project));
            for (name, limit) in &mut shown {
                *limit = json!({"limit": limit, "used": used(world, project, name), "reserved": 0});
            }
            Ok(ApiResponse::ok(json!({"quota": shown})))
        }
        ("GET", [project]) if caller.may_see(project) => {
            Ok(ApiResponse::ok(json!({"quota": of(world, project)})))
        }
        ("GET", [_] | [_, _]) => Err(policy("rule:get_quota")),
        ("PUT", [project]) => {
            if !caller.is_admin() {
                let message = "rule:update_quota is disallowed by policy";
                return Err(refusal(StatusCode::FORBIDDEN, "PolicyNotAuthorized", message));
            }
            let mut changes = members(call.request.body.get("quota").unwrap_or(&Value::Null));
            let force = changes.remove("force") == Some(json!(true));
            changes.remove("check_limit");
            let quota: NetworkQuota = merged(&of(world, project), &changes, &NAMES).map_err(|name| {
                let found = changes.get(&name).and_then(Value::as_str).unwrap_or_default();
                let message = format!("Invalid input for operation: '{found}' is not an integer.");
                bad_request("InvalidInput", &message)
            })?;
            if !force {
                check_usage(world, project, &changes)?;
            }
            world.state.network.quotas.insert((*project).to_owned(), quota);
            Ok(ApiResponse::ok(json!({"quota": quota})))
        }
        ("DELETE", [project]) => {
            if !caller.is_admin() {
                return Err(policy("rule:delete_quota"));
            }
            world.state.network.quotas.remove(*project);
            Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
        }
        _ => Err(path_unknown()),
    }
}

/// Without force a quota is never below what is used.
fn check_usage(
    world: &World,
    project: &str,
    changes: &serde_json::Map<String, Value>,
) -> Result<(), Refusal> {
    for (name, limit) in changes {
        let limit = limit.as_i64().and_then(|limit| usize::try_from(limit).ok());
        if limit.is_some_and(|limit| limit < used(world, project, name)) {
            let message = format!("Quota limit for {name} is below what project {project} uses.");
            return Err(conflict("QuotaLimitTooLow", &message));
        }
    }
    Ok(())
}
