//! Services: defaults, and what a change of type wipes or keeps. Allocation and validation are below.

use serde_json::{Map, Value, json};

use crate::object::{self, at, list, map_at, text, texts};

mod allocate;
mod ports;
mod status;
mod validate;

pub(super) use validate::{validate, validate_change};

const VIA_NODE_PORT: &[&str] = &["NodePort", "LoadBalancer"];

fn kind(service: &Value) -> &str {
    text(service, &["spec", "type"])
}

fn needs_cluster_ip(service: &Value) -> bool {
    kind(service) != "ExternalName"
}

fn needs_node_port(service: &Value) -> bool {
    VIA_NODE_PORT.contains(&kind(service))
        && !(kind(service) == "LoadBalancer"
            && at(service, &["spec", "allocateLoadBalancerNodePorts"]) == Some(&json!(false)))
}

fn is_via_node_port(service: &Value) -> bool {
    VIA_NODE_PORT.contains(&kind(service))
}

fn needs_health_port(service: &Value) -> bool {
    kind(service) == "LoadBalancer" && text(service, &["spec", "externalTrafficPolicy"]) == "Local"
}

fn is_external(service: &Value) -> bool {
    is_via_node_port(service)
        || (kind(service) == "ClusterIP" && !list(service, &["spec", "externalIPs"]).is_empty())
}

fn is_headless(service: &Value) -> bool {
    texts(service, &["spec", "clusterIPs"]) == ["None"]
}

pub(super) fn default_new(service: &mut Value) {
    default_spec(service);
    mirror_cluster_ip(service, None);
    object::map_of(service).insert("status".into(), json!({"loadBalancer": {}}));
}

/// Defaults that depend on the object alone.
pub(super) fn default_spec(service: &mut Value) {
    drop_empty(map_at(service, &["spec"]));
    let spec = map_at(service, &["spec"]);
    spec.entry("type").or_insert_with(|| json!("ClusterIP"));
    let affinity = spec.entry("sessionAffinity").or_insert_with(|| json!("None")).clone();
    if affinity == "None" {
        spec.remove("sessionAffinityConfig");
    } else if affinity == "ClientIP" {
        map_at(service, &["spec", "sessionAffinityConfig", "clientIP"])
            .entry("timeoutSeconds")
            .or_insert_with(|| json!(10_800));
    }
    let (external, balanced, routed) =
        (is_external(service), kind(service) == "LoadBalancer", needs_cluster_ip(service));
    let spec = map_at(service, &["spec"]);
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        default_port(object::map_of(port));
    }
    if external {
        spec.entry("externalTrafficPolicy").or_insert_with(|| json!("Cluster"));
    }
    if routed {
        spec.entry("internalTrafficPolicy").or_insert_with(|| json!("Cluster"));
    }
    if balanced {
        spec.entry("allocateLoadBalancerNodePorts").or_insert_with(|| json!(true));
    }
}

/// Empty values are as good as absent for a typed server.
fn drop_empty(spec: &mut Map<String, Value>) {
    spec.retain(|_, value| match value {
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::Number(number) => number.as_i64() != Some(0),
        Value::Bool(_) | Value::Null => true,
    });
    if spec.get("publishNotReadyAddresses") == Some(&json!(false)) {
        spec.remove("publishNotReadyAddresses");
    }
}

fn default_port(port: &mut Map<String, Value>) {
    port.entry("protocol").or_insert_with(|| json!("TCP"));
    let number = port.get("port").cloned().unwrap_or_else(|| json!(0));
    if matches!(port.get("targetPort"), None | Some(Value::Null)) || port.get("targetPort") == Some(&json!(0))
    {
        port.insert("targetPort".into(), number);
    }
    if port.get("nodePort") == Some(&json!(0)) {
        port.remove("nodePort");
    }
    if port.get("name") == Some(&json!("")) {
        port.remove("name");
    }
}

/// `clusterIP` and the first of `clusterIPs` say the same; on a change the one that changed wins.
fn mirror_cluster_ip(service: &mut Value, old: Option<&Value>) {
    let (one, many) =
        (text(service, &["spec", "clusterIP"]).to_owned(), texts(service, &["spec", "clusterIPs"]));
    let old_one = old.map(|old| text(old, &["spec", "clusterIP"]).to_owned());
    let old_many = old.map(|old| texts(old, &["spec", "clusterIPs"]));
    let spec = map_at(service, &["spec"]);
    let changed_one = old_one.as_ref().is_none_or(|before| *before != one);
    let same_many = old_many.as_ref().is_none_or(|before| *before == many);
    match (one.as_str(), many.first()) {
        ("", None) => {}
        ("", Some(_)) if old.is_some() && changed_one && same_many => {
            spec.remove("clusterIPs");
        }
        ("", Some(first)) => {
            spec.insert("clusterIP".into(), json!(first));
        }
        (_, None) => {
            spec.insert("clusterIPs".into(), json!([one]));
        }
        (_, Some(first)) if *first != one && old.is_some() && changed_one && same_many => {
            spec.insert("clusterIPs".into(), json!([one]));
        }
        _ => {}
    }
}

