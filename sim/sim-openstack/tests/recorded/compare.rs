//! What differs between a recorded answer and the simulator's.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use http::{HeaderMap, Response};
use serde_json::Value;

use crate::exchange::Exchange;

/// An answer of the simulator.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Reply {
    pub(crate) fn read(response: Response<Bytes>) -> Self {
        let (parts, body) = response.into_parts();
        let text = String::from_utf8(body.to_vec()).unwrap();
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Self { status: parts.status.as_u16(), headers: parts.headers, body }
    }
}

/// Lists that were cut in the data: their places, and how long they were.
type Cut = BTreeMap<String, usize>;

/// One difference: in which exchange, at which place, and what was expected and found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) exchange: String,
    pub(crate) place: String,
    pub(crate) what: String,
}

/// Headers whose value must be equal.
const EQUAL_HEADERS: [&str; 6] = [
    "content-type",
    "openstack-api-version",
    "x-openstack-nova-api-version",
    "vary",
    "www-authenticate",
    "retry-after",
];
/// Headers that must be there or not, whatever they say.
const PRESENT_HEADERS: [&str; 4] =
    ["x-openstack-request-id", "x-compute-request-id", "x-subject-token", "location"];

/// Everything that differs.
pub(crate) fn compare(expected: &Exchange, reply: &Reply) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut note = |place: &str, what: String| {
        let (exchange, place) = (expected.name.clone(), place.to_owned());
        found.push(Difference { exchange, place, what });
    };
    if expected.status != reply.status {
        note("status", format!("expected {}, found {}: {}", expected.status, reply.status, reply.body));
        return found;
    }
    for name in EQUAL_HEADERS {
        let own = reply.headers.get(name).map(|value| value.to_str().unwrap());
        let recorded = expected.headers.get(name).map(String::as_str);
        if own != recorded {
            note(&format!("header {name}"), format!("expected {recorded:?}, found {own:?}"));
        }
    }
    for name in PRESENT_HEADERS {
        let (own, recorded) = (reply.headers.contains_key(name), expected.headers.contains_key(name));
        if own != recorded {
            note(&format!("header {name}"), format!("expected to be there: {recorded}, is there: {own}"));
        }
    }
    let request_id = reply.headers.get("x-openstack-request-id");
    if let Some(id) = request_id.filter(|id| !id.to_str().unwrap().starts_with("req-")) {
        note("header x-openstack-request-id", format!("{id:?}"));
    }
    if expected.status >= 400 {
        words("body", &expected.body, &reply.body, &mut note);
    } else {
        shape("body", &expected.body, &reply.body, &expected.cut, &mut note);
        values("body", &canonical(&expected.body), &canonical(&reply.body), &mut note);
    }
    found
}

/// Errors must say the same.
fn words(place: &str, expected: &Value, own: &Value, note: &mut dyn FnMut(&str, String)) {
    if expected != own {
        note(place, format!("expected {expected}, found {own}"));
    }
}

/// Other answers must look the same: the same members with values of the same kinds.
fn shape(place: &str, expected: &Value, own: &Value, cut: &Cut, note: &mut dyn FnMut(&str, String)) {
    match (expected, own) {
        (Value::Object(expected), Value::Object(own)) => {
            let names: BTreeSet<&String> = expected.keys().chain(own.keys()).collect();
            for name in names {
                let place = format!("{place}.{name}");
                match (expected.get(name), own.get(name)) {
                    (Some(expected), Some(own)) => shape(&place, expected, own, cut, note),
                    (Some(_), None) => note(&place, "is missing".to_owned()),
                    _ => note(&place, "is not in the recorded answer".to_owned()),
                }
            }
        }
        (Value::Array(expected), Value::Array(own)) => elements(place, expected, own, cut, note),
        (Value::String(_), Value::String(_))
        | (Value::Bool(_), Value::Bool(_))
        | (Value::Null, Value::Null) => {}
        (Value::Number(expected), Value::Number(own)) if expected.is_f64() == own.is_f64() => {}
        (expected, own) => note(place, format!("expected {expected}, found {own}")),
    }
}

/// Where both look alike, values must be equal, unless they differ from cloud to cloud.
fn values(place: &str, expected: &Value, own: &Value, note: &mut dyn FnMut(&str, String)) {
    match (expected, own) {
        (Value::Object(expected), Value::Object(own)) => {
            for (name, expected) in expected {
                if let Some(own) = own.get(name) {
                    values(&format!("{place}.{name}"), expected, own, note);
                }
            }
        }
        (Value::Array(expected), Value::Array(own)) if expected.len() == own.len() => {
            for (expected, own) in expected.iter().zip(own) {
                values(&format!("{place}[]"), expected, own, note);
            }
        }
        (Value::String(_), Value::String(_))
        | (Value::Bool(_), Value::Bool(_))
        | (Value::Number(_), Value::Number(_))
            if expected != own =>
        {
            note(place, format!("expected {expected}, found {own}"));
        }
        _ => {}
    }
}

/// Members whose values differ from cloud to cloud, whatever they look like.
const VOLATILE: [&str; 7] = [
    "revision_number",
    "standard_attr_id",
    "audit_ids",
    "adminPass",
    "OS-EXT-SRV-ATTR:instance_name",
    "description",
    "updated",
];

/// A value without what differs from cloud to cloud, with lists in an order that only depends on their content.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, _)| !VOLATILE.contains(&name.as_str()));
            kept.map(|(name, value)| (name.clone(), canonical(value))).collect()
        }
        Value::Array(elements) => {
            let mut elements: Vec<Value> = elements.iter().map(canonical).collect();
            elements.sort_by_cached_key(Value::to_string);
            Value::Array(elements)
        }
        Value::String(text) if is_volatile(text) => Value::String("(differs)".to_owned()),
        other => other.clone(),
    }
}

/// Identifiers, addresses, times, links and secrets differ from cloud to cloud.
fn is_volatile(text: &str) -> bool {
    let identifier = text.len() >= 20 && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let time = text.len() >= 19 && text.as_bytes()[4] == b'-' && text.as_bytes()[10] == b'T';
    let address = text.parse::<std::net::IpAddr>().is_ok() || text.starts_with("fa:16:3e:");
    let named_by_address = text.starts_with("host-");
    identifier || time || address || named_by_address || text.starts_with("http")
}

/// There must be as many elements, and each must look like one of the recorded; the first is named if none fits.
fn elements(place: &str, expected: &[Value], own: &[Value], cut: &Cut, note: &mut dyn FnMut(&str, String)) {
    let length = cut.get(place).copied().unwrap_or(expected.len());
    if length != own.len() {
        note(place, format!("expected {length} elements, found {}", own.len()));
    }
    let place = format!("{place}[]");
    for own in own {
        let fits = |expected: &Value| {
            let mut same = true;
            shape("", expected, own, &Cut::new(), &mut |_, _| same = false);
            same
        };
        if let (false, Some(first)) = (expected.iter().any(fits), expected.first()) {
            shape(&place, first, own, cut, note);
        }
    }
}
