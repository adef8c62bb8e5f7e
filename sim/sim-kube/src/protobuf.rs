//! Bodies in Kubernetes' protobuf, which kubectl's own commands send: from the wire to JSON. Answers are always JSON;
//! clients accept both.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

mod scalar;
#[cfg(test)]
mod tests;
mod wire;

use wire::{Field, fields};

/// The first bytes of every such body.
const MAGIC: &[u8] = b"k8s\0";

/// Why a body could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProtobufError {
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    NoMagic,
    #[error("the protobuf message ends in the middle of a field")]
    Truncated,
    #[error("the protobuf message uses a wire type that Kubernetes does not")]
    WireType,
    #[error("no protobuf form of {0} is known here; send it as JSON")]
    UnknownKind(String),
    #[error("field {number} of {message} is not known here; send it as JSON")]
    UnknownField { message: String, number: u64 },
}

/// How often a field may occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Count {
    One,
    Many,
    Map,
}

/// Name and type of one field.
#[derive(Debug)]
struct Known {
    count: Count,
    name: &'static str,
    kind: &'static str,
}

type Message = BTreeMap<u64, Known>;

static MESSAGES: LazyLock<BTreeMap<&'static str, Message>> =
    LazyLock::new(|| include_str!("protobuf/messages.txt").lines().filter_map(message_line).collect());

fn message_line(line: &'static str) -> Option<(&'static str, Message)> {
    let (name, rest) = line.split_once(": ").filter(|_| !line.starts_with('#'))?;
    Some((name, rest.split(", ").filter_map(known_field).collect()))
}

fn known_field(text: &'static str) -> Option<(u64, Known)> {
    let mut words = text.split(' ');
    let number = words.next()?;
    let (number, count) = match number.strip_suffix('r') {
        Some(number) => (number, Count::Many),
        None => match number.strip_suffix('m') {
            Some(number) => (number, Count::Map),
            None => (number, Count::One),
        },
    };
    Some((number.parse().ok()?, Known { count, name: words.next()?, kind: words.next()? }))
}

/// Parts of Go structs that JSON shows without a name of their own.
const INLINE: &[&str] = &[
    "volumeSource",
    "handler",
    "localObjectReference",
    "ephemeralContainerCommon",
    "ingressRuleValue",
    "persistentVolumeSource",
];

/// The object in a protobuf body.
///
/// # Errors
/// When the body is none, or of a kind that is not listed.
pub(crate) fn object(body: &[u8]) -> Result<Value, ProtobufError> {
    let envelope = body.strip_prefix(MAGIC).ok_or(ProtobufError::NoMagic)?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), Vec::new());
    for (number, field) in fields(envelope)? {
        match (number, field) {
            (1, Field::Bytes(bytes)) => {
                for (number, field) in fields(bytes)? {
                    match (number, field) {
                        (1, Field::Bytes(text)) => api_version = String::from_utf8_lossy(text).into_owned(),
                        (2, Field::Bytes(text)) => kind = String::from_utf8_lossy(text).into_owned(),
                        _ => {}
                    }
                }
            }
            (2, Field::Bytes(bytes)) => raw = bytes.to_vec(),
            _ => {}
        }
    }
    let mut object = message(&message_name(&api_version, &kind)?, &raw)?;
    if let Value::Object(map) = &mut object {
        map.insert("apiVersion".into(), json!(api_version));
        map.insert("kind".into(), json!(kind));
    }
    Ok(object)
}

/// The message of a kind, as `apps.Deployment`.
fn message_name(api_version: &str, kind: &str) -> Result<String, ProtobufError> {
    let group = api_version.split_once('/').map_or("core", |(group, _)| group);
    let short = match (group.split('.').next().unwrap_or_default(), kind) {
        (_, "DeleteOptions") => "meta",
        (short, _) => short,
    };
    let name = format!("{short}.{kind}");
    if MESSAGES.contains_key(name.as_str()) {
        return Ok(name);
    }
    Err(ProtobufError::UnknownKind(format!("{api_version} {kind}")))
}

fn message(name: &str, bytes: &[u8]) -> Result<Value, ProtobufError> {
    let known = MESSAGES.get(name).ok_or_else(|| ProtobufError::UnknownKind(name.to_owned()))?;
    let mut out = Map::new();
    for (number, field) in fields(bytes)? {
        let unknown = || ProtobufError::UnknownField { message: name.to_owned(), number };
        let known = known.get(&number).ok_or_else(unknown)?;
        take(&mut out, known, field)?;
    }
    if name.ends_with(".ExtraValue") {
        return Ok(out.remove("items").unwrap_or_else(|| json!([])));
    }
    Ok(Value::Object(out))
}

fn take(out: &mut Map<String, Value>, known: &Known, field: Field<'_>) -> Result<(), ProtobufError> {
    match known.count {
        Count::One => match value(known.kind, field)? {
            Value::Object(inner) if INLINE.contains(&known.name) => out.extend(inner),
            value if scalar::is_absent(known.name, &value) => {}
            value => drop(out.insert(known.name.into(), value)),
        },
        Count::Many => {
            let item = value(known.kind, field)?;
            let list = out.entry(known.name).or_insert_with(|| json!([]));
            list.as_array_mut().into_iter().for_each(|items| items.push(item.clone()));
        }
        Count::Map => {
            let Field::Bytes(entry) = field else { return Err(ProtobufError::WireType) };
            let (mut key, mut inner) = (String::new(), Value::Null);
            for (number, field) in fields(entry)? {
                match (number, field) {
                    (1, Field::Bytes(text)) => key = String::from_utf8_lossy(text).into_owned(),
                    (2, field) => inner = value(known.kind, field)?,
                    _ => {}
                }
            }
            if inner.is_null() && known.kind == "string" {
                inner = json!("");
            }
            crate::object::map_of(out.entry(known.name).or_insert_with(|| json!({}))).insert(key, inner);
        }
    }
    Ok(())
}

fn value(kind: &str, field: Field<'_>) -> Result<Value, ProtobufError> {
    match field {
        Field::Number(number) => Ok(scalar::number(kind, number)),
        Field::Bytes(bytes) => match scalar::of_bytes(kind, bytes)? {
            Some(value) => Ok(value),
            None => message(kind, bytes),
        },
    }
}
