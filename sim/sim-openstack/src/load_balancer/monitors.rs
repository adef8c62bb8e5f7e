//! Health monitors.

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::collection::Listing;
use super::errors::{
    bad_request, bad_value, conflict, mandatory, method_not_allowed, not_found, path_unknown,
};
use super::lifecycle::check_settled;
use super::model::{HealthMonitor, LoadBalancer, Pool};
use super::wanted::{check_known, check_word, object, with_changes};
use super::{load_balancers, pools, providers, quotas, render};
use crate::clock::plain;
use crate::cloud::World;
use crate::http::{ApiResponse, Call, Refusal, Reply};

const KINDS: [&str; 7] = ["HTTP", "HTTPS", "PING", "SCTP", "TCP", "TLS-HELLO", "UDP-CONNECT"];
const HTTP_OPTIONS: [&str; 5] = ["http_method", "url_path", "expected_codes", "http_version", "domain_name"];
const CHANGEABLE: [&str; 12] = [
    "name",
    "delay",
    "timeout",
    "max_retries",
    "max_retries_down",
    "http_method",
    "url_path",
    "expected_codes",
    "admin_state_up",
    "tags",
    "http_version",
    "domain_name",
];

/// Requests below `/healthmonitors`.
pub(super) fn serve(world: &mut World, call: &Call<'_>, rest: &[&str]) -> Reply {
    match (call.request.method.as_str(), rest) {
        ("GET", []) => {
            let listing = Listing {
                name: "healthmonitors",
                table: &world.state.load_balancer.monitors,
                indexed: &["pool_id"],
                within: None,
                tags: &|monitor| &monitor.tags,
                visible: &|monitor| call.caller.may_see(&monitor.project_id),
                render: &|monitor| render::monitor(world, monitor),
            };
            listing.answer(world, call)
        }
        ("POST", []) => create(world, call),
        ("GET", [id]) => {
            let monitor = find(world, call, id)?;
            Ok(ApiResponse::ok(json!({"healthmonitor": render::monitor(world, monitor)})))
        }
        ("PUT", [id]) => change(world, call, id),
        ("DELETE", [id]) => delete(world, call, id),
        (_, [] | [_]) => Err(method_not_allowed()),
        _ => Err(path_unknown()),
    }
}

fn find<'a>(world: &'a World, call: &Call<'_>, id: &str) -> Result<&'a HealthMonitor, Refusal> {
    let monitor = world.state.load_balancer.monitors.get(id);
    monitor
        .filter(|monitor| call.caller.may_see(&monitor.project_id))
        .ok_or_else(|| not_found("Health Monitor", id))
}

/// A monitor that could be made on a pool.
pub(super) fn planned(
    world: &mut World,
    balancer: &LoadBalancer,
    pool: &Pool,
    wanted: &Map<String, Value>,
) -> Result<HealthMonitor, Refusal> {
    check_body(world, wanted, pool)?;
    let kind = wanted.get("type").and_then(Value::as_str).unwrap_or_default();
    check_http_options(kind, wanted)?;
    let http = matches!(kind, "HTTP" | "HTTPS");
    let default = |value: &str| http.then(|| value.to_owned());
    let blank = HealthMonitor {
        id: world.ids.uuid(),
        kind: kind.to_owned(),
        max_retries_down: 3,
        http_method: default("GET"),
        url_path: default("/"),
        expected_codes: default("200"),
        admin_state_up: true,
        project_id: balancer.project_id.clone(),
        provisioning_status: "PENDING_CREATE".to_owned(),
        operating_status: "OFFLINE".to_owned(),
        created_at: plain(world.now),
        pool_id: pool.id.clone(),
        ..HealthMonitor::default()
    };
    let wanted: Map<String, Value> = wanted
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let monitor = with_changes(&blank, &wanted, &CHANGEABLE)?;
    providers::check_monitor(&balancer.provider, &monitor)?;
    Ok(monitor)
}

/// What is wrong whatever state the load balancer is in.
fn check_body(world: &World, wanted: &Map<String, Value>, pool: &Pool) -> Result<(), Refusal> {
    let known: Vec<&str> =
        CHANGEABLE.iter().chain(&["type", "pool_id", "project_id", "tenant_id"]).copied().collect();
    check_known(world, "health_monitor_.healthmonitor", wanted, &known)?;
    check_word(wanted, "type", &KINDS, true)?;
    for name in ["delay", "timeout", "max_retries"] {
        if !wanted.get(name).is_some_and(Value::is_number) {
            return Err(mandatory(name));
        }
    }
    for name in ["max_retries", "max_retries_down"] {
        if let Some(many) = wanted.get(name).and_then(Value::as_i64).filter(|many| *many > 10) {
            return Err(bad_value(name, &many.to_string(), "Value should be lower or equal to 10"));
        }
    }
    check_http_values(wanted)?;
    let kind = wanted.get("type").and_then(Value::as_str).unwrap_or_default();
    check_kind(world, kind, &pool.protocol)
}

