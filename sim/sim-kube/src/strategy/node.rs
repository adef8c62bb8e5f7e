//! Nodes: what may be set once, and what a new node gets.

use serde_json::{Value, json};

use crate::object::{self, list, text, texts};
use crate::status::FieldError;

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const INFO: &[&str] = &[
    "architecture",
    "bootID",
    "containerRuntimeVersion",
    "kernelVersion",
    "kubeProxyVersion",
    "kubeletVersion",
    "machineID",
    "operatingSystem",
    "osImage",
    "systemUUID",
];

pub(super) fn default_new(object: &mut Value) {
    default_change(object);
    // The admission plugin TaintNodesByCondition does this.
    let mut taints = list(object, &["spec", "taints"]).to_vec();
    let tainted = taints
        .iter()
        .any(|taint| text(taint, &["key"]) == NOT_READY && text(taint, &["effect"]) == "NoSchedule");
    if !tainted {
        taints.push(json!({"key": NOT_READY, "effect": "NoSchedule"}));
    }
    object::map_at(object, &["spec"]).insert("taints".into(), json!(taints));
}

/// What the type always has, and the pairs of fields that mirror each other.
pub(super) fn default_change(object: &mut Value) {
    let (one, many) = (text(object, &["spec", "podCIDR"]).to_owned(), texts(object, &["spec", "podCIDRs"]));
    let spec = object::map_at(object, &["spec"]);
    if !one.is_empty() && many.first() != Some(&one) {
        spec.insert("podCIDRs".into(), json!([one]));
    } else if let (Some(first), true) = (many.first(), one.is_empty()) {
        spec.insert("podCIDR".into(), json!(first));
    }
    if spec.get("providerID") == Some(&json!("")) {
        spec.remove("providerID");
    }
    for part in ["taints", "podCIDRs"] {
        if spec.get(part).and_then(Value::as_array).is_some_and(Vec::is_empty) {
            spec.remove(part);
        }
    }
    let status = object::map_at(object, &["status"]);
    if let (Some(capacity), false) = (status.get("capacity").cloned(), status.contains_key("allocatable")) {
        status.insert("allocatable".into(), capacity);
    }
    status.entry("daemonEndpoints").or_insert_with(|| json!({"kubeletEndpoint": {"Port": 0}}));
    let info = object::map_at(object, &["status", "nodeInfo"]);
    for key in INFO {
        info.entry(*key).or_insert_with(|| json!(""));
    }
}

pub(super) fn validate(object: &Value) -> Vec<FieldError> {
    let mut errors = duplicate_addresses(object);
    errors.extend(taint_faults(object));
    errors.extend(range_faults(object));
    errors
}

fn range_faults(object: &Value) -> Vec<FieldError> {
    let ranges = texts(object, &["spec", "podCIDRs"]);
    let parsed: Vec<Option<ipnet::IpNet>> = ranges.iter().map(|range| range.parse().ok()).collect();
    let mut errors: Vec<FieldError> = ranges
        .iter()
        .zip(&parsed)
        .enumerate()
        .filter(|(_, (_, parsed))| parsed.is_none())
        .map(|(index, (range, _))| {
            let why = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
            FieldError::invalid(format!("spec.podCIDRs[{index}]"), range.as_str(), why)
        })
        .collect();
    let of_family = |six: bool| parsed.iter().flatten().filter(|net| net.addr().is_ipv6() == six).count();
    if errors.is_empty() && (of_family(true) > 1 || of_family(false) > 1) {
        let why = "may specify no more than one CIDR for each IP family";
        errors.push(FieldError::invalid("spec.podCIDRs", json!(ranges), why));
    }
    errors
}

fn taint_faults(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let taints = list(object, &["spec", "taints"]);
    for (index, taint) in taints.iter().enumerate() {
        let effect = text(taint, &["effect"]);
        let same = |other: &Value| {
            other.get("key") == taint.get("key") && other.get("effect") == taint.get("effect")
        };
        if taints.iter().take(index).any(same) {
            let (key, value) = (text(taint, &["key"]), text(taint, &["value"]));
            let shown = format!(
                "{{\"Key\":\"{key}\",\"Value\":\"{value}\",\"Effect\":\"{effect}\",\"TimeAdded\":null}}"
            );
            let why = "taints must be unique by key and effect pair";
            errors.push(FieldError::duplicate_shown(format!("metadata.taints[{index}]"), shown, why));
        }
        if !matches!(effect, "NoSchedule" | "PreferNoSchedule" | "NoExecute") {
            let field = format!("metadata.taints[{index}].effect");
            let known = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
            errors.push(match effect {
                "" => FieldError::required(field, ""),
                other => FieldError::not_supported(field, other, &known),
            });
        }
    }
    errors
}

fn duplicate_addresses(object: &Value) -> Vec<FieldError> {
    let addresses = list(object, &["status", "addresses"]);
    let repeated =
        |(index, address): &(usize, &Value)| addresses.iter().take(*index).any(|one| one == *address);
    addresses
        .iter()
        .enumerate()
        .filter(repeated)
        .map(|(index, address)| FieldError::duplicate(format!("status.addresses[{index}]"), address.clone()))
        .collect()
}

pub(super) fn validate_change(old: &Value, new: &Value) -> Vec<FieldError> {
    let mut errors = validate(new);
    let (before, after) = (texts(old, &["spec", "podCIDRs"]), texts(new, &["spec", "podCIDRs"]));
    if !before.is_empty() {
        let changes = if before.len() == after.len() {
            before.iter().zip(&after).filter(|(one, other)| one != other).count()
        } else {
            1
        };
        let why = "node updates may not change podCIDR except from \"\" to valid";
        errors.extend((0..changes).map(|_| FieldError::forbidden("spec.podCIDRs", why)));
    }
    let (before, after) = (text(old, &["spec", "providerID"]), text(new, &["spec", "providerID"]));
    if !before.is_empty() && before != after {
        let how = if after.is_empty() { "cleared" } else { "modified" };
        let why = format!("field cannot be {how} once set");
        errors.push(FieldError::invalid("spec.providerID", Value::Null, why));
    }
    errors
}
