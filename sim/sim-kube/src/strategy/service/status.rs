//! Complaints about the load balancer in a Service's status.

use std::net::IpAddr;

use serde_json::Value;

use super::kind;
use crate::object::{at, list, text};
use crate::status::FieldError;
use crate::verbs::{SUBDOMAIN, is_subdomain};

pub(super) fn validate(service: &Value) -> Vec<FieldError> {
    let ingresses = list(service, &["status", "loadBalancer", "ingress"]);
    if kind(service) != "LoadBalancer" && !ingresses.is_empty() {
        let why = "may only be used when `spec.type` is 'LoadBalancer'";
        return vec![FieldError::forbidden("status.loadBalancer.ingress", why)];
    }
    ingresses.iter().enumerate().flat_map(|(index, ingress)| of_ingress(index, ingress)).collect()
}

fn of_ingress(index: usize, ingress: &Value) -> Vec<FieldError> {
    let field = |name: &str| format!("status.loadBalancer.ingress[{index}].{name}");
    let mut errors = Vec::new();
    let ip = text(ingress, &["ip"]);
    if !ip.is_empty() && ip.parse::<IpAddr>().is_err() {
        let why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        errors.push(FieldError::invalid(field("ip"), ip, why));
    }
    match at(ingress, &["ipMode"]).and_then(Value::as_str) {
        None if ip.is_empty() => {}
        None => errors.push(FieldError::required(field("ipMode"), "must be specified when `ip` is set")),
        Some(_) if ip.is_empty() => {
            let why = "may not be specified when `ip` is not set";
            errors.push(FieldError::forbidden(field("ipMode"), why));
        }
        Some("VIP" | "Proxy") => {}
        Some(other) => {
            errors.push(FieldError::not_supported(field("ipMode"), other, &["Proxy", "VIP"]));
        }
    }
    let name = text(ingress, &["hostname"]);
    if !name.is_empty() && !is_subdomain(name) {
        errors.push(FieldError::invalid(field("hostname"), name, SUBDOMAIN));
    }
    if name.parse::<IpAddr>().is_ok() {
        let why = "must be a DNS name, not an IP address";
        errors.push(FieldError::invalid(field("hostname"), name, why));
    }
    errors
}
