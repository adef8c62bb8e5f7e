//! Complaints about Services, in the real server's words.

use serde_json::{Value, json};

use super::{is_external, is_headless, kind, needs_health_port};
use crate::object::{at, list, text, texts};
use crate::status::FieldError;
use crate::verbs::{SUBDOMAIN, is_label, is_subdomain, label_value_fault};

const TYPES: &[&str] = &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const ONLY_BALANCED: &str = "may only be used when `type` is 'LoadBalancer'";
const ONCE: &str = "may not change once set";

pub(crate) fn validate(service: &Value) -> Vec<FieldError> {
    let mut errors = of_type(service);
    let ports = list(service, &["spec", "ports"]);
    for (index, port) in ports.iter().enumerate() {
        errors.extend(of_port(service, port, index, ports));
    }
    errors.extend(of_addresses(service));
    errors.extend(of_balancer(service));
    errors.extend(of_traffic(service));
    let selector = at(service, &["spec", "selector"]).and_then(Value::as_object);
    for value in selector.into_iter().flatten().filter_map(|(_, value)| value.as_str()) {
        errors.extend(label_value_fault(value).map(|why| FieldError::invalid("spec.selector", value, why)));
    }
    errors.extend(super::status::validate(service));
    errors
}

fn of_type(service: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let kind = kind(service);
    if list(service, &["spec", "ports"]).is_empty() && !is_headless(service) && kind != "ExternalName" {
        errors.push(FieldError::required("spec.ports", ""));
    }
    match kind {
        "LoadBalancer" | "NodePort" if is_headless(service) => {
            let why = format!("may not be set to 'None' for {kind} services");
            errors.push(FieldError::invalid("spec.clusterIPs[0]", "None", why));
        }
        "ExternalName" => {
            for key in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                if at(service, &["spec", key]).is_some() {
                    let why = "may not be set for ExternalName services";
                    errors.push(FieldError::forbidden(format!("spec.{key}"), why));
                }
            }
            let target = text(service, &["spec", "externalName"]).trim_end_matches('.');
            if target.is_empty() {
                errors.push(FieldError::required("spec.externalName", ""));
            } else if !is_subdomain(target) {
                errors.push(FieldError::invalid("spec.externalName", target, SUBDOMAIN));
            }
        }
        _ => {}
    }
    let affinity = text(service, &["spec", "sessionAffinity"]);
    if !matches!(affinity, "ClientIP" | "None") {
        errors.push(FieldError::not_supported("spec.sessionAffinity", affinity, &["ClientIP", "None"]));
    }
    if !TYPES.contains(&kind) {
        errors.push(FieldError::not_supported("spec.type", kind, TYPES));
    }
    errors
}

fn of_port(service: &Value, port: &Value, index: usize, all: &[Value]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let field = |name: &str| format!("spec.ports[{index}].{name}");
    let before = || all.iter().take(index);
    let name = text(port, &["name"]);
    if name.is_empty() && all.len() > 1 {
        errors.push(FieldError::required(field("name"), ""));
    } else if !name.is_empty() && !is_label(name) {
        let why = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
        errors.push(FieldError::invalid(field("name"), name, why));
    } else if !name.is_empty() && before().any(|other| text(other, &["name"]) == name) {
        errors.push(FieldError::duplicate(field("name"), name));
    }
    let number = port.get("port").and_then(Value::as_i64).unwrap_or(0);
    if !(1..=65_535).contains(&number) {
        errors.push(FieldError::invalid(field("port"), number, "must be between 1 and 65535, inclusive"));
    }
    let protocol = text(port, &["protocol"]);
    if !matches!(protocol, "TCP" | "UDP" | "SCTP") {
        errors.push(FieldError::not_supported(field("protocol"), protocol, &["SCTP", "TCP", "UDP"]));
    }
    if let Some(target) = port.get("targetPort").and_then(Value::as_i64)
        && !(1..=65_535).contains(&target)
    {
        errors.push(FieldError::invalid(
            field("targetPort"),
            target,
            "must be between 1 and 65535, inclusive",
        ));
    }
    let node_port = port.get("nodePort").filter(|port| **port != json!(0));
    if let (Some(_), "ClusterIP") = (node_port, kind(service)) {
        errors.push(FieldError::forbidden(field("nodePort"), "may not be used when `type` is 'ClusterIP'"));
    }
    let same_protocol = |other: &&Value| text(other, &["protocol"]) == protocol;
    if let Some(node_port) = node_port
        && before().filter(same_protocol).any(|other| other.get("nodePort") == Some(node_port))
    {
        errors.push(FieldError::duplicate(field("nodePort"), node_port.clone()));
    }
    if before().filter(same_protocol).any(|other| other.get("port") == port.get("port")) {
        let shown = format!(
            "{{\"Name\":\"\",\"Protocol\":\"{protocol}\",\"AppProtocol\":null,\"Port\":{number},\"TargetPort\":0,\"NodePort\":0}}"
        );
        errors.push(FieldError::duplicate_shown(format!("spec.ports[{index}]"), shown, ""));
    }
    errors
}

