//! One page of a table: from a marker on, without looking at what is before it.

use std::cmp::Ordering;

use serde_json::Value;

use crate::table::{Row, Table};

/// One attribute to sort by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SortKey {
    pub(crate) attribute: String,
    pub(crate) descending: bool,
}

/// Which part of a list is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) limit: Option<usize>,
    pub(crate) marker: Option<String>,
    /// The page before the marker instead of the one after it.
    pub(crate) backwards: bool,
    /// The table's own order, reversed.
    pub(crate) newest_first: bool,
    pub(crate) sort: Vec<SortKey>,
}

/// The marker is no row of this list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MarkerNotFound;

/// The rows of one page, in the order of the list.
pub(crate) fn page<'a, T: Row>(
    table: &'a Table<T>,
    candidates: Option<Vec<&'a T>>,
    window: &Window,
    keep: &dyn Fn(&T) -> bool,
    attribute: &dyn Fn(&T, &str) -> Value,
) -> Result<Vec<&'a T>, MarkerNotFound> {
    let marker = match &window.marker {
        None => None,
        Some(id) => Some(table.get(id).ok_or(MarkerNotFound)?),
    };
    let limit = window.limit.unwrap_or(usize::MAX);
    if window.sort.is_empty() && candidates.is_none() {
        let position = marker.map(Row::order_key);
        let rows = table.from_position(position.as_ref(), window.backwards != window.newest_first);
        let mut rows: Vec<&T> = rows.filter(|row| keep(row)).take(limit).collect();
        if window.backwards {
            rows.reverse();
        }
        return Ok(rows);
    }
    let mut rows: Vec<&T> = match candidates {
        Some(candidates) => candidates.into_iter().filter(|row| keep(row)).collect(),
        None => table.from_position(None, false).filter(|row| keep(row)).collect(),
    };
    sort(&mut rows, window, attribute);
    Ok(cut(rows, marker.map(Row::id), window.backwards, limit))
}

fn sort<T: Row>(rows: &mut [&T], window: &Window, attribute: &dyn Fn(&T, &str) -> Value) {
    rows.sort_by_cached_key(|row| row.order_key());
    if window.newest_first {
        rows.reverse();
    }
    for key in window.sort.iter().rev() {
        rows.sort_by(|a, b| {
            let order = compare(&attribute(a, &key.attribute), &attribute(b, &key.attribute));
            if key.descending { order.reverse() } else { order }
        });
    }
}

/// What follows (or precedes) the marker in a sorted list.
fn cut<'a, T: Row>(rows: Vec<&'a T>, marker: Option<&str>, backwards: bool, limit: usize) -> Vec<&'a T> {
    let position = marker.and_then(|id| rows.iter().position(|row| row.id() == id));
    match (position, backwards) {
        (Some(position), false) => rows.into_iter().skip(position + 1).take(limit).collect(),
        (Some(position), true) => {
            let skipped = position.saturating_sub(limit);
            rows.into_iter().take(position).skip(skipped).collect()
        }
        (None, false) => rows.into_iter().take(limit).collect(),
        (None, true) => {
            let skipped = rows.len().saturating_sub(limit);
            rows.into_iter().skip(skipped).collect()
        }
    }
}

/// An order of JSON values that is total: null first, then by kind.
fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Number(a), Value::Number(b)) => {
            a.as_f64().unwrap_or_default().total_cmp(&b.as_f64().unwrap_or_default())
        }
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (a, b) => a.to_string().cmp(&b.to_string()),
    }
}
