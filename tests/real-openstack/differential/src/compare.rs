//! What differs between an answer of the real cloud and the simulator's.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;

use serde_json::Value;

use crate::answer::Answer;
use crate::translation::{Translation, by_word, is_identifier};

/// Lists that were cut in recorded answers: their places, and how long they were.
pub type Cut = BTreeMap<String, usize>;

/// One difference: in which exchange, at which place, what the real cloud said and what the simulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The name of the exchange.
    pub exchange: String,
    /// Where in the answer: `status`, `header vary`, `body.ports[].status`.
    pub place: String,
    /// What the real cloud has there.
    pub real: String,
    /// What the simulator has there.
    pub simulated: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { exchange, place, real, simulated } = self;
        write!(f, "{exchange}, at {place}: really {real}, simulated {simulated}")
    }
}

/// Where differences are noted: the place, what is real, what is simulated.
type Note<'a> = dyn FnMut(&str, String, String) + 'a;

const ABSENT: &str = "absent";

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

/// Everything that differs between the real answer and the simulator's own, with the real identifiers translated.
#[must_use]
pub fn compare(
    exchange: &str,
    real: &Answer,
    cut: &Cut,
    own: &Answer,
    translation: &Translation,
) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut note = |place: &str, real: String, simulated: String| {
        let (exchange, place) = (exchange.to_owned(), place.to_owned());
        found.push(Difference { exchange, place, real, simulated });
    };
    if real.status != own.status {
        let shown = |answer: &Answer| format!("{}: {}", answer.status, answer.body);
        note("status", shown(real), shown(own));
        return found;
    }
    headers(real, own, &mut note);
    let expected = translation.value(&real.body);
    if real.status >= 400 {
        words(&expected, &own.body, &|word| translation.knows(word), &mut note);
    } else {
        shape("body", &expected, &own.body, cut, &mut note);
        let canonical = |value: &Value| canonical(value, &|word| translation.knows(word));
        values("body", &canonical(&expected), &canonical(&own.body), &mut note);
    }
    found
}

fn headers(real: &Answer, own: &Answer, note: &mut Note<'_>) {
    let shown =
        |value: Option<&String>| value.map_or_else(|| ABSENT.to_owned(), |value| format!("{value:?}"));
    for name in EQUAL_HEADERS {
        let (real, own) = (real.headers.get(name), own.headers.get(name));
        if real != own {
            note(&format!("header {name}"), shown(real), shown(own));
        }
    }
    for name in PRESENT_HEADERS {
        let (real, own) = (real.headers.get(name), own.headers.get(name));
        if real.is_some() != own.is_some() {
            note(&format!("header {name}"), shown(real), shown(own));
        }
    }
    let request_id = own.headers.get("x-openstack-request-id");
    if let Some(id) = request_id.filter(|id| !id.starts_with("req-")) {
        note("header x-openstack-request-id", "req-…".to_owned(), id.clone());
    }
}

/// Errors must say the same, but for identifiers that only they tell, and for the order in which a list of them comes from a database.
fn words(expected: &Value, own: &Value, known: &dyn Fn(&str) -> bool, note: &mut Note<'_>) {
    if without_unknown(expected, known) != without_unknown(own, known) {
        note("body", expected.to_string(), own.to_string());
    }
}

fn without_unknown(value: &Value, known: &dyn Fn(&str) -> bool) -> Value {
    match value {
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), without_unknown(value, known))).collect()
        }
        Value::String(text) => Value::String(in_order(&without_identifiers(text, known))),
        other => other.clone(),
    }
}

/// The text with the elements of the list that ends it, if there is one, in order.
fn in_order(text: &str) -> String {
    let Some((before, list)) = text.rsplit_once(": ") else { return text.to_owned() };
    let mut elements: Vec<&str> = list.split(", ").collect();
    if elements.iter().any(|element| element.contains(' ')) {
        return text.to_owned();
    }
    elements.sort_unstable();
    format!("{before}: {}", elements.join(", "))
}