pub(super) fn default_change(old: &Value, new: &mut Value) {
    default_spec(new);
    mirror_cluster_ip(new, Some(old));
    keep_allocated(old, new);
    drop_of_other_type(old, new);
    default_status(new);
    if kind(new) != "LoadBalancer" {
        map_at(new, &["status"]).insert("loadBalancer".into(), json!({}));
    }
}

/// What a client left out of a PUT stays allocated.
fn keep_allocated(old: &Value, new: &mut Value) {
    if needs_cluster_ip(old) && needs_cluster_ip(new) {
        if at(new, &["spec", "clusterIP"]).is_none() {
            copy(old, new, "clusterIP");
        }
        if at(new, &["spec", "clusterIPs"]).is_none()
            && text(new, &["spec", "clusterIP"]) == text(old, &["spec", "clusterIP"])
        {
            copy(old, new, "clusterIPs");
        }
    }
    if is_via_node_port(old) && needs_node_port(new) {
        keep_node_ports(old, new);
    }
    if needs_health_port(old) && needs_health_port(new) && at(new, &["spec", "healthCheckNodePort"]).is_none()
    {
        copy(old, new, "healthCheckNodePort");
    }
}

fn keep_node_ports(old: &Value, new: &mut Value) {
    let before = list(old, &["spec", "ports"]);
    // What a port had and another has now is not handed back.
    let used: Vec<Value> =
        list(new, &["spec", "ports"]).iter().filter_map(|port| port.get("nodePort").cloned()).collect();
    let ports = map_at(new, &["spec"]).get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten() {
        let same = |one: &&Value| one.get("name") == port.get("name");
        let kept = before.iter().find(same).and_then(|found| found.get("nodePort")).cloned();
        let kept = kept.filter(|kept| !used.contains(kept));
        if let (Some(kept), None) = (kept, port.get("nodePort")) {
            object::map_of(port).insert("nodePort".into(), kept);
        }
    }
}

/// Fields that only the old type had go, unless the client changed them itself.
fn drop_of_other_type(old: &Value, new: &mut Value) {
    let same = |new: &Value, key: &str| at(old, &["spec", key]) == at(new, &["spec", key]);
    let mut gone: Vec<&str> = Vec::new();
    if needs_cluster_ip(old) && !needs_cluster_ip(new) {
        if same(new, "clusterIP") && same(new, "clusterIPs") {
            gone.extend(["clusterIP", "clusterIPs"]);
        }
        gone.extend(["ipFamilies", "ipFamilyPolicy"].into_iter().filter(|key| same(new, key)));
    }
    if needs_health_port(old) && !needs_health_port(new) && same(new, "healthCheckNodePort") {
        gone.push("healthCheckNodePort");
    }
    if kind(old) == "LoadBalancer" && kind(new) != "LoadBalancer" {
        let keys = ["allocateLoadBalancerNodePorts", "loadBalancerClass"];
        gone.extend(keys.into_iter().filter(|key| same(new, key)));
    }
    if is_external(old) && !is_external(new) && same(new, "externalTrafficPolicy") {
        gone.push("externalTrafficPolicy");
    }
    if needs_cluster_ip(old) && !needs_cluster_ip(new) && same(new, "internalTrafficPolicy") {
        gone.push("internalTrafficPolicy");
    }
    let drop_ports = is_via_node_port(old) && !is_via_node_port(new) && same_node_ports(old, new);
    let spec = map_at(new, &["spec"]);
    gone.iter().for_each(|key| drop(spec.remove(*key)));
    if drop_ports {
        let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
        ports.into_iter().flatten().for_each(|port| drop(object::map_of(port).remove("nodePort")));
    }
}

fn same_node_ports(old: &Value, new: &Value) -> bool {
    let ports = |service| -> std::collections::BTreeSet<u64> {
        list(service, &["spec", "ports"]).iter().filter_map(|port| port.get("nodePort")?.as_u64()).collect()
    };
    ports(old) == ports(new)
}

fn copy(old: &Value, new: &mut Value, key: &str) {
    if let Some(kept) = at(old, &["spec", key]) {
        map_at(new, &["spec"]).insert(key.into(), kept.clone());
    }
}

/// The status always has a load balancer; its addresses have a mode.
pub(super) fn default_status(service: &mut Value) {
    let balanced = kind(service) == "LoadBalancer";
    let balancer = map_at(service, &["status", "loadBalancer"]);
    if balancer.get("ingress").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        balancer.remove("ingress");
    }
    for ingress in balancer.get_mut("ingress").and_then(Value::as_array_mut).into_iter().flatten() {
        let ingress = object::map_of(ingress);
        if balanced && ingress.contains_key("ip") {
            ingress.entry("ipMode").or_insert_with(|| json!("VIP"));
        }
    }
}
