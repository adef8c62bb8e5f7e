//! Where two answers differ, and whether that is known.

use serde_json::Value;

use crate::exchange::Answer;
use crate::listed::{LISTED, Listed};

/// One place where the answers to one request differ.
#[derive(Debug)]
pub(crate) struct Difference {
    pub(crate) script: &'static str,
    pub(crate) title: String,
    /// `code`, `headers`, or a pointer into the body.
    pub(crate) place: String,
    pub(crate) simulated: String,
    pub(crate) real: String,
}

/// Compares two answers to the same request.
pub(crate) fn between(
    script: &'static str,
    title: &str,
    simulated: &Answer,
    real: &Answer,
) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut note = |place: String, simulated: String, real: String| {
        found.push(Difference { script, title: title.to_owned(), place, simulated, real });
    };
    if simulated.code != real.code {
        note("code".to_owned(), simulated.code.to_string(), real.code.to_string());
    }
    if simulated.headers != real.headers {
        note("headers".to_owned(), format!("{:?}", simulated.headers), format!("{:?}", real.headers));
    }
    compare(&simulated.body, &real.body, "/body", &mut note);
    found
}

/// The real server's discovery, restricted to what the simulator has: it need not have everything.
pub(crate) fn restricted(real: Value, simulated: &Value) -> Value {
    match (real, simulated) {
        (Value::Array(items), Value::Array(wanted)) if items.len() == 1 && wanted.len() == 1 => Value::Array(
            items.into_iter().zip(wanted).map(|(item, wanted)| restricted(item, wanted)).collect(),
        ),
        (Value::Array(items), Value::Array(wanted)) if wanted.iter().all(|item| key_of(item).is_some()) => {
            let find = |wanted: &Value| items.iter().find(|item| key_of(item) == key_of(wanted));
            let found = wanted.iter().filter_map(|wanted| Some(restricted(find(wanted)?.clone(), wanted)));
            Value::Array(found.collect())
        }
        (Value::Object(map), Value::Object(wanted)) => {
            let part = |(key, value): (String, Value)| {
                let value = wanted.get(&key).map_or(value.clone(), |wanted| restricted(value, wanted));
                (key, value)
            };
            Value::Object(map.into_iter().map(part).collect())
        }
        (real, _) => real,
    }
}

/// What an entry of a discovery document is known by.
fn key_of(item: &Value) -> Option<&str> {
    ["/name", "/metadata/name", "/resource", "/subresource", "/groupVersion", "/version"]
        .iter()
        .find_map(|pointer| item.pointer(pointer)?.as_str())
}

fn compare(simulated: &Value, real: &Value, place: &str, note: &mut impl FnMut(String, String, String)) {
    match (simulated, real) {
        (Value::Object(one), Value::Object(other)) => {
            for (key, value) in other {
                match one.get(key) {
                    Some(mine) => compare(mine, value, &format!("{place}/{key}"), note),
                    None => note(format!("{place}/{key}"), "nothing".to_owned(), value.to_string()),
                }
            }
            for (key, value) in one.iter().filter(|(key, _)| !other.contains_key(*key)) {
                note(format!("{place}/{key}"), value.to_string(), "nothing".to_owned());
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                compare(one, other, &format!("{place}/{index}"), note);
            }
        }
        (one, other) if one != other => note(place.to_owned(), one.to_string(), other.to_string()),
        _ => {}
    }
}

impl Difference {
    /// The entry of the table that this difference is known by. Another status code is known only by an entry that
    /// names it.
    pub(crate) fn listed(&self) -> Option<&'static Listed> {
        LISTED.iter().find(|listed| {
            listed.script == self.script
                && listed.request == self.title
                && self.place.starts_with(listed.place)
                && (self.place != "code" || listed.place == "code")
        })
    }
}