fn of_addresses(service: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let ips = texts(service, &["spec", "clusterIPs"]);
    let one = text(service, &["spec", "clusterIP"]);
    if ips.first().is_some_and(|first| *first != one) {
        errors.push(FieldError::invalid("spec.clusterIPs", json!(ips), "first value must match `clusterIP`"));
    }
    for (index, ip) in ips.iter().enumerate() {
        if ip != "None" && ip.parse::<std::net::IpAddr>().is_err() {
            let why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
            errors.push(FieldError::invalid(format!("spec.clusterIPs[{index}]"), ip.as_str(), why));
        }
    }
    for (index, family) in texts(service, &["spec", "ipFamilies"]).iter().enumerate() {
        if !matches!(family.as_str(), "IPv4" | "IPv6") {
            let field = format!("spec.ipFamilies[{index}]");
            errors.push(FieldError::not_supported(field, family.as_str(), &["IPv4", "IPv6"]));
        }
    }
    for (index, ip) in texts(service, &["spec", "externalIPs"]).iter().enumerate() {
        if ip.parse::<std::net::IpAddr>().is_err() {
            let why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
            errors.push(FieldError::invalid(format!("spec.externalIPs[{index}]"), ip.as_str(), why));
        }
    }
    errors
}

fn of_balancer(service: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let balanced = kind(service) == "LoadBalancer";
    let ranges = texts(service, &["spec", "loadBalancerSourceRanges"]);
    if !ranges.is_empty() && !balanced {
        errors.push(FieldError::forbidden("spec.LoadBalancerSourceRanges", ONLY_BALANCED));
    }
    for (index, range) in ranges.iter().enumerate() {
        if range.trim().parse::<ipnet::IpNet>().is_err() {
            let field = format!("spec.LoadBalancerSourceRanges[{index}]");
            let why = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
            errors.push(FieldError::invalid(field, range.trim(), why));
        }
    }
    if !balanced {
        for key in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
            if at(service, &["spec", key]).is_some() {
                errors.push(FieldError::forbidden(format!("spec.{key}"), ONLY_BALANCED));
            }
        }
    }
    errors
}

fn of_traffic(service: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let policies = ["Cluster", "Local"];
    let external = text(service, &["spec", "externalTrafficPolicy"]);
    if !external.is_empty() && !is_external(service) {
        let why = "may only be set for externally-accessible services";
        errors.push(FieldError::invalid("spec.externalTrafficPolicy", external, why));
    } else if !external.is_empty() && !policies.contains(&external) {
        errors.push(FieldError::not_supported("spec.externalTrafficPolicy", external, &policies));
    }
    let internal = text(service, &["spec", "internalTrafficPolicy"]);
    if !internal.is_empty() && !policies.contains(&internal) {
        errors.push(FieldError::not_supported("spec.internalTrafficPolicy", internal, &policies));
    }
    if let Some(port) = at(service, &["spec", "healthCheckNodePort"])
        && !needs_health_port(service)
    {
        let why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        errors.push(FieldError::invalid("spec.healthCheckNodePort", port.clone(), why));
    }
    errors
}

pub(crate) fn validate_change(old: &Value, new: &Value) -> Vec<FieldError> {
    let mut errors = of_changed_ips(old, new);
    let balanced = |service: &Value| kind(service) == "LoadBalancer";
    let class = |service: &Value| at(service, &["spec", "loadBalancerClass"]).cloned();
    if balanced(old) && balanced(new) && class(old) != class(new) {
        let shown = class(new).unwrap_or(Value::Null);
        errors.push(FieldError::invalid("spec.loadBalancerClass", shown, ONCE));
    }
    let before = at(old, &["spec", "healthCheckNodePort"]);
    if let (Some(before), true, true) = (before, needs_health_port(old), needs_health_port(new))
        && at(new, &["spec", "healthCheckNodePort"]) != Some(before)
    {
        errors.push(FieldError::forbidden("spec.healthCheckNodePort", "field is immutable"));
    }
    errors.extend(validate(new));
    errors
}

fn of_changed_ips(old: &Value, new: &Value) -> Vec<FieldError> {
    let named = |service: &Value| kind(service) == "ExternalName";
    if named(old) || named(new) || (is_headless(old) && is_headless(new)) {
        return Vec::new();
    }
    let (before, after) = (texts(old, &["spec", "clusterIPs"]), texts(new, &["spec", "clusterIPs"]));
    if before.len() > after.len() && after.len() == 1 {
        let policy = text(new, &["spec", "ipFamilyPolicy"]);
        if policy != "SingleStack" {
            let why = "must be set to 'SingleStack' when releasing the secondary clusterIP";
            return vec![FieldError::invalid("spec.ipFamilyPolicy", policy, why)];
        }
    }
    if after.is_empty() && !before.is_empty() {
        return vec![FieldError::invalid(
            "spec.clusterIPs[0]",
            json!(after),
            "primary clusterIP can not be unset",
        )];
    }
    let compared = if before.len() == after.len() { before.len() } else { 1 };
    before
        .iter()
        .zip(&after)
        .take(compared)
        .enumerate()
        .filter(|(_, (one, other))| one != other)
        .map(|(index, _)| FieldError::invalid(format!("spec.clusterIPs[{index}]"), json!(after), ONCE))
        .collect()
}
