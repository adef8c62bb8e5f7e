//! Rows of nodes, services, namespaces, events and other small kinds.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::columns::{Column, column};
use super::{age, label_text, or_none, since};
use crate::object::{at, list, name, text, texts};
use crate::resource::Resource;

pub(super) fn columns(resource: &Resource) -> Option<Vec<Column>> {
    let names: &[&str] = match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "nodes") => &[
            "Name",
            "Status",
            "Roles",
            "Age",
            "Version",
            "+Internal-IP",
            "+External-IP",
            "+OS-Image",
            "+Kernel-Version",
            "+Container-Runtime",
        ],
        ("", "services") => &["Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "+Selector"],
        ("", "namespaces") => &["Name", "Status", "Age"],
        ("", "events") | ("events.k8s.io", "events") => &[
            "Last Seen",
            "Type",
            "Reason",
            "Object",
            "+Subobject",
            "+Source",
            "Message",
            "+First Seen",
            "+Count",
            "+Name",
        ],
        ("", "configmaps") => &["Name", "Data", "Age"],
        ("", "secrets") => &["Name", "Type", "Data", "Age"],
        ("", "endpoints") => &["Name", "Endpoints", "Age"],
        ("coordination.k8s.io", "leases") => &["Name", "Holder", "Age"],
        ("apiextensions.k8s.io", "customresourcedefinitions") => &["Name", "Created At"],
        _ => return None,
    };
    Some(names.iter().map(|name| named(name)).collect())
}

fn named(name: &str) -> Column {
    match name.strip_prefix('+') {
        Some(name) => column(name).wide(),
        None => column(name),
    }
}

pub(super) fn cells(resource: &Resource, object: &Value, now: Timestamp) -> Option<Vec<Value>> {
    let own = json!(name(object));
    let count = |key| json!(at(object, &[key]).and_then(Value::as_object).map_or(0, serde_json::Map::len));
    Some(match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "nodes") => node(object, now),
        ("", "services") => service(object, now),
        ("", "namespaces") => vec![own, json!(text(object, &["status", "phase"])), age(object, now)],
        ("", "events") | ("events.k8s.io", "events") => event(object, now),
        ("", "configmaps") => vec![own, count("data"), age(object, now)],
        ("", "secrets") => {
            vec![own, json!(text(object, &["type"])), count("data"), age(object, now)]
        }
        ("", "endpoints") => vec![own, json!(endpoints(object)), age(object, now)],
        ("coordination.k8s.io", "leases") => {
            vec![own, json!(text(object, &["spec", "holderIdentity"])), age(object, now)]
        }
        ("apiextensions.k8s.io", "customresourcedefinitions") => {
            vec![own, json!(text(object, &["metadata", "creationTimestamp"]))]
        }
        _ => return None,
    })
}

fn node(node: &Value, now: Timestamp) -> Vec<Value> {
    let info = |key| text(node, &["status", "nodeInfo", key]);
    let known = |key| json!(if info(key).is_empty() { "<unknown>" } else { info(key) });
    let address = |kind: &str| {
        let found = list(node, &["status", "addresses"]).iter().find(|one| text(one, &["type"]) == kind);
        json!(or_none(found.map(|one| text(one, &["address"])).unwrap_or_default()))
    };
    vec![
        json!(name(node)),
        json!(node_status(node)),
        json!(node_roles(node)),
        age(node, now),
        json!(info("kubeletVersion")),
        address("InternalIP"),
        address("ExternalIP"),
        known("osImage"),
        known("kernelVersion"),
        known("containerRuntimeVersion"),
    ]
}

fn node_status(node: &Value) -> String {
    let ready = list(node, &["status", "conditions"]).iter().find(|one| text(one, &["type"]) == "Ready");
    let mut status = match ready.map(|one| text(one, &["status"])) {
        Some("True") => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
        None => "Unknown".to_owned(),
    };
    if at(node, &["spec", "unschedulable"]) == Some(&json!(true)) {
        status.push_str(",SchedulingDisabled");
    }
    status
}

