//! A table of rows in memory: sorted, with an order for pages and indexes for frequent lookups.
//!
//! A page starts at its marker without looking at what is before it. Rows change only through [`Table::update`], so that
//! the indexes stay right.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// Where a row stands in the order of its table.
pub type OrderKey = (String, String);

/// What a table needs to know of its rows.
pub trait Row {
    /// Its identifier.
    fn id(&self) -> &str;
    /// The project that owns it.
    fn project_id(&self) -> &str;
    /// Where it stands in lists; must never change. By identifier, as in Neutron, unless said otherwise.
    fn order_key(&self) -> OrderKey {
        (String::new(), self.id().to_owned())
    }
    /// The attributes by which it is often looked up, with their present values.
    fn index_keys(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// Rows by identifier.
#[derive(Clone, Debug)]
pub struct Table<T> {
    rows: BTreeMap<String, T>,
    order: BTreeMap<OrderKey, String>,
    index: BTreeMap<(&'static str, String), BTreeSet<String>>,
    counts: BTreeMap<String, usize>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        let (rows, order) = (BTreeMap::new(), BTreeMap::new());
        Self { rows, order, index: BTreeMap::new(), counts: BTreeMap::new() }
    }
}

impl<T: Row> Table<T> {
    /// The row with this identifier.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&T> {
        self.rows.get(id)
    }

    /// Whether there is such a row.
    #[must_use]
    pub fn contains(&self, id: &str) -> bool {
        self.rows.contains_key(id)
    }

    /// Adds a row; one with the same identifier is replaced.
    pub fn insert(&mut self, row: T) {
        self.remove(row.id());
        self.link(&row);
        self.rows.insert(row.id().to_owned(), row);
    }

    /// Changes a row in place; none if there is no such row.
    pub fn update<R>(&mut self, id: &str, change: impl FnOnce(&mut T) -> R) -> Option<R> {
        let mut row = self.rows.remove(id)?;
        self.unlink(&row);
        let result = change(&mut row);
        self.link(&row);
        self.rows.insert(row.id().to_owned(), row);
        Some(result)
    }

    /// Takes a row out.
    pub fn remove(&mut self, id: &str) -> Option<T> {
        let row = self.rows.remove(id)?;
        self.unlink(&row);
        Some(row)
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// How many rows a project owns.
    #[must_use]
    pub fn count_of(&self, project_id: &str) -> usize {
        self.counts.get(project_id).copied().unwrap_or(0)
    }

    /// All rows by identifier.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.rows.values()
    }

    /// The rows after (or, when `backwards`, before) a position in the table's order, nearest first.
    pub fn from_position<'a>(
        &'a self,
        position: Option<&OrderKey>,
        backwards: bool,
    ) -> Box<dyn Iterator<Item = &'a T> + 'a> {
        let row = |(_, id): (&OrderKey, &String)| self.rows.get(id);
        let edge = |key: Option<&OrderKey>| key.map_or(Bound::Unbounded, |key| Bound::Excluded(key.clone()));
        if backwards {
            Box::new(self.order.range((Bound::Unbounded, edge(position))).rev().filter_map(row))
        } else {
            Box::new(self.order.range((edge(position), Bound::Unbounded)).filter_map(row))
        }
    }

    /// The rows with a value of an attribute that [`Row::index_keys`] names, by identifier.
    pub fn find<'a>(&'a self, attribute: &'static str, value: &str) -> impl Iterator<Item = &'a T> + 'a {
        self.index
            .get(&(attribute, value.to_owned()))
            .into_iter()
            .flatten()
            .filter_map(|id| self.rows.get(id))
    }

    /// The rows with any of these values of an attribute that [`Row::index_keys`] names, each once, by identifier.
    #[must_use]
    pub fn find_any<'a>(&'a self, attribute: &'static str, values: &[String]) -> Vec<&'a T> {
        let found = values.iter().flat_map(|value| self.find(attribute, value));
        let by_id: BTreeMap<&str, &T> = found.map(|row| (row.id(), row)).collect();
        by_id.into_values().collect()
    }

    /// The identifiers of the rows that [`Table::find`] gives, for a loop that changes them.
    #[must_use]
    pub fn find_ids(&self, attribute: &'static str, value: &str) -> Vec<String> {
        self.index.get(&(attribute, value.to_owned())).into_iter().flatten().cloned().collect()
    }

    fn link(&mut self, row: &T) {
        self.order.insert(row.order_key(), row.id().to_owned());
        for key in row.index_keys() {
            self.index.entry(key).or_default().insert(row.id().to_owned());
        }
        *self.counts.entry(row.project_id().to_owned()).or_default() += 1;
    }

    fn unlink(&mut self, row: &T) {
        self.order.remove(&row.order_key());
        for key in row.index_keys() {
            if let Some(ids) = self.index.get_mut(&key) {
                ids.remove(row.id());
                if ids.is_empty() {
                    self.index.remove(&key);
                }
            }
        }
        if let Some(count) = self.counts.get_mut(row.project_id()) {
            *count = count.saturating_sub(1);
        }
    }
}
