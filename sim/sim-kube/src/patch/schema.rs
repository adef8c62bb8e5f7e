//! How the fields of a kind are merged: which lists have keys, which values are one piece, what is always there.
//!
//! Read from a table beside this file. Knows nothing of values; must not be used to validate or to prune.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

/// The published facts, one type a line.
const TABLE: &str = include_str!("schema.txt");

static TYPES: LazyLock<BTreeMap<&'static str, Rules>> = LazyLock::new(|| parsed(TABLE));

/// The fields of one type that are not plain.
pub(super) type Rules = BTreeMap<&'static str, Field>;

/// How a value is merged as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) enum Shape {
    /// Maps key by key; lists are one value.
    #[default]
    Plain,
    /// One value.
    Atomic,
    /// A list that is a set of scalars.
    Set,
    /// A list whose items are told apart by these keys; a key may have a default.
    Keyed(Vec<(&'static str, Option<&'static str>)>),
}

/// How a list is merged by a strategic merge patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    /// The patch's list takes the place of the old one.
    Replace,
    /// Scalars are united.
    Union,
    /// Items are merged by this key.
    ByKey(&'static str),
}

/// One field of a type.
#[derive(Clone, Debug, Default)]
pub(super) struct Field {
    shape: Shape,
    strategic: Option<&'static str>,
    item: Item,
    always: Option<Always>,
}

/// What Go's types have where nothing was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Always {
    Map,
    Null,
    Text,
}

/// What a field holds, or the items of its list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Item {
    #[default]
    Plain,
    Atomic,
    Of(&'static str),
}

/// How the objects of one kind are merged.
#[derive(Clone, Copy, Debug)]
pub struct MergeSchema {
    kind: &'static str,
    custom: bool,
    status: bool,
}

/// A place in an object, with what is known of it.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) shape: &'static Shape,
    rules: Option<&'static Rules>,
    item: Item,
    strategic: Option<&'static str>,
    /// Whether the fields below are named by a type; in a custom resource they are not.
    typed: bool,
}

impl MergeSchema {
    /// The schema of one of Kubernetes' own kinds. A kind that the table does not list has metadata, and is plain else.
    #[must_use]
    pub fn of(group: &str, kind: &str) -> Self {
        let qualified = format!("{group}/{kind}");
        let found = TYPES.get_key_value(qualified.as_str()).or_else(|| TYPES.get_key_value(kind));
        let (kind, rules) = found.map_or(("Unlisted", None), |(name, rules)| (*name, Some(rules)));
        let status = rules.is_none_or(|rules| rules.contains_key("status"));
        Self { kind, custom: false, status }
    }

    /// The schema of custom resources without a schema of their own.
    #[must_use]
    pub fn custom(status_subresource: bool) -> Self {
        Self { kind: "Custom", custom: true, status: status_subresource }
    }

    /// Whether the kind is defined by a CustomResourceDefinition.
    #[must_use]
    pub fn is_custom(&self) -> bool {
        self.custom
    }

    /// The paths that a write of this subresource cannot change, and therefore does not own.
    pub(super) fn reset(&self, subresource: Option<&str>) -> &'static [&'static [&'static str]] {
        match (subresource, self.kind) {
            (Some("status"), "Custom") => &[&["f:metadata"], &["f:spec"]],
            (Some("status"), "Deployment" | "DaemonSet" | "ReplicaSet" | "StatefulSet") => {
                &[&["f:spec"], &["f:metadata", "f:labels"]]
            }
            (Some("status"), "Pod") => {
                &[&["f:spec"], &["f:metadata", "f:deletionTimestamp"], &["f:metadata", "f:ownerReferences"]]
            }
            (Some("status"), _) => &[&["f:spec"]],
            (None, _) if self.status => &[&["f:status"]],
            _ => &[],
        }
    }

    pub(super) fn root(&self) -> Place {
        let rules = TYPES.get(self.kind);
        Place { shape: &Shape::Plain, rules, item: Item::Plain, strategic: None, typed: !self.custom }
    }
}

impl Place {
    /// The place of a field of the map that is here.
    pub(super) fn field(self, name: &str) -> Self {
        let Some(field) = self.rules.and_then(|rules| rules.get(name)) else {
            return Self { shape: &Shape::Plain, rules: None, item: Item::Plain, strategic: None, ..self };
        };
        Self {
            shape: &field.shape,
            rules: rules_of(field.item),
            item: field.item,
            strategic: field.strategic,
            typed: true,
        }
    }

    /// The place of any item of the list that is here.
    pub(super) fn item(self) -> Self {
        let shape = if self.item == Item::Atomic { &Shape::Atomic } else { &Shape::Plain };
        Self { shape, rules: rules_of(self.item), strategic: None, ..self }
    }

    /// Whether a field of this name is named by the type: in a custom resource only its metadata is.
    pub(super) fn names(self, field: &str) -> bool {
        self.typed || self.rules.is_some_and(|rules| rules.contains_key(field))
    }

