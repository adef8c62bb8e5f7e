//! The annotations that a provider wants on a Service. Data only: the framework compares them and writes them.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Pairs;

/// Desired annotations by key: the value, or `None` if the annotation should not exist. All other keys belong to other components and stay
/// unchanged. Serializes to the `annotations` of a merge patch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Notes(BTreeMap<String, Option<String>>);

impl Notes {
    /// Adds an annotation with this value.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.insert(key.into(), Some(value.into()));
        self
    }

    /// Adds the removal of an annotation.
    #[must_use]
    pub fn without(mut self, key: impl Into<String>) -> Self {
        self.0.insert(key.into(), None);
        self
    }

    /// All entries, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_deref()))
    }

    /// Whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries that differ from `annotations`.
    #[must_use]
    pub fn missing_from(mut self, annotations: &Pairs) -> Self {
        self.0.retain(|key, value| annotations.get(key) != value.as_deref());
        self
    }

    /// Whether `annotations` matches all entries.
    #[must_use]
    pub fn stand_in(&self, annotations: &Pairs) -> bool {
        self.iter().all(|(key, value)| annotations.get(key) == value)
    }

    /// The result of applying the entries to `annotations`.
    #[must_use]
    pub fn written_on(&self, annotations: &Pairs) -> Pairs {
        let mut all: BTreeMap<&str, &str> = annotations.iter().collect();
        for (key, value) in self.iter() {
            match value {
                Some(value) => drop(all.insert(key, value)),
                None => drop(all.remove(key)),
            }
        }
        all.into()
    }
}

impl Extend<(String, Option<String>)> for Notes {
    fn extend<I: IntoIterator<Item = (String, Option<String>)>>(&mut self, notes: I) {
        self.0.extend(notes);
    }
}

impl IntoIterator for Notes {
    type Item = (String, Option<String>);
    type IntoIter = std::collections::btree_map::IntoIter<String, Option<String>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_as_it_shall_be_is_missing_and_nothing_is_once_it_is_written() {
        let there = Pairs::from([("a", "1"), ("b", "old"), ("c", "3"), ("theirs", "x")]);
        let wanted = Notes::default().with("a", "1").with("b", "2").without("c").without("d");
        let missing = wanted.clone().missing_from(&there);
        assert_eq!(missing, Notes::default().with("b", "2").without("c"));
        assert!(!wanted.stand_in(&there));
        let written = missing.written_on(&there);
        assert_eq!(written, Pairs::from([("a", "1"), ("b", "2"), ("theirs", "x")]));
        assert!(wanted.stand_in(&written) && wanted.missing_from(&written).is_empty());
    }

    #[test]
    fn notes_are_written_as_a_merge_patch_wants_them() {
        let notes = Notes::default().with("id", "85a2").without("address");
        assert_eq!(serde_json::to_string(&notes).unwrap(), r#"{"address":null,"id":"85a2"}"#);
    }
}
