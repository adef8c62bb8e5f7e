//! All that a simulated project has of load balancers, floating IPs and security groups, as a value to compare.
//!
//! Ids, times and the names of listeners, pools and monitors are left out, and addresses that nobody asked for.

use bowline_cloud::{Ingress, ServiceView};
use serde_json::{Value, json};
use sim_openstack::State;
use sim_openstack::load_balancer::{Listener, LoadBalancer, Member, Pool};

use super::super::stage::Stage;
use super::estate::ASKED;
use crate::loadbalancer::annotations::LOAD_BALANCER_ADDRESS;

/// What is different in every simulation, or says nothing of the wish.
const ASIDE: [&str; 14] = [
    "id",
    "created_at",
    "updated_at",
    "project_id",
    "operating_status",
    "loadbalancer_id",
    "default_pool_id",
    "pool_id",
    "vip_address",
    "vip_port_id",
    "vip_sg_ids",
    "additional_vips",
    "ip_address",
    "port_id",
];

/// The project and what its Service shows.
pub(in super::super) fn picture(stage: &Stage, service: &ServiceView) -> Value {
    stage.simulation.look(|state| {
        json!({
            "load balancers": sorted(state.load_balancer.load_balancers.iter().map(|one| balancer(state, one))),
            "floating ips": sorted(floating_ips(state)),
            "groups": sorted(groups(state)),
            "status": service.status.ingress.iter().map(|one| shown(state, one)).collect::<Vec<_>>(),
            "noted": service.annotations.get(LOAD_BALANCER_ADDRESS.key).map(|text| named(state, text)),
        })
    })
}

fn sorted(values: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut values: Vec<Value> = values.collect();
    values.sort_by_key(ToString::to_string);
    values
}

/// A value without what is left aside, and with its lists in order.
fn plain(value: &impl serde::Serialize) -> Value {
    let mut value = serde_json::to_value(value).unwrap();
    let map = value.as_object_mut().unwrap();
    map.retain(|key, _value| !ASIDE.contains(&key.as_str()));
    for list in map.values_mut().filter_map(Value::as_array_mut) {
        list.sort_by_key(ToString::to_string);
    }
    value
}

fn unnamed(mut value: Value) -> Value {
    value.as_object_mut().unwrap().remove("name");
    value
}

fn asked(address: &str) -> Option<&str> {
    Some(address).filter(|address| ASKED.contains(address))
}

fn balancer(state: &State, one: &LoadBalancer) -> Value {
    let octavia = &state.load_balancer;
    let listeners: Vec<&Listener> = octavia.listeners.find("loadbalancer_id", &one.id).collect();
    let stray = octavia
        .pools
        .find("loadbalancer_id", &one.id)
        .filter(|pool| !listeners.iter().any(|listener| listener.default_pool_id.as_ref() == Some(&pool.id)));
    let mut value = plain(one);
    value["asked address"] = json!(asked(&one.vip_address));
    value["further"] = json!(one.additional_vips.iter().map(|vip| &vip.subnet_id).collect::<Vec<_>>());
    value["on a given port"] =
        json!(Some(&one.vip_port_id).filter(|_port| octavia.given_ports.contains(&one.id)));
    value["listeners"] = json!(sorted(listeners.iter().map(|one| listener(state, one))));
    value["stray pools"] = json!(sorted(stray.map(|one| pool(state, one))));
    value
}

fn listener(state: &State, one: &Listener) -> Value {
    let of = one.default_pool_id.as_ref().and_then(|id| state.load_balancer.pools.get(id));
    let mut value = unnamed(plain(one));
    value["pool"] = json!(of.map(|one| pool(state, one)));
    value
}

fn pool(state: &State, one: &Pool) -> Value {
    let octavia = &state.load_balancer;
    let mut value = unnamed(plain(one));
    value["members"] = json!(sorted(octavia.members.find("pool_id", &one.id).map(member)));
    value["monitors"] =
        json!(sorted(octavia.monitors.find("pool_id", &one.id).map(|one| unnamed(plain(one)))));
    value
}

/// A member is called by its Node, also where it has another name because it was made alone.
fn member(one: &Member) -> Value {
    let mut value = plain(one);
    let alone = one.name.strip_prefix("member_").and_then(|rest| rest.split_once('_'));
    value["name"] = json!(alone.map_or(one.name.as_str(), |(node, _rest)| node));
    value
}

fn floating_ips(state: &State) -> impl Iterator<Item = Value> {
    state.network.floating_ips.iter().map(|one| {
        let port = one.port_id.as_deref();
        let leads_to = port.map(|port| {
            let balancer = state.load_balancer.load_balancers.find("vip_port_id", port).next();
            balancer.map_or_else(|| format!("port {port}"), |one| one.name.clone())
        });
        json!({
            "network": one.floating_network_id,
            "subnet": one.subnet_id,
            "description": one.description,
            "leads to": leads_to,
            "asked address": asked(&one.floating_ip_address),
        })
    })
}

fn groups(state: &State) -> impl Iterator<Item = Value> {
    let ours = state.network.security_groups.iter().filter(|group| group.name.starts_with("lb-sg-"));
    ours.map(|group| {
        let network = &state.network;
        let rules = network.rules.find("security_group_id", &group.id).map(|rule| {
            let ports = (rule.port_range_min, rule.port_range_max);
            json!([rule.direction, rule.ethertype, rule.protocol, ports, rule.remote_ip_prefix])
        });
        let ports = network.ports.find("security_groups", &group.id).map(|port| json!(port.device_id));
        json!({
            "name": group.name,
            "description": group.description,
            "rules": sorted(rules),
            "ports": sorted(ports),
        })
    })
}

fn shown(state: &State, ingress: &Ingress) -> Value {
    let ip = ingress.ip.map(|ip| named(state, &ip.to_string()));
    let hostname = ingress.hostname.as_ref().map(|name| named(state, name));
    json!({ "ip": ip, "mode": ingress.ip_mode, "hostname": hostname })
}

/// A text in which addresses are called by what they are.
fn named(state: &State, text: &str) -> String {
    let floating = state.network.floating_ips.iter().map(|one| (one.floating_ip_address.clone(), "floating"));
    let own = state.load_balancer.load_balancers.iter().flat_map(|one| {
        let further = one.additional_vips.iter().map(|vip| (vip.ip_address.clone(), "further"));
        std::iter::once((one.vip_address.clone(), "own")).chain(further)
    });
    let mut known: Vec<_> = floating.chain(own).filter(|(address, _)| asked(address).is_none()).collect();
    // The longest first: one may be the beginning of another.
    known.sort_by_key(|(address, _name)| std::cmp::Reverse(address.len()));
    known.iter().fold(text.to_owned(), |text, (address, name)| text.replace(address.as_str(), name))
}

/// Where two pictures differ, in words.
pub(in super::super) fn differences(is: &Value, should: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare("", is, should, &mut found);
    found
}

fn compare(at: &str, is: &Value, should: &Value, found: &mut Vec<String>) {
    match (is, should) {
        (Value::Object(one), Value::Object(other)) => {
            for key in one.keys().chain(other.keys().filter(|key| !one.contains_key(*key))) {
                compare(&format!("{at}/{key}"), &is[key], &should[key], found);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (place, (one, other)) in one.iter().zip(other).enumerate() {
                compare(&format!("{at}/{place}"), one, other, found);
            }
        }
        (one, other) if one != other => found.push(format!("{at} is {one}, of a fresh one {other}")),
        _ => {}
    }
}
