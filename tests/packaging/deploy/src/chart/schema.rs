//! `values.schema.json`: what helm refuses before it makes anything, and what editors show.

use bowline_openstack::config::keys::{Field, KEYS, Key, Section};
use serde_json::{Map, Value, json};

use super::rows::{GROUPS, ROWS};
use super::values::default;
use super::{Kind, Row, at};
use crate::PackagingError;

/// The text of `values.schema.json`.
///
/// # Errors
///
/// If a default in the table is no JSON.
pub fn schema() -> Result<String, PackagingError> {
    crate::json("the schema", &tree()?)
}

pub(super) fn tree() -> Result<Value, PackagingError> {
    let mut properties = json!({});
    for row in ROWS {
        let path = row.path.replace('.', ".properties.");
        if let Some(place) = at(&mut properties, &path) {
            *place = property(row)?;
        }
    }
    for (group, doc) in GROUPS {
        if let Some(Value::Object(group)) = at(&mut properties, group) {
            group.insert("type".to_owned(), json!("object"));
            group.insert("description".to_owned(), json!(doc));
            group.insert("additionalProperties".to_owned(), json!(false));
        }
    }
    // Helm itself hands this one to charts that are part of others.
    if let Some(global) = at(&mut properties, "global") {
        *global = json!({"type": "object", "description": "Values of a chart that this one is a part of; not used."});
    }
    Ok(json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$comment": "Generated from tests/packaging/deploy/src/chart/rows.rs by `cargo xtask gen`. Do not edit.",
        "title": "Values of the chart bowline",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    }))
}

fn property(row: &Row) -> Result<Value, PackagingError> {
    let mut schema = of_kind(row.kind);
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("description".to_owned(), json!(row.doc));
        schema.insert("default".to_owned(), default(row)?);
    }
    Ok(schema)
}

fn of_kind(kind: Kind) -> Value {
    let objects = |kind: &str| json!({"type": "object", "title": kind});
    match kind {
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Count(min, max) => json!({"type": "integer", "minimum": min, "maximum": max}),
        Kind::Text => json!({"type": "string"}),
        Kind::Pattern(pattern) => json!({"type": "string", "pattern": pattern}),
        Kind::Choice(words) => json!({"type": "string", "enum": words}),
        Kind::Texts => json!({"type": "array", "items": {"type": "string"}}),
        Kind::TextsByName => json!({"type": "object", "additionalProperties": {"type": "string"}}),
        Kind::FlagsByName => json!({"type": "object", "additionalProperties": {"type": "boolean"}}),
        Kind::Object(kind) => objects(kind),
        Kind::Objects(kind) => json!({"type": "array", "items": objects(kind)}),
        Kind::TextsOrYaml => json!({"anyOf": [
            {"type": "array", "items": {"type": "string", "pattern": "^--[a-z0-9]"}},
            {"type": "string"},
            {"type": "object", "maxProperties": 0},
        ]}),
        Kind::NamesOrReferences => json!({"type": "array", "items": {"anyOf": [
            {"type": "string"},
            {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"], "additionalProperties": false},
        ]}}),
        Kind::Section(Section::LoadBalancerClass) => {
            json!({"type": ["object", "null"], "additionalProperties": section(Section::LoadBalancerClass)})
        }
        Kind::Section(which) => section(which),
    }
}

/// A section of cloud.conf: its keys, and no other.
fn section(which: Section) -> Value {
    let keys = KEYS.iter().filter(|key| key.section == which);
    let properties: Map<String, Value> = keys.map(|key| (key.name.to_owned(), of_key(key))).collect();
    json!({"type": ["object", "null"], "additionalProperties": false, "properties": properties})
}

/// Values may be written as their type or as text, as in cloud.conf. Texts may not be written as numbers: an id of digits would lose its zeros.
fn of_key(key: &Key) -> Value {
    let kind = match key.field {
        Field::Flag(_) => json!({"type": ["boolean", "string"]}),
        Field::Integer(_) | Field::Unsigned(_) => json!({"type": ["integer", "string"]}),
        Field::List(_) => json!({"type": ["array", "string"], "items": {"type": "string"}}),
        _text => json!({"type": ["string", "boolean"]}),
    };
    let mut schema = kind;
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("description".to_owned(), json!(key.doc));
    }
    schema
}
