//! Strategic merge patch: a partial document with directives, lists merged by their keys.
//!
//! The order of merged lists follows the patch (or its `$setElementOrder`), and the server's own items keep their
//! places as far as that allows.

use serde_json::{Map, Value};

use super::PatchError;
use super::schema::{MergeSchema, Place, Strategy};
use crate::object::strip_nulls;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ORDER: &str = "$setElementOrder/";
const DELETE_PRIMITIVES: &str = "$deleteFromPrimitiveList/";

pub(super) fn patched(schema: &MergeSchema, current: &Value, patch: &Value) -> Result<Value, PatchError> {
    let (Value::Object(current), Value::Object(patch)) = (current, patch) else {
        return Err(PatchError::BadRequest("invalid JSON document".to_owned()));
    };
    Ok(Value::Object(merged_map(current.clone(), patch.clone(), schema.root())?))
}

fn merged_map(
    mut original: Map<String, Value>,
    mut patch: Map<String, Value>,
    place: Place,
) -> Result<Map<String, Value>, PatchError> {
    if let Some(directive) = patch.remove(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => Ok(patch),
            Some("delete") => Ok(Map::new()),
            _ => Err(unknown_directive(&directive, &patch)),
        };
    }
    retain_keys(&mut original, &mut patch)?;
    order_lists(&mut original, &mut patch, place)?;
    for (key, value) in patch {
        if let Some(name) = key.strip_prefix(DELETE_PRIMITIVES) {
            delete_primitives(&mut original, name, &value)?;
        } else if let Some(merged) = merged_value(original.remove(&key), value, place.field(&key))? {
            original.insert(key, merged);
        }
    }
    Ok(original)
}

/// What a field becomes; nothing if it goes.
fn merged_value(old: Option<Value>, new: Value, place: Place) -> Result<Option<Value>, PatchError> {
    Ok(match (old, new) {
        (_, Value::Null) => None,
        (Some(Value::Object(old)), Value::Object(new)) => Some(Value::Object(merged_map(old, new, place)?)),
        (Some(Value::Array(old)), Value::Array(new)) => match place.strategy() {
            Strategy::Replace => Some(Value::Array(new)),
            Strategy::Union | Strategy::ByKey(_) => Some(Value::Array(merged_list(old, new, place)?)),
        },
        (_, mut new) => {
            strip_nulls(&mut new);
            without_directives(new)
        }
    })
}

fn merged_list(old: Vec<Value>, new: Vec<Value>, place: Place) -> Result<Vec<Value>, PatchError> {
    if old.is_empty() && new.is_empty() {
        return Ok(old);
    }
    if old.iter().chain(&new).any(Value::is_array) {
        return Err(PatchError::Rejected("lists of lists are not supported".to_owned()));
    }
    let Strategy::ByKey(key) = place.strategy() else {
        let mut merged = old.clone();
        new.iter().filter(|item| !old.contains(item)).for_each(|item| merged.push(item.clone()));
        return Ok(in_order(merged, &new, &old, None));
    };
    let (old, new, replaced) = obey_items(old, new, key)?;
    if replaced {
        return Ok(old);
    }
    let mut merged = old.clone();
    for item in &new {
        let wanted = item.get(key).ok_or_else(|| no_key(item, key))?;
        match merged.iter_mut().find(|existing| existing.get(key) == Some(wanted)) {
            Some(existing) => {
                if let (Value::Object(before), Value::Object(patch)) = (existing.clone(), item.clone()) {
                    *existing = Value::Object(merged_map(before, patch, place.item())?);
                }
            }
            None => merged.push(item.clone()),
        }
    }
    Ok(in_order(merged, &new, &old, Some(key)))
}

/// Takes the items that are directives out of the patch and obeys them.
fn obey_items(
    mut old: Vec<Value>,
    new: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>, bool), PatchError> {
    let mut kept = Vec::new();
    let mut replace = false;
    for item in new {
        match item.get(DIRECTIVE).map(|directive| directive.as_str().unwrap_or_default().to_owned()) {
            None => kept.push(item),
            Some(directive) if directive == "delete" => {
                let gone = item.get(key).ok_or_else(|| no_key(&item, key))?;
                old.retain(|existing| existing.get(key) != Some(gone));
            }
            Some(directive) if directive == "replace" => replace = true,
            Some(_) => return Err(PatchError::Internal(format!("unknown patch type in {item}"))),
        }
    }
    Ok(if replace { (kept, Vec::new(), true) } else { (old, kept, false) })
}

/// `$retainKeys`: the fields that the list does not name go.
fn retain_keys(original: &mut Map<String, Value>, patch: &mut Map<String, Value>) -> Result<(), PatchError> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let malformed = || PatchError::BadRequest("invalid patch format of retainKeys".to_owned());
    let keys = keys.as_array().ok_or_else(malformed)?;
    let named = |name: &str| keys.iter().any(|key| key == name);
    let stray = |(name, value): (&String, &Value)| {
        !value.is_null()
            && !name.starts_with(SET_ORDER)
            && !name.starts_with(DELETE_PRIMITIVES)
            && !named(name)
    };
    if patch.iter().any(stray) {
        return Err(malformed());
    }
    original.retain(|name, _| named(name));
    Ok(())
}

