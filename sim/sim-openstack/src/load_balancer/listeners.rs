//! Listeners.

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::collection::Listing;
use super::errors::{bad_value, conflict, invalid, mandatory, method_not_allowed, not_found, path_unknown};
use super::lifecycle::{begin, check_mutable, check_settled};
use super::model::{Listener, LoadBalancer, OperationKind};
use super::wanted::{check_known, check_port, check_word, object, with_changes};
use super::{load_balancers, pools, providers, quotas, render};
use crate::clock::plain;
use crate::cloud::World;
use crate::http::{ApiResponse, Call, Refusal, Reply};

const PROTOCOLS: [&str; 7] = ["HTTPS", "TCP", "PROMETHEUS", "SCTP", "HTTP", "TERMINATED_HTTPS", "UDP"];
const CHANGEABLE: [&str; 24] = [
    "name",
    "description",
    "admin_state_up",
    "connection_limit",
    "default_tls_container_ref",
    "sni_container_refs",
    "default_pool_id",
    "insert_headers",
    "timeout_client_data",
    "timeout_member_connect",
    "timeout_member_data",
    "timeout_tcp_inspect",
    "tags",
    "client_ca_tls_container_ref",
    "client_authentication",
    "client_crl_container_ref",
    "allowed_cidrs",
    "tls_ciphers",
    "tls_versions",
    "alpn_protocols",
    "hsts_max_age",
    "hsts_include_subdomains",
    "hsts_preload",
    "default_pool",
];
/// What a TLS listener has unless it says otherwise.
const TLS_CIPHERS: &str = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:\
    ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:\
    ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:\
    DHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES256-GCM-SHA384:DHE-RSA-CHACHA20-POLY1305";

/// Requests below `/listeners`.
pub(super) fn serve(world: &mut World, call: &Call<'_>, rest: &[&str]) -> Reply {
    match (call.request.method.as_str(), rest) {
        ("GET", []) => {
            let listing = Listing {
                name: "listeners",
                table: &world.state.load_balancer.listeners,
                indexed: &["loadbalancer_id", "default_pool_id"],
                within: None,
                tags: &|listener| &listener.tags,
                visible: &|listener| call.caller.may_see(&listener.project_id),
                render: &|listener| render::listener(world, listener),
            };
            listing.answer(world, call)
        }
        ("POST", []) => create(world, call),
        ("GET", [id]) => {
            let listener = find(world, call, id)?;
            Ok(ApiResponse::ok(json!({"listener": render::listener(world, listener)})))
        }
        ("GET", [id, "stats"]) => {
            find(world, call, id)?;
            Ok(ApiResponse::ok(json!({"stats": {
                "bytes_in": 0, "bytes_out": 0, "active_connections": 0, "total_connections": 0, "request_errors": 0,
            }})))
        }
        ("PUT", [id]) => change(world, call, id),
        ("DELETE", [id]) => delete(world, call, id),
        (_, [] | [_]) => Err(method_not_allowed()),
        _ => Err(path_unknown()),
    }
}

/// A listener the caller may see.
pub(super) fn find<'a>(world: &'a World, call: &Call<'_>, id: &str) -> Result<&'a Listener, Refusal> {
    let listener = world.state.load_balancer.listeners.get(id);
    listener
        .filter(|listener| call.caller.may_see(&listener.project_id))
        .ok_or_else(|| not_found("Listener", id))
}

/// A listener that could be made on a load balancer.
pub(super) fn planned(
    world: &mut World,
    balancer: &LoadBalancer,
    wanted: &Map<String, Value>,
) -> Result<Listener, Refusal> {
    let known: Vec<&str> = CHANGEABLE
        .iter()
        .chain(&["protocol", "protocol_port", "loadbalancer_id", "project_id", "tenant_id", "l7policies"])
        .copied()
        .collect();
    check_known(world, "listener_.listener", wanted, &known)?;
    check_word(wanted, "protocol", &PROTOCOLS, true)?;
    check_port(wanted, "protocol_port", true)?;
    let blank = Listener {
        id: world.ids.uuid(),
        provisioning_status: "PENDING_CREATE".to_owned(),
        operating_status: "OFFLINE".to_owned(),
        admin_state_up: true,
        connection_limit: -1,
        project_id: balancer.project_id.clone(),
        created_at: plain(world.now),
        timeout_client_data: 50_000,
        timeout_member_connect: 5_000,
        timeout_member_data: 50_000,
        client_authentication: "NONE".to_owned(),
        loadbalancer_id: balancer.id.clone(),
        ..Listener::default()
    };
    let creatable: Vec<&str> = CHANGEABLE.iter().chain(&["protocol", "protocol_port"]).copied().collect();
    let mut listener = with_changes(&blank, &without_nulls(wanted), &creatable)?;
    check_options(wanted, balancer, &listener)?;
    check_tls(world, &mut listener)?;
    providers::check_listener(&balancer.provider, &listener)?;
    Ok(listener)
}