    /// Whether `value` is one piece here.
    pub(super) fn is_leaf(self, value: &Value) -> bool {
        match value {
            Value::Object(_) => *self.shape == Shape::Atomic,
            Value::Array(_) => !matches!(self.shape, Shape::Set | Shape::Keyed(_)),
            _ => true,
        }
    }

    /// How a strategic merge patch merges the list that is here.
    pub(super) fn strategy(self) -> Strategy {
        match self.strategic {
            None => Strategy::Replace,
            Some("") => Strategy::Union,
            Some(key) => Strategy::ByKey(key),
        }
    }

    /// Adds the objects that Go's types always have, empty where they are missing.
    pub(super) fn complete(self, value: &mut Value) {
        let Value::Object(map) = value else { return };
        let always =
            self.rules.into_iter().flatten().filter_map(|(name, field)| Some((*name, field.always?)));
        for (name, always) in always {
            map.entry(name).or_insert_with(|| match always {
                Always::Map => Value::Object(serde_json::Map::new()),
                Always::Null => Value::Null,
                Always::Text => Value::String(String::new()),
            });
        }
        for (name, value) in map {
            let place = self.field(name);
            match value {
                Value::Array(items) if matches!(place.shape, Shape::Keyed(_)) => {
                    items.iter_mut().for_each(|item| place.item().complete(item));
                }
                other => place.complete(other),
            }
        }
    }
}

fn rules_of(item: Item) -> Option<&'static Rules> {
    match item {
        Item::Of(name) => TYPES.get(name),
        Item::Plain | Item::Atomic => None,
    }
}

fn parsed(table: &'static str) -> BTreeMap<&'static str, Rules> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let name = words.next()?;
            Some((name, words.filter_map(|word| word.split_once(':')).map(field).collect()))
        })
        .collect()
}

/// One `field:rule`; the rule's parts in the order the table's head describes.
fn field((name, rule): (&'static str, &'static str)) -> (&'static str, Field) {
    let (always, rule) = match rule.strip_prefix('!') {
        Some("null") => (Some(Always::Null), ""),
        Some("text") => (Some(Always::Text), ""),
        Some(rest) => (Some(Always::Map), rest),
        None => (None, rule),
    };
    let rule = rule.trim_end_matches('%'); // retainKeys is obeyed wherever a patch names it
    let (rule, strategic) = rule.split_once('~').map_or((rule, None), |(before, key)| (before, Some(key)));
    let (shape, of) = match rule.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some(("=", of)) => (Shape::Set, of),
        Some(("", of)) => (Shape::Atomic, of),
        Some((keys, of)) => (Shape::Keyed(keys.split(',').map(key).collect()), of),
        None if rule == "{}" => (Shape::Atomic, ""),
        None => (Shape::Plain, rule),
    };
    let item = match of {
        "" => Item::Plain,
        "{}" => Item::Atomic,
        of => Item::Of(of),
    };
    (name, Field { shape, strategic, item, always })
}

fn key(text: &'static str) -> (&'static str, Option<&'static str>) {
    text.split_once('=').map_or((text, None), |(name, default)| (name, Some(default)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_that_the_table_names_is_in_the_table() {
        for (name, rules) in TYPES.iter() {
            for (field, rule) in rules {
                if let Item::Of(of) = rule.item {
                    assert!(TYPES.contains_key(of), "{name}.{field} is of the unknown type {of}");
                }
            }
        }
    }

    #[test]
    fn lists_are_told_apart_as_the_published_types_say() {
        let service = MergeSchema::of("", "Service").root().field("spec");
        let ports = service.field("ports");
        assert_eq!(*ports.shape, Shape::Keyed(vec![("port", None), ("protocol", Some("TCP"))]));
        assert_eq!(ports.strategy(), Strategy::ByKey("port"));
        assert_eq!(*service.field("selector").shape, Shape::Atomic);
        let node = MergeSchema::of("", "Node").root();
        assert_eq!(*node.field("metadata").field("finalizers").shape, Shape::Set);
        assert_eq!(node.field("spec").field("taints").strategy(), Strategy::Replace);
        assert_eq!(node.field("spec").field("podCIDRs").strategy(), Strategy::Union);
        assert_eq!(*node.field("metadata").field("ownerReferences").item().shape, Shape::Atomic);
    }

    #[test]
    fn a_kind_outside_the_table_has_metadata_and_a_custom_one_names_nothing_else() {
        let unlisted = MergeSchema::of("storage.k8s.io", "StorageClass").root();
        assert_eq!(*unlisted.field("metadata").field("finalizers").shape, Shape::Set);
        assert!(unlisted.names("spec"));
        let custom = MergeSchema::custom(true).root();
        assert!(custom.names("metadata") && !custom.names("spec"));
        assert!(custom.field("metadata").names("labels"));
    }
}
