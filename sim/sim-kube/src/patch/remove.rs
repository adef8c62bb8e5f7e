//! Objects put together and taken apart by a kind's schema: merging a configuration in, taking fields out.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::compare::{below, element_of};
use super::field_set::FieldSet;
use super::schema::Place;

/// The object with the configuration's fields laid over it.
pub(super) fn merged(live: Option<&Value>, config: Option<&Value>, place: Place) -> Option<Value> {
    match (live, config) {
        (_, Some(Value::Null)) => None,
        (Some(Value::Object(live)), Some(Value::Object(config)))
            if !place.is_leaf(&Value::Object(Map::new())) =>
        {
            let mut result = live.clone();
            for (name, value) in config {
                match merged(live.get(name), Some(value), place.field(name)) {
                    Some(value) => result.insert(name.clone(), value),
                    None => result.remove(name),
                };
            }
            Some(Value::Object(result))
        }
        (Some(Value::Array(live)), Some(Value::Array(config)))
            if !place.is_leaf(&Value::Array(Vec::new())) =>
        {
            Some(Value::Array(merged_list(live, config, place)))
        }
        (live, config) => config.or(live).cloned(),
    }
}

/// The configuration's order, with the items it does not know where they were before.
fn merged_list(live: &[Value], config: &[Value], place: Place) -> Vec<Value> {
    let keyed = |items: &[Value]| -> Vec<(Option<String>, Value)> {
        items.iter().map(|item| (element_of(item, place), item.clone())).collect()
    };
    let (live, config) = (keyed(live), keyed(config));
    let by_key: BTreeMap<&String, &Value> =
        live.iter().filter_map(|(key, item)| Some((key.as_ref()?, item))).collect();
    let is_shared = |key: &Option<String>| {
        key.as_ref().is_some_and(|key| by_key.contains_key(key))
            && config.iter().any(|(other, _)| other == key)
    };
    let mut result = Vec::new();
    let mut rest = live.iter().peekable();
    for (index, (key, item)) in config.iter().enumerate() {
        let next_shared = config.iter().skip(index).map(|(key, _)| key).find(|key| is_shared(key));
        while let Some((next, own)) = rest.next_if(|(next, _)| !is_shared(next) || Some(next) != next_shared)
        {
            if !is_shared(next) {
                result.push(own.clone());
            }
        }
        rest.next_if(|(next, _)| next == key);
        let shared = key.as_ref().and_then(|key| by_key.get(key).copied());
        result.extend(merged(shared, Some(item), place.item()));
    }
    result.extend(rest.filter(|(key, _)| !is_shared(key)).map(|(_, item)| item.clone()));
    result
}

/// The object without the fields of `gone`; containers that become empty go as well.
pub(super) fn removed(value: &Value, gone: &FieldSet, place: Place) -> Option<Value> {
    if place.is_leaf(value) {
        return Some(value.clone());
    }
    match value {
        Value::Object(map) => {
            let kept: Map<String, Value> = map
                .iter()
                .filter_map(|(name, value)| {
                    Some((name.clone(), kept(value, &format!("f:{name}"), gone, place)?))
                })
                .collect();
            (!kept.is_empty() || map.is_empty()).then_some(Value::Object(kept))
        }
        Value::Array(items) => {
            let kept: Vec<Value> = items
                .iter()
                .filter_map(|item| match element_of(item, place) {
                    Some(element) => kept(item, &element, gone, place),
                    None => Some(item.clone()),
                })
                .collect();
            (!kept.is_empty() || items.is_empty()).then_some(Value::Array(kept))
        }
        other => Some(other.clone()),
    }
}

fn kept(value: &Value, element: &str, gone: &FieldSet, place: Place) -> Option<Value> {
    match gone.children.get(element) {
        Some(child) if child.member => None,
        Some(child) => removed(value, child, below(place, element)),
        None => Some(value.clone()),
    }
}