/// Null means: as if it had not been named.
fn without_nulls(wanted: &Map<String, Value>) -> Map<String, Value> {
    wanted
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Options that do not fit the listener or its address.
fn check_options(
    wanted: &Map<String, Value>,
    balancer: &LoadBalancer,
    listener: &Listener,
) -> Result<(), Refusal> {
    for name in
        ["timeout_client_data", "timeout_member_connect", "timeout_member_data", "timeout_tcp_inspect"]
    {
        if let Some(time) = wanted.get(name).and_then(Value::as_i64).filter(|time| *time < 0) {
            return Err(bad_value(name, &time.to_string(), "Value should be greater or equal to 0"));
        }
    }
    let headers = wanted.get("insert_headers").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
    let protocol = listener.protocol.as_str();
    if headers && !matches!(protocol, "HTTP" | "TERMINATED_HTTPS") {
        let message = format!("insert-headers is not a valid option for a {protocol} protocol listener.");
        return Err(super::errors::bad_request(&message));
    }
    check_ranges(balancer, listener.allowed_cidrs.as_deref().unwrap_or_default())
}

fn check_ranges(balancer: &LoadBalancer, ranges: &[String]) -> Result<(), Refusal> {
    if ranges.iter().any(|range| range.parse::<ipnet::IpNet>().is_err()) {
        let shown = python_list(ranges.iter().map(String::as_str));
        return Err(bad_value("allowed_cidrs", &shown, "Value should be IPv4 or IPv6 CIDR format"));
    }
    let additional = balancer.additional_vips.iter().map(|vip| vip.ip_address.as_str());
    let vips: Vec<&str> = [balancer.vip_address.as_str()].into_iter().chain(additional).collect();
    let reachable = |range: &&String| vips.iter().any(|vip| vip.contains(':') == range.contains(':'));
    match ranges.iter().find(|range| !reachable(range)) {
        None => Ok(()),
        Some(range) => {
            let vips = python_list(vips.into_iter());
            Err(invalid(&format!("CIDR {range} IP version incompatible with all VIPs {vips} IP version.")))
        }
    }
}

/// A list of texts as Python prints it.
fn python_list<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let texts: Vec<String> = texts.map(|text| format!("'{text}'")).collect();
    format!("[{}]", texts.join(", "))
}

fn check_tls(world: &World, listener: &mut Listener) -> Result<(), Refusal> {
    if listener.protocol != "TERMINATED_HTTPS" {
        if listener.default_tls_container_ref.is_some() || !listener.sni_container_refs.is_empty() {
            return Err(invalid(
                "Certificate container references are only allowed for TERMINATED_HTTPS protocol listeners.",
            ));
        }
        return Ok(());
    }
    if listener.default_tls_container_ref.is_none() && listener.sni_container_refs.is_empty() {
        return Err(invalid(
            "An SNI or default certificate container reference must be provided for TERMINATED_HTTPS protocol listeners.",
        ));
    }
    // Only a cloud that has certificates can miss one.
    let knows = !world.state.key_manager.secrets.is_empty() || !world.state.key_manager.containers.is_empty();
    let references = listener.default_tls_container_ref.iter().chain(&listener.sni_container_refs);
    let missing = references
        .into_iter()
        .find(|reference| knows && !crate::key_manager::usable(world, reference, &listener.project_id));
    if let Some(reference) = missing {
        return Err(super::errors::bad_request(&format!("Could not retrieve certificate: ['{reference}']")));
    }
    listener.tls_ciphers.get_or_insert_with(|| TLS_CIPHERS.to_owned());
    listener.tls_versions.get_or_insert_with(|| ["TLSv1.2", "TLSv1.3"].map(str::to_owned).to_vec());
    listener.alpn_protocols.get_or_insert_with(|| ["h2", "http/1.1", "http/1.0"].map(str::to_owned).to_vec());
    Ok(())
}