/// Other answers must look the same: the same members with values of the same kinds.
fn shape(place: &str, expected: &Value, own: &Value, cut: &Cut, note: &mut Note<'_>) {
    match (expected, own) {
        (Value::Object(expected), Value::Object(own)) => {
            let names: BTreeSet<&String> = expected.keys().chain(own.keys()).collect();
            for name in names {
                let place = format!("{place}.{name}");
                match (expected.get(name), own.get(name)) {
                    (Some(expected), Some(own)) => shape(&place, expected, own, cut, note),
                    (Some(expected), None) => note(&place, expected.to_string(), ABSENT.to_owned()),
                    (None, Some(own)) => note(&place, ABSENT.to_owned(), own.to_string()),
                    (None, None) => {}
                }
            }
        }
        (Value::Array(expected), Value::Array(own)) => elements(place, expected, own, cut, note),
        (Value::String(_), Value::String(_))
        | (Value::Bool(_), Value::Bool(_))
        | (Value::Null, Value::Null) => {}
        (Value::Number(expected), Value::Number(own)) if expected.is_f64() == own.is_f64() => {}
        (expected, own) => note(place, expected.to_string(), own.to_string()),
    }
}

/// Where both look alike, values must be equal, unless they differ from cloud to cloud.
fn values(place: &str, expected: &Value, own: &Value, note: &mut Note<'_>) {
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
            note(place, expected.to_string(), own.to_string());
        }
        _ => {}
    }
}

/// Members whose values differ from cloud to cloud, whatever they look like.
const VOLATILE: [&str; 8] = [
    "revision_number",
    "standard_attr_id",
    "audit_ids",
    "adminPass",
    "secret",
    "OS-EXT-SRV-ATTR:instance_name",
    "description",
    "updated",
];

/// What stands in place of what differs from cloud to cloud.
const DIFFERS: &str = "(differs)";

/// A value without what differs from cloud to cloud, with lists in an order that only depends on their content. Identifiers
/// that are known stay: they must be equal once they are translated.
pub(crate) fn canonical(value: &Value, known: &dyn Fn(&str) -> bool) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, _)| !VOLATILE.contains(&name.as_str()));
            kept.map(|(name, value)| (name.clone(), canonical(value, known))).collect()
        }
        Value::Array(elements) => {
            let mut elements: Vec<Value> = elements.iter().map(|element| canonical(element, known)).collect();
            elements.sort_by_cached_key(Value::to_string);
            Value::Array(elements)
        }
        Value::String(text) if known(text) => value.clone(),
        Value::String(text) if text.starts_with("http") => Value::String(without_identifiers(text, known)),
        Value::String(text) if is_volatile(text) => Value::String(DIFFERS.to_owned()),
        other => other.clone(),
    }
}

/// A link or another text without the identifiers that are not known.
fn without_identifiers(text: &str, known: &dyn Fn(&str) -> bool) -> String {
    by_word(text, |word| {
        // A full stop may follow.
        let stem = word.trim_end_matches('.');
        let differs = is_identifier(stem) && !known(stem);
        if differs { word.replace(stem, DIFFERS) } else { word.to_owned() }
    })
}

/// Identifiers, addresses, times and secrets differ from cloud to cloud.
fn is_volatile(text: &str) -> bool {
    let identifier = text.len() >= 20 && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let letter = |place: usize| text.as_bytes().get(place).copied();
    let time = text.len() >= 19 && letter(4) == Some(b'-') && letter(10) == Some(b'T');
    let address = text.parse::<IpAddr>().is_ok() || text.starts_with("fa:16:3e:");
    let named_by_address = text.starts_with("host-");
    identifier || time || address || named_by_address
}

/// There must be as many elements, and each must look like one of the recorded; the first is named if none fits.
fn elements(place: &str, expected: &[Value], own: &[Value], cut: &Cut, note: &mut Note<'_>) {
    let length = cut.get(place).copied().unwrap_or(expected.len());
    if length != own.len() {
        note(place, format!("{length} elements"), format!("{} elements", own.len()));
    }
    let place = format!("{place}[]");
    for own in own {
        let fits = |expected: &Value| {
            let mut same = true;
            shape("", expected, own, &Cut::new(), &mut |_, _, _| same = false);
            same
        };
        if let (false, Some(first)) = (expected.iter().any(fits), expected.first()) {
            shape(&place, first, own, cut, note);
        }
    }
}