/// A path begins with a slash; codes are one, several, or a range.
fn check_http_values(wanted: &Map<String, Value>) -> Result<(), Refusal> {
    let text = |name: &str| wanted.get(name).and_then(Value::as_str);
    if let Some(path) = text("url_path").filter(|path| !path.starts_with('/')) {
        return Err(bad_value("url_path", path, "Value must be a valid URL Path string"));
    }
    let is_code = |code: &str| code.len() == 3 && code.bytes().all(|digit| digit.is_ascii_digit());
    let fits = |codes: &str| {
        let range = codes.split_once('-').is_some_and(|(low, high)| is_code(low) && is_code(high));
        range || codes.split(',').all(|code| is_code(code.trim()))
    };
    match text("expected_codes").filter(|codes| !fits(codes)) {
        None => Ok(()),
        Some(codes) => {
            let pattern = r"^(\d{3}(\s*,\s*\d{3})*)$|^(\d{3}-\d{3})$";
            Err(bad_value("expected_codes", codes, &format!("Value should match the pattern {pattern}")))
        }
    }
}

fn check_kind(world: &World, kind: &str, protocol: &str) -> Result<(), Refusal> {
    let newer = world.config.load_balancer_minor_version >= 16;
    let possible = match protocol {
        "UDP" => matches!(kind, "UDP-CONNECT") || (newer && matches!(kind, "TCP" | "HTTP")),
        "SCTP" => matches!(kind, "SCTP" | "TCP" | "HTTP"),
        _ => !matches!(kind, "UDP-CONNECT" | "SCTP"),
    };
    if possible {
        return Ok(());
    }
    let only = if kind == "UDP-CONNECT" { "UDP/SCTP" } else { protocol };
    Err(super::errors::invalid(&format!("The {kind} type is only supported for pools of type {only}.")))
}

/// HTTP options are only for HTTP monitors.
fn check_http_options(kind: &str, wanted: &Map<String, Value>) -> Result<(), Refusal> {
    if matches!(kind, "HTTP" | "HTTPS") {
        return Ok(());
    }
    let given = HTTP_OPTIONS.iter().find(|name| wanted.get(**name).is_some_and(|value| !value.is_null()));
    match given {
        None => Ok(()),
        Some(name) => {
            Err(bad_request(&format!("{name} is not a valid option for health monitors of type {kind}")))
        }
    }
}

fn create(world: &mut World, call: &Call<'_>) -> Reply {
    let wanted = object(call, "healthmonitor")?;
    let pool_id = wanted.get("pool_id").and_then(Value::as_str).ok_or_else(|| mandatory("pool_id"))?;
    let pool = pools::find(world, call, pool_id)?.clone();
    let balancer = load_balancers::find(world, call, &pool.loadbalancer_id)?.clone();
    quotas::check(world, &pool.project_id, "Health Monitor", 1)?;
    check_body(world, &wanted, &pool)?;
    pools::check_changeable(world, &pool)?;
    if world.state.load_balancer.monitors.find("pool_id", pool_id).next().is_some() {
        return Err(conflict("This pool already has a health monitor"));
    }
    let monitor = planned(world, &balancer, &pool, &wanted)?;
    let id = monitor.id.clone();
    world.state.load_balancer.monitors.insert(monitor);
    pools::begin_below(world, &pool);
    let monitor = find(world, call, &id)?;
    Ok(ApiResponse::json(StatusCode::CREATED, json!({"healthmonitor": render::monitor(world, monitor)})))
}

fn change(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let wanted = object(call, "healthmonitor")?;
    let monitor = find(world, call, id)?.clone();
    check_known(world, "health_monitor_.healthmonitor", &wanted, &CHANGEABLE)?;
    check_http_options(&monitor.kind, &wanted)?;
    let pool = pools::find(world, call, &monitor.pool_id)?.clone();
    pools::check_changeable(world, &pool)?;
    check_settled("Health Monitor", id, &monitor.provisioning_status)?;
    let mut changed = with_changes(&monitor, &wanted, &CHANGEABLE)?;
    "PENDING_UPDATE".clone_into(&mut changed.provisioning_status);
    changed.updated_at = Some(plain(world.now));
    world.state.load_balancer.monitors.insert(changed.clone());
    pools::begin_below(world, &pool);
    Ok(ApiResponse::ok(json!({"healthmonitor": render::monitor(world, &changed)})))
}

fn delete(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let monitor = find(world, call, id)?.clone();
    let pool = pools::find(world, call, &monitor.pool_id)?.clone();
    pools::check_changeable(world, &pool)?;
    check_settled("Health Monitor", id, &monitor.provisioning_status)?;
    world.state.load_balancer.monitors.update(id, |monitor| {
        "PENDING_DELETE".clone_into(&mut monitor.provisioning_status);
    });
    pools::begin_below(world, &pool);
    Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
}