/// TCP, UDP and SCTP each have ports of their own.
fn family(protocol: &str) -> &str {
    match protocol {
        "UDP" | "SCTP" => protocol,
        _ => "TCP",
    }
}

/// Refuses a second listener on the same port of the same family.
pub(super) fn check_port_free<'a>(
    mut others: impl Iterator<Item = &'a Listener>,
    listener: &Listener,
) -> Result<(), Refusal> {
    let same = |other: &Listener| {
        other.protocol_port == listener.protocol_port && family(&other.protocol) == family(&listener.protocol)
    };
    if others.any(same) {
        let (protocol, port) = (&listener.protocol, listener.protocol_port);
        return Err(conflict(&format!(
            "Another Listener on this Load Balancer is already using protocol {protocol} and protocol_port {port}"
        )));
    }
    Ok(())
}

fn create(world: &mut World, call: &Call<'_>) -> Reply {
    let wanted = object(call, "listener")?;
    check_port(&wanted, "protocol_port", true)?;
    let id =
        wanted.get("loadbalancer_id").and_then(Value::as_str).ok_or_else(|| mandatory("loadbalancer_id"))?;
    let balancer = load_balancers::find(world, call, id)?.clone();
    quotas::check(world, &balancer.project_id, "Listener", 1)?;
    check_word(&wanted, "protocol", &PROTOCOLS, true)?;
    check_mutable(world, id)?;
    let listener = planned(world, &balancer, &wanted)?;
    check_port_free(world.state.load_balancer.listeners.find("loadbalancer_id", id), &listener)?;
    check_default_pool(world, call, &listener)?;
    let listener_id = listener.id.clone();
    world.state.load_balancer.listeners.insert(listener);
    begin(world, id, OperationKind::Change);
    let listener = find(world, call, &listener_id)?;
    Ok(ApiResponse::json(StatusCode::CREATED, json!({"listener": render::listener(world, listener)})))
}

fn check_default_pool(world: &World, call: &Call<'_>, listener: &Listener) -> Result<(), Refusal> {
    let Some(id) = &listener.default_pool_id else { return Ok(()) };
    let pool = pools::find(world, call, id)?;
    pools::check_protocols(&pool.protocol, &listener.protocol)
}

fn change(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let wanted = object(call, "listener")?;
    let listener = find(world, call, id)?.clone();
    check_known(world, "listener_.listener", &wanted, &CHANGEABLE)?;
    check_mutable(world, &listener.loadbalancer_id)?;
    check_settled("Listener", id, &listener.provisioning_status)?;
    let mut changed = with_changes(&listener, &wanted, &CHANGEABLE)?;
    let balancer = load_balancers::find(world, call, &listener.loadbalancer_id)?;
    check_options(&wanted, balancer, &changed)?;
    let provider = balancer.provider.clone();
    check_tls(world, &mut changed)?;
    providers::check_listener(&provider, &changed)?;
    check_default_pool(world, call, &changed)?;
    "PENDING_UPDATE".clone_into(&mut changed.provisioning_status);
    changed.updated_at = Some(plain(world.now));
    world.state.load_balancer.listeners.insert(changed.clone());
    begin(world, &listener.loadbalancer_id, OperationKind::Change);
    Ok(ApiResponse::ok(json!({"listener": render::listener(world, &changed)})))
}

fn delete(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let listener = find(world, call, id)?.clone();
    check_mutable(world, &listener.loadbalancer_id)?;
    check_settled("Listener", id, &listener.provisioning_status)?;
    world.state.load_balancer.listeners.update(id, |listener| {
        "PENDING_DELETE".clone_into(&mut listener.provisioning_status);
    });
    begin(world, &listener.loadbalancer_id, OperationKind::Change);
    Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
}
