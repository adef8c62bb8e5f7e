//! Values that JSON writes differently from protobuf: times, quantities, numbers that may be names, bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::ProtobufError;
use super::wire::{Field, fields};

/// Zeros that a Go pointer holds: they mean something, unlike those of plain fields, which are always sent.
const MEANT: &[&str] = &[
    "allocateLoadBalancerNodePorts",
    "allowPrivilegeEscalation",
    "automountServiceAccountToken",
    "backoffLimit",
    "completions",
    "enableServiceLinks",
    "gracePeriodSeconds",
    "orphanDependents",
    "parallelism",
    "partition",
    "replicas",
    "revisionHistoryLimit",
    "runAsGroup",
    "runAsUser",
    "terminationGracePeriodSeconds",
];

/// Whether a value is what Go sends for a field that nobody set.
pub(super) fn is_absent(name: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0) && !MEANT.contains(&name),
        Value::Bool(truth) => !truth && !MEANT.contains(&name),
        Value::Array(_) | Value::Object(_) => false,
    }
}

/// A number of a field of this type.
pub(super) fn number(kind: &str, number: u64) -> Value {
    match kind {
        "bool" => json!(number != 0),
        // Negative numbers are sent as their two's complement.
        _ => json!(number.cast_signed()),
    }
}

/// The JSON of a field that is not a message with fields of its own.
pub(super) fn of_bytes(kind: &str, bytes: &[u8]) -> Result<Option<Value>, ProtobufError> {
    Ok(Some(match kind {
        "string" => json!(String::from_utf8_lossy(bytes)),
        "bytes" => json!(STANDARD.encode(bytes)),
        "Time" | "MicroTime" => time(kind, bytes)?,
        "Quantity" => first_text(bytes, 1)?,
        "IntOrString" => int_or_string(bytes)?,
        "FieldsV1" | "RawExtension" => match first_text(bytes, 1)? {
            Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::Null),
            other => other,
        },
        _ => return Ok(None),
    }))
}

fn first_text(bytes: &[u8], wanted: u64) -> Result<Value, ProtobufError> {
    let found = fields(bytes)?.into_iter().find_map(|(number, field)| match field {
        Field::Bytes(text) if number == wanted => Some(json!(String::from_utf8_lossy(text))),
        _ => None,
    });
    Ok(found.unwrap_or(Value::Null))
}

fn int_or_string(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let (mut is_text, mut number, mut text) = (false, 0_i64, Value::Null);
    for (field, value) in fields(bytes)? {
        match (field, value) {
            (1, Field::Number(kind)) => is_text = kind == 1,
            (2, Field::Number(value)) => number = value.cast_signed(),
            (3, Field::Bytes(value)) => text = json!(String::from_utf8_lossy(value)),
            _ => {}
        }
    }
    Ok(if is_text { text } else { json!(number) })
}

/// A time; without fields it is none.
fn time(kind: &str, bytes: &[u8]) -> Result<Value, ProtobufError> {
    let (mut seconds, mut nanos) = (None, 0_i32);
    for (number, field) in fields(bytes)? {
        match (number, field) {
            (1, Field::Number(value)) => seconds = Some(value.cast_signed()),
            (2, Field::Number(value)) => nanos = i32::try_from(value).unwrap_or(0),
            _ => {}
        }
    }
    let moment = seconds.and_then(|seconds| Timestamp::new(seconds, nanos).ok());
    let format = if kind == "Time" { "%Y-%m-%dT%H:%M:%SZ" } else { "%Y-%m-%dT%H:%M:%S%.6fZ" };
    Ok(moment.map_or(Value::Null, |moment| json!(moment.strftime(format).to_string())))
}