/// `$setElementOrder/…`: merges the lists that have one, and puts them in that order.
fn order_lists(
    original: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
    place: Place,
) -> Result<(), PatchError> {
    let directives: Vec<String> = patch.keys().filter(|key| key.starts_with(SET_ORDER)).cloned().collect();
    for directive in directives {
        let Some(Value::Array(order)) = patch.remove(&directive) else {
            return Err(bad_order());
        };
        let Some(name) = directive.strip_prefix(SET_ORDER) else { continue };
        let place = place.field(name);
        let key = match place.strategy() {
            Strategy::ByKey(key) => Some(key),
            Strategy::Union | Strategy::Replace => None,
        };
        let server_order = list_of(original.get(name))?;
        let merged = match (original.remove(name), patch.remove(name)) {
            (None, None) => continue,
            (Some(old), None) => list_of(Some(&old))?,
            (None, Some(new)) => list_of(without_directives(new).as_ref())?,
            (Some(old), Some(new)) => {
                let new = list_of(Some(&new))?;
                require_order(&new, &order, key)?;
                list_of(merged_value(Some(old), Value::Array(new), place)?.as_ref())?
            }
        };
        original.insert(name.to_owned(), Value::Array(in_order(merged, &order, &server_order, key)));
    }
    Ok(())
}

/// The items of a patch must come in the order that the patch demands.
fn require_order(items: &[Value], order: &[Value], key: Option<&str>) -> Result<(), PatchError> {
    if order.is_empty() {
        return Ok(());
    }
    let mut rest = order.iter();
    for item in items.iter().filter(|item| item.get(DIRECTIVE).is_none()) {
        if !rest.any(|wanted| same(item, wanted, key)) {
            let shown = |list: &[Value]| go_map(&Value::Array(list.to_vec()));
            return Err(PatchError::Internal(format!(
                "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
                shown(items),
                shown(order)
            )));
        }
    }
    Ok(())
}

/// Those that `order` names in that order; the others where the server's order had them, as far as that fits.
fn in_order(merged: Vec<Value>, order: &[Value], server: &[Value], key: Option<&str>) -> Vec<Value> {
    let position = |list: &[Value], item: &Value| list.iter().position(|other| same(item, other, key));
    let (mut named, mut others): (Vec<Value>, Vec<Value>) =
        merged.into_iter().partition(|item| position(order, item).is_some());
    named.sort_by_key(|item| position(order, item));
    others.sort_by_key(|item| position(server, item).unwrap_or(usize::MAX));
    let mut result = Vec::with_capacity(named.len() + others.len());
    let mut others = others.into_iter().peekable();
    for item in named {
        let before = |other: &Value| matches!((position(server, other), position(server, &item)), (Some(other), Some(item)) if other < item);
        while let Some(other) = others.next_if(before) {
            result.push(other);
        }
        result.push(item);
    }
    result.extend(others);
    result
}

fn same(one: &Value, other: &Value, key: Option<&str>) -> bool {
    match key {
        Some(key) => one.get(key).is_some() && one.get(key) == other.get(key),
        None => one == other,
    }
}

fn delete_primitives(original: &mut Map<String, Value>, name: &str, gone: &Value) -> Result<(), PatchError> {
    let malformed = || PatchError::BadRequest("invalid patch format of primitive list".to_owned());
    let gone = gone.as_array().ok_or_else(malformed)?;
    if let Some(Value::Array(items)) = original.get_mut(name) {
        items.retain(|item| !gone.contains(item));
    }
    Ok(())
}

fn list_of(value: Option<&Value>) -> Result<Vec<Value>, PatchError> {
    match value {
        None => Ok(Vec::new()),
        Some(Value::Array(items)) => Ok(items.clone()),
        Some(_) => Err(bad_order()),
    }
}

/// … and whatever is a directive.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(map) if map.contains_key(DIRECTIVE) => None,
        Value::Object(map) => {
            let kept = map.into_iter().filter_map(|(key, value)| Some((key, without_directives(value)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(without_directives).collect())),
        other => Some(other),
    }
}

fn bad_order() -> PatchError {
    PatchError::BadRequest("invalid patch format of setElementOrder list".to_owned())
}

fn no_key(item: &Value, key: &str) -> PatchError {
    PatchError::Internal(format!("map: {} does not contain declared merge key: {key}", go_map(item)))
}

fn unknown_directive(directive: &Value, patch: &Map<String, Value>) -> PatchError {
    let mut shown = patch.clone();
    shown.insert(DIRECTIVE.to_owned(), directive.clone());
    let directive = directive.as_str().map_or_else(|| directive.to_string(), str::to_owned);
    PatchError::Internal(format!("unknown patch type: {directive} in map: {}", go_map(&Value::Object(shown))))
}

/// As Go prints a value with `%v`.
fn go_map(value: &Value) -> String {
    let joined = |parts: Vec<String>| parts.join(" ");
    match value {
        Value::Object(map) => {
            format!(
                "map[{}]",
                joined(map.iter().map(|(key, value)| format!("{key}:{}", go_map(value))).collect())
            )
        }
        Value::Array(items) => format!("[{}]", joined(items.iter().map(go_map).collect())),
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".to_owned(),
        other => other.to_string(),
    }
}
