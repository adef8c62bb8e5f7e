//! Pools.

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::collection::Listing;
use super::errors::{conflict, invalid, method_not_allowed, not_found, path_unknown};
use super::lifecycle::{begin, check_mutable, check_settled};
use super::model::{Listener, LoadBalancer, OperationKind, Pool};
use super::wanted::{check_known, check_word, object, with_changes};
use super::{listeners, load_balancers, providers, quotas, render};
use crate::clock::plain;
use crate::cloud::World;
use crate::http::{ApiResponse, Call, Refusal, Reply};

const PROTOCOLS: [&str; 7] = ["HTTP", "HTTPS", "PROXY", "PROXYV2", "TCP", "UDP", "SCTP"];
const ALGORITHMS: [&str; 4] = ["ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT"];
const CHANGEABLE: [&str; 13] = [
    "name",
    "description",
    "admin_state_up",
    "lb_algorithm",
    "session_persistence",
    "tags",
    "tls_container_ref",
    "ca_tls_container_ref",
    "crl_container_ref",
    "tls_enabled",
    "tls_ciphers",
    "tls_versions",
    "alpn_protocols",
];

/// Requests below `/pools`.
pub(super) fn serve(world: &mut World, call: &Call<'_>, rest: &[&str]) -> Reply {
    match (call.request.method.as_str(), rest) {
        ("GET", []) => {
            let listing = Listing {
                name: "pools",
                table: &world.state.load_balancer.pools,
                indexed: &["loadbalancer_id"],
                within: None,
                tags: &|pool| &pool.tags,
                visible: &|pool| call.caller.may_see(&pool.project_id),
                render: &|pool| render::pool(world, pool),
            };
            listing.answer(world, call)
        }
        ("POST", []) => create(world, call),
        ("GET", [id]) => {
            let pool = find(world, call, id)?;
            Ok(ApiResponse::ok(json!({"pool": render::pool(world, pool)})))
        }
        ("PUT", [id]) => change(world, call, id),
        ("DELETE", [id]) => delete(world, call, id),
        (_, [] | [_]) => Err(method_not_allowed()),
        _ => Err(path_unknown()),
    }
}

/// A pool the caller may see.
pub(super) fn find<'a>(world: &'a World, call: &Call<'_>, id: &str) -> Result<&'a Pool, Refusal> {
    let pool = world.state.load_balancer.pools.get(id);
    pool.filter(|pool| call.caller.may_see(&pool.project_id)).ok_or_else(|| not_found("Pool", id))
}

/// Which pools a listener can send to.
pub(super) fn check_protocols(pool: &str, listener: &str) -> Result<(), Refusal> {
    let possible: &[&str] = match listener {
        "UDP" => &["UDP"],
        "SCTP" => &["SCTP"],
        "HTTP" | "TERMINATED_HTTPS" => &["HTTP", "PROXY", "PROXYV2"],
        "HTTPS" => &["HTTPS", "PROXY", "PROXYV2", "TCP"],
        "TCP" => &["HTTP", "HTTPS", "PROXY", "PROXYV2", "TCP"],
        _ => &[],
    };
    if possible.contains(&pool) {
        return Ok(());
    }
    Err(invalid(&format!(
        "The pool protocol '{pool}' is invalid while the listener protocol is '{listener}'."
    )))
}

/// A pool that could be made on a load balancer.
pub(super) fn planned(
    world: &mut World,
    balancer: &LoadBalancer,
    listener: Option<&Listener>,
    wanted: &Map<String, Value>,
) -> Result<Pool, Refusal> {
    let known: Vec<&str> = CHANGEABLE
        .iter()
        .chain(&[
            "protocol",
            "loadbalancer_id",
            "listener_id",
            "project_id",
            "tenant_id",
            "members",
            "healthmonitor",
        ])
        .copied()
        .collect();
    check_known(world, "pool_.pool", wanted, &known)?;
    check_word(wanted, "protocol", &PROTOCOLS, true)?;
    check_word(wanted, "lb_algorithm", &ALGORITHMS, true)?;
    let blank = Pool {
        id: world.ids.uuid(),
        provisioning_status: "PENDING_CREATE".to_owned(),
        operating_status: "OFFLINE".to_owned(),
        admin_state_up: true,
        project_id: balancer.project_id.clone(),
        created_at: plain(world.now),
        loadbalancer_id: balancer.id.clone(),
        ..Pool::default()
    };
    let creatable: Vec<&str> = CHANGEABLE.iter().chain(&["protocol"]).copied().collect();
    let pool = with_changes(&blank, wanted, &creatable)?;
    if let Some(listener) = listener {
        check_protocols(&pool.protocol, &listener.protocol)?;
    }
    check_persistence(&pool)?;
    providers::check_pool(&balancer.provider, &pool)?;
    Ok(pool)
}

fn check_persistence(pool: &Pool) -> Result<(), Refusal> {
    let Some(persistence) = &pool.session_persistence else { return Ok(()) };
    let cookie = persistence.cookie_name.is_some();
    match persistence.kind.as_str() {
        "APP_COOKIE" if !cookie => Err(invalid(
            "Field \"cookie_name\" must be specified when using the \"APP_COOKIE\" session persistence type.",
        )),
        "SOURCE_IP" | "HTTP_COOKIE" if cookie => Err(invalid(&format!(
            "Field cookie_name can not be specified with session persistence of type {}.",
            persistence.kind
        ))),
        "SOURCE_IP" | "HTTP_COOKIE" | "APP_COOKIE" => Ok(()),
        other => Err(super::errors::bad_value(
            "type",
            other,
            "Value should be one of: SOURCE_IP, HTTP_COOKIE, APP_COOKIE",
        )),
    }
}

