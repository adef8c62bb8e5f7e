//! Reading what is wanted: the object in a body, unknown attributes, values out of range.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::errors::{bad_request, bad_value, mandatory};
use crate::cloud::World;
use crate::http::json::{members, merged};
use crate::http::{Call, Refusal};

/// Attributes that came with a minor version of the API.
const SINCE: [(&str, u32); 14] = [
    ("timeout_client_data", 1),
    ("timeout_member_connect", 1),
    ("timeout_member_data", 1),
    ("timeout_tcp_inspect", 1),
    ("tags", 5),
    ("flavor_id", 6),
    ("allowed_cidrs", 12),
    ("availability_zone", 14),
    ("tls_ciphers", 15),
    ("tls_versions", 17),
    ("alpn_protocols", 20),
    ("additional_vips", 26),
    ("hsts_max_age", 27),
    ("vip_sg_ids", 29),
];

/// The object that a body holds.
pub(super) fn object(call: &Call<'_>, name: &str) -> Result<Map<String, Value>, Refusal> {
    call.request.body.get(name).map(members).ok_or_else(|| {
        let found = call.request.body.as_object().and_then(|body| body.keys().next()).cloned();
        match found {
            Some(found) => {
                let argument = match name {
                    "loadbalancer" => "load_balancer".to_owned(),
                    "healthmonitor" => "health_monitor_".to_owned(),
                    name => format!("{name}_"),
                };
                bad_request(&format!("Unknown attribute for argument {argument}: {found}"))
            }
            None => bad_request(&format!("Missing argument: \"{name}\"")),
        }
    })
}

/// Refuses attributes that this version of the API does not know.
pub(super) fn check_known(
    world: &World,
    argument: &str,
    wanted: &Map<String, Value>,
    known: &[&str],
) -> Result<(), Refusal> {
    let minor = world.config.load_balancer_minor_version;
    let too_new = |name: &str| SINCE.iter().any(|(newer, since)| *newer == name && *since > minor);
    let unknown = wanted.keys().find(|name| !known.contains(&name.as_str()) || too_new(name));
    match unknown {
        None => check_texts(wanted),
        Some(name) => Err(bad_request(&format!("Unknown attribute for argument {argument}: {name}"))),
    }
}

/// Names and descriptions are texts that are not too long; identifiers and addresses of VIPs look like such.
fn check_texts(wanted: &Map<String, Value>) -> Result<(), Refusal> {
    for attribute in ["name", "description"] {
        match wanted.get(attribute) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) if text.chars().count() <= 255 => {}
            Some(Value::String(text)) => {
                let reason = "Value should have a maximum character requirement of 255";
                return Err(bad_value(attribute, text, reason));
            }
            Some(other) => return Err(bad_value(attribute, &plain(other), "Value should be string")),
        }
    }
    let text = |attribute: &str| wanted.get(attribute).and_then(Value::as_str);
    for attribute in ["vip_subnet_id", "vip_network_id", "vip_port_id"] {
        if let Some(id) = text(attribute).filter(|id| uuid::Uuid::try_parse(id).is_err()) {
            return Err(bad_value(attribute, id, "Value should be UUID format"));
        }
    }
    match text("vip_address").filter(|address| address.parse::<std::net::IpAddr>().is_err()) {
        None => Ok(()),
        Some(address) => Err(bad_value("vip_address", address, "Value should be IPv4 or IPv6 format")),
    }
}

/// Leaves out what this version of the API does not show.
pub(super) fn without_newer(world: &World, mut shown: Map<String, Value>) -> Map<String, Value> {
    let minor = world.config.load_balancer_minor_version;
    for (name, _) in SINCE.iter().filter(|(_, since)| *since > minor) {
        shown.remove(*name);
    }
    shown
}

/// A row with what is wanted; null leaves an attribute as it is where nothing is not allowed.
pub(super) fn with_changes<T: Serialize + DeserializeOwned>(
    row: &T,
    wanted: &Map<String, Value>,
    allowed: &[&str],
) -> Result<T, Refusal> {
    merged(row, wanted, allowed).map_err(|attribute| {
        let value = wanted.get(&attribute).map(plain).unwrap_or_default();
        bad_value(&attribute, &value, "Wrong type or value.")
    })
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A port number that must be given.
pub(super) fn check_port(
    wanted: &Map<String, Value>,
    attribute: &str,
    required: bool,
) -> Result<(), Refusal> {
    match wanted.get(attribute) {
        None | Some(Value::Null) if required => Err(mandatory(attribute)),
        None | Some(Value::Null) => Ok(()),
        Some(value) => match value.as_i64() {
            None => Err(bad_value(attribute, &plain(value), "Wrong type. Expected '<class 'int'>'")),
            Some(port) if port > 65_535 => {
                Err(bad_value(attribute, &port.to_string(), "Value should be lower or equal to 65535"))
            }
            Some(port) if port < 1 => {
                Err(bad_value(attribute, &port.to_string(), "Value should be greater or equal to 1"))
            }
            Some(_) => Ok(()),
        },
    }
}

/// A word that must be one of several.
pub(super) fn check_word(
    wanted: &Map<String, Value>,
    attribute: &str,
    words: &[&str],
    required: bool,
) -> Result<(), Refusal> {
    match wanted.get(attribute) {
        None | Some(Value::Null) if required => Err(mandatory(attribute)),
        None | Some(Value::Null) => Ok(()),
        Some(value) => {
            let word = plain(value);
            if words.contains(&word.as_str()) {
                return Ok(());
            }
            let reason = format!("Value should be one of: {}", words.join(", "));
            Err(bad_value(attribute, &word, &reason))
        }
    }
}
