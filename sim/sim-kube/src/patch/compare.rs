//! Which fields an object has, and which of them differ between two objects, by a kind's schema.
//!
//! Only looks at objects; it must not change them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::field_set::FieldSet;
use super::schema::{Place, Shape};

/// What changed from one object to another.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    pub(super) added: FieldSet,
    pub(super) modified: FieldSet,
    pub(super) removed: FieldSet,
}

impl Comparison {
    pub(super) fn outside(&self, roots: &FieldSet) -> Self {
        Self {
            added: self.added.outside(roots),
            modified: self.modified.outside(roots),
            removed: self.removed.outside(roots),
        }
    }

    pub(super) fn changed(&self) -> FieldSet {
        self.added.union(&self.modified)
    }
}

/// Compares two objects. What Go's types always have counts as there on both sides.
pub(super) fn compared(old: &Value, new: &Value, place: Place) -> Comparison {
    let (mut old, mut new) = (old.clone(), new.clone());
    place.complete(&mut old);
    place.complete(&mut new);
    let mut comparison = Comparison::default();
    walk(Some(&old), Some(&new), place, &mut Vec::new(), &mut comparison);
    comparison
}

fn walk(
    old: Option<&Value>,
    new: Option<&Value>,
    place: Place,
    path: &mut Vec<String>,
    found: &mut Comparison,
) {
    if is_one_piece(old, new, place) {
        if old != new {
            set_for(old, new, found).insert(path);
        }
        return;
    }
    let (old_items, new_items) = (children(old, place), children(new, place));
    let elements: BTreeSet<&String> = old_items.keys().chain(new_items.keys()).collect();
    for element in elements {
        let (one, other) = (old_items.get(element).copied(), new_items.get(element).copied());
        path.push(element.clone());
        walk(one, other, below(place, element), path, found);
        path.pop();
    }
    if old.is_none() || new.is_none() {
        set_for(old, new, found).insert(path);
    }
}

fn set_for<'a>(old: Option<&Value>, new: Option<&Value>, found: &'a mut Comparison) -> &'a mut FieldSet {
    match (old, new) {
        (None, _) => &mut found.added,
        (_, None) => &mut found.removed,
        _ => &mut found.modified,
    }
}

/// Scalars, atomic values, values of different kinds, and containers without content are compared whole.
fn is_one_piece(old: Option<&Value>, new: Option<&Value>, place: Place) -> bool {
    let sides = || old.into_iter().chain(new);
    let kinds_differ = sides().any(Value::is_object) && !sides().all(Value::is_object)
        || sides().any(Value::is_array) && !sides().all(Value::is_array);
    kinds_differ || sides().any(|value| place.is_leaf(value)) || sides().all(is_empty)
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}

/// The parts of a container by their path elements. An item that cannot be told apart is left out.
pub(super) fn children(value: Option<&Value>, place: Place) -> BTreeMap<String, &Value> {
    match value {
        Some(Value::Object(map)) => map.iter().map(|(name, value)| (format!("f:{name}"), value)).collect(),
        Some(Value::Array(items)) => {
            items.iter().filter_map(|item| Some((element_of(item, place)?, item))).collect()
        }
        _ => BTreeMap::new(),
    }
}

/// The place below `place` that a path element names.
pub(super) fn below(place: Place, element: &str) -> Place {
    element.strip_prefix("f:").map_or_else(|| place.item(), |name| place.field(name))
}

/// The path element of a list's item: its keys, or the item itself in a set.
pub(super) fn element_of(item: &Value, list: Place) -> Option<String> {
    match list.shape {
        Shape::Set => Some(format!("v:{item}")),
        Shape::Keyed(keys) => {
            let mut found: Map<String, Value> = Map::new();
            for (name, default) in keys {
                let default = default.map(Value::from);
                found.insert((*name).to_owned(), item.get(name).cloned().or(default)?);
            }
            Some(format!("k:{}", Value::Object(found)))
        }
        Shape::Plain | Shape::Atomic => None,
    }
}

/// The fields of an object, as an apply configuration owns them.
pub(super) fn fields_of(object: &Value, place: Place) -> FieldSet {
    let mut set = FieldSet::default();
    gather(object, place, &mut Vec::new(), &mut set);
    set
}

fn gather(value: &Value, place: Place, path: &mut Vec<String>, set: &mut FieldSet) {
    if place.is_leaf(value) {
        set.insert(path);
        return;
    }
    for (element, child) in children(Some(value), place) {
        path.push(element.clone());
        gather(child, below(place, &element), path, set);
        let unnamed = element.strip_prefix("f:").is_none_or(|name| !place.names(name));
        if unnamed || child.is_null() || child.as_object().is_some_and(Map::is_empty) {
            set.insert(path);
        }
        path.pop();
    }
}

/// The set with every field that a type names as a member, if anything below it is one.
pub(super) fn with_named_fields(set: &FieldSet, place: Place) -> FieldSet {
    let mut result = set.clone();
    for (element, child) in &mut result.children {
        let named = element.strip_prefix("f:").is_some_and(|name| place.names(name));
        let mut inner = with_named_fields(child, below(place, element));
        inner.member |= named && !inner.is_empty();
        *child = inner;
    }
    result
}