fn no_listener() -> Refusal {
    let message = "'NoneType' object has no attribute 'load_balancer_id'";
    super::errors::refusal(StatusCode::INTERNAL_SERVER_ERROR, message)
}

fn create(world: &mut World, call: &Call<'_>) -> Reply {
    let wanted = object(call, "pool")?;
    let text = |name: &str| wanted.get(name).and_then(Value::as_str);
    let listener = match text("listener_id") {
        None => None,
        // Octavia does not expect that there is none.
        Some(id) => Some(listeners::find(world, call, id).map_err(|_| no_listener())?.clone()),
    };
    let balancer_id = match (&listener, text("loadbalancer_id")) {
        (Some(listener), _) => listener.loadbalancer_id.clone(),
        (None, Some(id)) => id.to_owned(),
        (None, None) => return Err(invalid("Must provide at least one of: loadbalancer_id, listener_id")),
    };
    let balancer = load_balancers::find(world, call, &balancer_id)?.clone();
    quotas::check(world, &balancer.project_id, "Pool", 1)?;
    if let Some(listener) = &listener {
        let protocol = text("protocol").unwrap_or_default();
        if PROTOCOLS.contains(&protocol) {
            check_protocols(protocol, &listener.protocol)?;
        }
    }
    check_mutable(world, &balancer_id)?;
    if let Some(listener) = &listener {
        check_settled("Listener", &listener.id, &listener.provisioning_status)?;
        if listener.default_pool_id.is_some() {
            return Err(conflict("This listener already has a default pool"));
        }
    }
    let pool = planned(world, &balancer, listener.as_ref(), &wanted)?;
    let id = pool.id.clone();
    world.state.load_balancer.pools.insert(pool);
    if let Some(listener) = &listener {
        let time = plain(world.now);
        world.state.load_balancer.listeners.update(&listener.id, |listener| {
            listener.default_pool_id = Some(id.clone());
            "PENDING_UPDATE".clone_into(&mut listener.provisioning_status);
            listener.updated_at = Some(time);
        });
    }
    begin(world, &balancer_id, OperationKind::Change);
    let pool = find(world, call, &id)?;
    Ok(ApiResponse::json(StatusCode::CREATED, json!({"pool": render::pool(world, pool)})))
}

/// A change below a pool also makes the pool and its listeners PENDING.
pub(super) fn begin_below(world: &mut World, pool: &Pool) {
    touch_listeners(world, &pool.id);
    let time = plain(world.now);
    world.state.load_balancer.pools.update(&pool.id, |pool| {
        "PENDING_UPDATE".clone_into(&mut pool.provisioning_status);
        pool.updated_at = Some(time);
    });
    begin(world, &pool.loadbalancer_id, OperationKind::Change);
}

fn touch_listeners(world: &mut World, pool: &str) {
    let time = plain(world.now);
    for listener in world.state.load_balancer.listeners.find_ids("default_pool_id", pool) {
        world.state.load_balancer.listeners.update(&listener, |listener| {
            "PENDING_UPDATE".clone_into(&mut listener.provisioning_status);
            listener.updated_at = Some(time.clone());
        });
    }
}

/// Refuses unless something below a pool can be changed.
pub(super) fn check_changeable(world: &World, pool: &Pool) -> Result<(), Refusal> {
    check_mutable(world, &pool.loadbalancer_id)?;
    check_settled("Pool", &pool.id, &pool.provisioning_status)
}

fn change(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let wanted = object(call, "pool")?;
    let pool = find(world, call, id)?.clone();
    check_known(world, "pool_.pool", &wanted, &CHANGEABLE)?;
    check_word(&wanted, "lb_algorithm", &ALGORITHMS, false)?;
    check_changeable(world, &pool)?;
    let mut changed = with_changes(&pool, &wanted, &CHANGEABLE)?;
    let provider = load_balancers::find(world, call, &pool.loadbalancer_id)?.provider.clone();
    check_persistence(&changed)?;
    providers::check_pool(&provider, &changed)?;
    "PENDING_UPDATE".clone_into(&mut changed.provisioning_status);
    changed.updated_at = Some(plain(world.now));
    let answer = json!({"pool": render::pool(world, &changed)});
    // This provider gives a pool up whose change does not say whether it is on; the load balancer is active all the same.
    if provider == "ovn" && !wanted.contains_key("admin_state_up") {
        "ERROR".clone_into(&mut changed.provisioning_status);
    }
    world.state.load_balancer.pools.insert(changed);
    touch_listeners(world, id);
    begin(world, &pool.loadbalancer_id, OperationKind::Change);
    Ok(ApiResponse::ok(answer))
}

fn delete(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let pool = find(world, call, id)?.clone();
    check_changeable(world, &pool)?;
    touch_listeners(world, id);
    world
        .state
        .load_balancer
        .pools
        .update(id, |pool| "PENDING_DELETE".clone_into(&mut pool.provisioning_status));
    begin(world, &pool.loadbalancer_id, OperationKind::Change);
    Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
}
