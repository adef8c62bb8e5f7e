//! A set of paths into an object, as `fieldsV1` of `metadata.managedFields` writes it.
//!
//! Path elements are kept in their written form: `f:name`, `k:{"port":80}`, `v:"item"`. Knows nothing of schemas.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// A tree of path elements; a node may be a member itself, have members below, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldSet {
    pub(super) member: bool,
    pub(super) children: BTreeMap<String, FieldSet>,
}

impl FieldSet {
    pub(super) fn of_paths<'a>(paths: impl IntoIterator<Item = &'a &'static [&'static str]>) -> Self {
        let mut set = Self::default();
        for path in paths {
            let path: Vec<String> = path.iter().map(|&element| element.to_owned()).collect();
            set.insert(&path);
        }
        set
    }

    pub(super) fn insert(&mut self, path: &[String]) {
        match path.split_first() {
            None => self.member = true,
            Some((first, rest)) => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.member && self.children.values().all(Self::is_empty)
    }

    pub(super) fn union(&self, other: &Self) -> Self {
        self.combined(other, |one, other| one || other)
    }

    pub(super) fn intersection(&self, other: &Self) -> Self {
        self.combined(other, |one, other| one && other)
    }

    /// What is here and not there, path by path.
    pub(super) fn difference(&self, other: &Self) -> Self {
        self.combined(other, |one, other| one && !other)
    }

    fn combined(&self, other: &Self, keep: fn(bool, bool) -> bool) -> Self {
        let nothing = Self::default();
        let mut result = Self { member: keep(self.member, other.member), children: BTreeMap::new() };
        for key in self.children.keys().chain(other.children.keys()) {
            if result.children.contains_key(key) {
                continue;
            }
            let one = self.children.get(key).unwrap_or(&nothing);
            let child = one.combined(other.children.get(key).unwrap_or(&nothing), keep);
            if !child.is_empty() {
                result.children.insert(key.clone(), child);
            }
        }
        result
    }

    /// What is neither in `roots` nor below a path of `roots`.
    pub(super) fn outside(&self, roots: &Self) -> Self {
        let mut result = Self { member: self.member, children: BTreeMap::new() };
        for (key, child) in &self.children {
            let kept = match roots.children.get(key) {
                Some(root) if root.member => continue,
                Some(root) => child.outside(root),
                None => child.clone(),
            };
            if !kept.is_empty() {
                result.children.insert(key.clone(), kept);
            }
        }
        result
    }

    /// All paths, those of one level before those below it.
    pub(super) fn paths(&self) -> Vec<Vec<String>> {
        let mut paths = Vec::new();
        self.collect(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect(&self, prefix: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
        for (element, _) in self.children.iter().filter(|(_, child)| child.member) {
            let mut path = prefix.clone();
            path.push(element.clone());
            paths.push(path);
        }
        for (element, child) in &self.children {
            prefix.push(element.clone());
            child.collect(prefix, paths);
            prefix.pop();
        }
    }

    /// The `fieldsV1` of the set.
    pub(super) fn to_json(&self) -> Value {
        let mut map = Map::new();
        if self.member && !self.children.is_empty() {
            map.insert(".".to_owned(), Value::Object(Map::new()));
        }
        map.extend(self.children.iter().map(|(element, child)| (element.clone(), child.to_json())));
        Value::Object(map)
    }

    /// The set that a `fieldsV1` writes.
    pub(super) fn from_json(fields: &Value) -> Self {
        let mut set = Self::node(fields);
        set.member = false; // the object itself is nobody's
        set
    }

    fn node(fields: &Value) -> Self {
        let Value::Object(map) = fields else { return Self { member: true, ..Self::default() } };
        let children: BTreeMap<_, _> = map
            .iter()
            .filter(|(element, _)| *element != ".")
            .map(|(element, child)| (element.clone(), Self::node(child)))
            .collect();
        Self { member: children.is_empty() || map.contains_key("."), children }
    }
}

/// A path as messages show it: `.spec.ports[port=80,protocol="TCP"].name`.
pub(super) fn shown(path: &[String]) -> String {
    path.iter().map(|element| shown_element(element)).collect()
}

fn shown_element(element: &str) -> String {
    if let Some(name) = element.strip_prefix("f:") {
        return format!(".{name}");
    }
    if let Some(value) = element.strip_prefix("v:") {
        return format!("[={value}]");
    }
    let keys: Map<String, Value> =
        element.strip_prefix("k:").and_then(|keys| serde_json::from_str(keys).ok()).unwrap_or_default();
    let keys: Vec<String> = keys.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("[{}]", keys.join(","))
}
