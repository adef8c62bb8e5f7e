//! Secondary indexes: from a value computed from the projection to the keys that have it.
//!
//! An index function receives only the projection, so an unchanged projection cannot change an index.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::ObjectKey;

type Values<P> = Box<dyn Fn(&P) -> Vec<String> + Send + Sync>;

struct Index<P> {
    values: Values<P>,
    keys: BTreeMap<String, BTreeSet<ObjectKey>>,
}

/// All indexes of one store, by name.
pub(super) struct Indexes<P>(BTreeMap<&'static str, Index<P>>);

impl<P> Default for Indexes<P> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<P> fmt::Debug for Indexes<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

impl<P> Indexes<P> {
    /// Declares an index. Must be called before the first object is added.
    pub(super) fn declare(&mut self, name: &'static str, values: Values<P>) {
        self.0.insert(name, Index { values, keys: BTreeMap::new() });
    }

    /// Moves `key` from the values of its old projection to those of its new one.
    pub(super) fn update(&mut self, key: &ObjectKey, old: Option<&P>, new: Option<&P>) {
        for index in self.0.values_mut() {
            for value in old.into_iter().flat_map(&index.values) {
                if let Some(keys) = index.keys.get_mut(&value) {
                    keys.remove(key);
                    if keys.is_empty() {
                        index.keys.remove(&value);
                    }
                }
            }
            for value in new.into_iter().flat_map(&index.values) {
                index.keys.entry(value).or_default().insert(key.clone());
            }
        }
    }

    /// The keys that have `value` in the index `name`, in order; `None` if no such index was declared.
    pub(super) fn find(&self, name: &str, value: &str) -> Option<impl Iterator<Item = &ObjectKey>> {
        let index = self.0.get(name)?;
        Some(index.keys.get(value).into_iter().flatten())
    }
}