fn node_roles(node: &Value) -> String {
    let labels = at(node, &["metadata", "labels"]).and_then(Value::as_object);
    let mut roles: Vec<&str> = labels
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) if !role.is_empty() => Some(role),
            _ if key == "kubernetes.io/role" => value.as_str().filter(|role| !role.is_empty()),
            _ => None,
        })
        .collect();
    roles.sort_unstable();
    or_none(&roles.join(","))
}

fn service(service: &Value, now: Timestamp) -> Vec<Value> {
    let ips = texts(service, &["spec", "clusterIPs"]);
    let ports: Vec<String> = list(service, &["spec", "ports"]).iter().map(port).collect();
    vec![
        json!(name(service)),
        json!(text(service, &["spec", "type"])),
        json!(or_none(ips.first().map(String::as_str).unwrap_or_default())),
        json!(external_ip(service)),
        json!(or_none(&ports.join(","))),
        age(service, now),
        json!(label_text(service, &["spec", "selector"])),
    ]
}

fn port(port: &Value) -> String {
    let number = |key| port.get(key).and_then(Value::as_i64).unwrap_or(0);
    let protocol = text(port, &["protocol"]);
    match number("nodePort") {
        0 => format!("{}/{protocol}", number("port")),
        node_port => format!("{}:{node_port}/{protocol}", number("port")),
    }
}

fn external_ip(service: &Value) -> String {
    let external = texts(service, &["spec", "externalIPs"]);
    match text(service, &["spec", "type"]) {
        "ExternalName" => text(service, &["spec", "externalName"]).to_owned(),
        "LoadBalancer" => {
            let mut all: Vec<String> = list(service, &["status", "loadBalancer", "ingress"])
                .iter()
                .map(|one| [text(one, &["ip"]), text(one, &["hostname"])])
                .filter_map(|shown| shown.into_iter().find(|text| !text.is_empty()).map(str::to_owned))
                .collect();
            all.extend(external);
            if all.is_empty() { "<pending>".into() } else { all.join(",") }
        }
        _ => or_none(&external.join(",")),
    }
}

/// An event of either API.
fn event(event: &Value, now: Timestamp) -> Vec<Value> {
    let either = |one: &'static str, other: &'static str| {
        at(event, &[one]).or_else(|| at(event, &[other])).cloned().unwrap_or(Value::Null)
    };
    let involved = either("involvedObject", "regarding");
    let source = either("source", "deprecatedSource");
    let shown = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let series = at(event, &["series", "lastObservedTime"]).map(shown);
    let micro = text(event, &["eventTime"]).to_owned();
    let or_micro = |value: Value| match value.as_str() {
        Some(time) => time.to_owned(),
        None => micro.clone(),
    };
    let first = or_micro(either("firstTimestamp", "deprecatedFirstTimestamp"));
    let last = series.unwrap_or_else(|| or_micro(either("lastTimestamp", "deprecatedLastTimestamp")));
    let count =
        at(event, &["series", "count"]).cloned().unwrap_or_else(|| either("count", "deprecatedCount"));
    let component = match text(&source, &["component"]) {
        "" => shown(&either("reportingComponent", "reportingController")),
        component => component.to_owned(),
    };
    let host = text(&source, &["host"]);
    let source = if host.is_empty() { component } else { format!("{component}, {host}") };
    let kind = text(&involved, &["kind"]).to_lowercase();
    vec![
        json!(since(&last, now)),
        json!(text(event, &["type"])),
        json!(text(event, &["reason"])),
        json!(format!("{kind}/{}", text(&involved, &["name"]))),
        json!(text(&involved, &["fieldPath"])),
        json!(source),
        json!(shown(&either("message", "note")).trim()),
        json!(since(&first, now)),
        json!(count.as_i64().unwrap_or(1).to_string()),
        json!(name(event)),
    ]
}

fn endpoints(object: &Value) -> String {
    let mut shown = Vec::new();
    for subset in list(object, &["subsets"]) {
        let ports = list(subset, &["ports"]);
        for address in list(subset, &["addresses"]) {
            let ip = text(address, &["ip"]);
            for port in ports {
                shown.push(format!("{ip}:{}", port.get("port").and_then(Value::as_i64).unwrap_or(0)));
            }
            if ports.is_empty() {
                shown.push(ip.to_owned());
            }
        }
    }
    or_none(&shown.join(","))
}
