//! Nova's quotas and limits.

use http::StatusCode;
use serde_json::{Value, json};

use super::errors::{path_unknown, policy};
use super::model::ComputeQuota;
use super::{ComputeCall, Microversion};
use crate::cloud::World;
use crate::http::json::JsonExt;
use crate::http::{ApiResponse, Reply};

/// Requests below `/os-quota-sets`.
pub(super) fn serve(world: &mut World, call: &ComputeCall<'_>, rest: &[&str]) -> Reply {
    let caller = call.call.caller;
    let may_see = |project: &str| {
        if caller.may_see(project) { Ok(()) } else { Err(policy("os_compute_api:os-quota-sets:show")) }
    };
    match (call.call.request.method.as_str(), rest) {
        ("GET", [_, "defaults"]) => {
            let quota = render(ComputeQuota::default(), call.version);
            Ok(ApiResponse::ok(json!({"quota_set": with_id(quota, rest)})))
        }
        ("GET", [project, "detail"]) => {
            may_see(project)?;
            Ok(ApiResponse::ok(json!({"quota_set": with_id(detail(world, project, call.version), rest)})))
        }
        ("GET", [project]) => {
            may_see(project)?;
            let quota = render(of(world, project), call.version);
            Ok(ApiResponse::ok(json!({"quota_set": with_id(quota, rest)})))
        }
        ("PUT", [project]) => {
            if !caller.is_admin() {
                return Err(policy("os_compute_api:os-quota-sets:update"));
            }
            let wanted = call.call.request.body.get("quota_set").cloned().unwrap_or_default();
            let mut quota = of(world, project);
            quota.instances = wanted.integer("instances").unwrap_or(quota.instances);
            quota.cores = wanted.integer("cores").unwrap_or(quota.cores);
            quota.ram = wanted.integer("ram").unwrap_or(quota.ram);
            world.state.compute.quotas.insert((*project).to_owned(), quota);
            Ok(ApiResponse::ok(json!({"quota_set": render(quota, call.version)})))
        }
        ("DELETE", [project]) => {
            if !caller.is_admin() {
                return Err(policy("os_compute_api:os-quota-sets:delete"));
            }
            world.state.compute.quotas.remove(*project);
            Ok(ApiResponse::empty(StatusCode::ACCEPTED))
        }
        _ => Err(path_unknown()),
    }
}

/// `GET /limits`.
pub(super) fn limits(world: &World, call: &ComputeCall<'_>) -> ApiResponse {
    let project = &call.call.caller.project_id;
    let quota = of(world, project);
    let used = world.state.compute.usage.get(project).copied().unwrap_or_default();
    let mut absolute = json!({
        "maxTotalInstances": quota.instances, "maxTotalCores": quota.cores, "maxTotalRAMSize": quota.ram,
        "totalInstancesUsed": used.0, "totalCoresUsed": used.1, "totalRAMUsed": used.2,
        "maxServerMeta": 128, "maxTotalKeypairs": 100, "maxServerGroups": 10, "maxServerGroupMembers": 10,
        "totalServerGroupsUsed": 0,
    });
    // As with the quotas: images are Glance's since 2.39.
    let gone = [
        (36, "maxSecurityGroups", -1),
        (36, "maxSecurityGroupRules", -1),
        (36, "maxTotalFloatingIps", -1),
        (36, "totalSecurityGroupsUsed", 0),
        (36, "totalFloatingIpsUsed", 0),
        (39, "maxImageMeta", 128),
        (57, "maxPersonality", 5),
        (57, "maxPersonalitySize", 10_240),
    ];
    if let Some(absolute) = absolute.as_object_mut() {
        for (_, name, limit) in gone.into_iter().filter(|(minor, _, _)| !call.version.has(*minor)) {
            absolute.insert(name.to_owned(), json!(limit));
        }
    }
    ApiResponse::ok(json!({"limits": {"rate": [], "absolute": absolute}}))
}

fn of(world: &World, project: &str) -> ComputeQuota {
    world.state.compute.quotas.get(project).copied().unwrap_or_default()
}

fn render(quota: ComputeQuota, version: Microversion) -> Value {
    let mut shown = json!({
        "instances": quota.instances, "cores": quota.cores, "ram": quota.ram, "key_pairs": 100,
        "metadata_items": 128, "server_groups": 10, "server_group_members": 10,
    });
    if let Some(shown) = shown.as_object_mut() {
        // Networks are Neutron's since 2.36, injected files nobody's since 2.57.
        if !version.has(36) {
            for name in ["fixed_ips", "floating_ips", "security_groups", "security_group_rules"] {
                shown.insert(name.to_owned(), json!(-1));
            }
        }
        if !version.has(57) {
            shown.insert("injected_files".into(), json!(5));
            shown.insert("injected_file_content_bytes".into(), json!(10_240));
            shown.insert("injected_file_path_bytes".into(), json!(255));
        }
    }
    shown
}

fn detail(world: &World, project: &str, version: Microversion) -> Value {
    let used = world.state.compute.usage.get(project).copied().unwrap_or_default();
    let mut shown = render(of(world, project), version);
    for (name, limit) in shown.as_object_mut().into_iter().flatten() {
        let in_use = match name.as_str() {
            "instances" => used.0,
            "cores" => used.1,
            "ram" => used.2,
            _ => 0,
        };
        *limit = json!({"limit": limit, "in_use": in_use, "reserved": 0});
    }
    shown
}

/// Reads name the project.
fn with_id(mut quota: Value, rest: &[&str]) -> Value {
    if let (Some(quota), Some(project)) = (quota.as_object_mut(), rest.first()) {
        quota.insert("id".into(), json!(project));
    }
    quota
}
