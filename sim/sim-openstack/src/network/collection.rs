//! Lists of Neutron's objects: filters, pages with links both ways, sorting, field selection.

use std::cell::OnceCell;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::errors::{bad_request, missing};
use super::model::Standard;
use crate::cloud::World;
use crate::config::Service;
use crate::http::json::{selected, to_map};
use crate::http::{ApiResponse, Call, Query, Reply};
use crate::listing::{Filters, SortKey, TagFilter, Window, page};
use crate::table::Table;

/// Parameters that are no filters.
const RESERVED: [&str; 6] = ["limit", "marker", "page_reverse", "sort_key", "sort_dir", "fields"];

/// How one kind of object is listed.
pub(super) struct Listing<'a, T> {
    /// Its path segment.
    pub(super) collection: &'static str,
    pub(super) table: &'a Table<T>,
    /// Attributes that the table has an index for.
    pub(super) indexed: &'a [&'static str],
    /// Attributes that are computed when shown.
    pub(super) computed: &'a [&'static str],
    pub(super) visible: &'a dyn Fn(&T) -> bool,
    pub(super) render: &'a dyn Fn(&T) -> Value,
    /// A filter with its own meaning.
    pub(super) special: Option<Special<'a, T>>,
}

/// A filter that is not simply an attribute.
#[derive(Clone, Copy)]
pub(super) struct Special<'a, T> {
    pub(super) name: &'static str,
    /// Whether a row has what the values ask for.
    pub(super) has: &'a dyn Fn(&T, &[String]) -> bool,
    /// The indexed attribute that such a row must have, if there is one.
    pub(super) index: fn(&[String]) -> Option<(&'static str, String)>,
}

/// The name of the list in bodies.
pub(super) fn body_name(collection: &str) -> String {
    collection.replace('-', "_")
}

impl<T: Standard + Serialize + Default> Listing<'_, T> {
    /// Answers a list request.
    pub(super) fn answer(&self, world: &World, call: &Call<'_>) -> Reply {
        let query = &call.request.query;
        let mut filters = Filters::of(query, &[&RESERVED[..], &TagFilter::NAMES[..]].concat());
        self.check_names(&filters)?;
        check_limit(query)?;
        self.check_sort_keys(query)?;
        let special = self.special.as_ref().and_then(|special| {
            let values = filters.values(special.name)?.to_vec();
            Some((special, values))
        });
        if let Some((special, _)) = &special {
            filters = filters.without(special.name);
        }
        let indexed = self.indexed.iter();
        let candidates =
            indexed.filter_map(|name| Some(self.table.find_any(name, filters.values(name)?))).next();
        let by_index = special.as_ref().and_then(|(special, values)| (special.index)(values));
        let candidates = candidates
            .or_else(|| by_index.map(|(attribute, value)| self.table.find(attribute, &value).collect()));
        let tags = TagFilter::of(query);
        let keep = |row: &T| {
            let rendered = OnceCell::new();
            let attribute = |name: &str| {
                let value: &Value = rendered.get_or_init(|| (self.render)(row));
                value.get(name).cloned().unwrap_or(Value::Null)
            };
            (self.visible)(row)
                && tags.accepts(row.tags())
                && special.as_ref().is_none_or(|(special, values)| (special.has)(row, values))
                && filters.accept(attribute)
        };
        let window = window(world, query);
        let sort_value = |row: &T, name: &str| (self.render)(row).get(name).cloned().unwrap_or(Value::Null);
        let rows = page(self.table, candidates, &window, &keep, &sort_value)
            .map_err(|_| missing(self.collection, window.marker.as_deref().unwrap_or_default()))?;
        let fields: Vec<&str> = query.all("fields").filter(|field| !field.is_empty()).collect();
        let shown: Vec<Value> = rows.iter().map(|row| selected((self.render)(row), &fields)).collect();
        let name = body_name(self.collection);
        let mut body = Map::new();
        body.insert(name.clone(), Value::Array(shown));
        if let (Some(first), Some(last), Some(limit)) = (rows.first(), rows.last(), window.limit) {
            let full = rows.len() >= limit;
            let links = links(world, call, (first.id(), last.id()), full, window.backwards);
            body.insert(format!("{name}_links"), links);
        }
        Ok(ApiResponse::ok(Value::Object(body)))
    }

    fn check_names(&self, filters: &Filters) -> Result<(), crate::http::Refusal> {
        self.check_attributes(filters.names(), "filtering")
    }

    fn check_sort_keys(&self, query: &Query) -> Result<(), crate::http::Refusal> {
        self.check_attributes(query.all("sort_key"), "sort_keys")
    }

    fn check_attributes<'q>(
        &self,
        names: impl Iterator<Item = &'q str>,
        purpose: &str,
    ) -> Result<(), crate::http::Refusal> {
        let known = to_map(&T::default());
        let unknown: Vec<&str> = names
            .filter(|name| {
                !known.contains_key(*name) && !self.computed.contains(name) && *name != "tenant_id"
            })
            .collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let quoted: Vec<String> = unknown.iter().map(|name| format!("'{name}'")).collect();
        let message = format!("[{}] is invalid attribute for {purpose}", quoted.join(", "));
        Err(bad_request("HTTPBadRequest", &message))
    }
}

/// A limit that is a number.
fn check_limit(query: &Query) -> Result<(), crate::http::Refusal> {
    match query.get("limit").filter(|limit| limit.parse::<usize>().is_err()) {
        None => Ok(()),
        Some(limit) => {
            let message =
                format!("Bad limit request: Limit must be an integer 0 or greater and not '{limit}'.");
            Err(bad_request("BadRequest", &message))
        }
    }
}

fn window(world: &World, query: &Query) -> Window {
    let asked = query.get("limit").and_then(|limit| limit.parse().ok()).filter(|limit| *limit > 0);
    let limit = match (asked, world.config.network_page_max) {
        (Some(asked), Some(most)) => Some(most.min(asked)),
        (asked, most) => asked.or(most),
    };
    let directions: Vec<&str> = query.all("sort_dir").collect();
    let descending = |index: usize| directions.get(index).is_some_and(|direction| *direction == "desc");
    let keys = query.all("sort_key").enumerate();
    let sort = keys.map(|(index, key)| SortKey { attribute: key.to_owned(), descending: descending(index) });
    Window {
        limit,
        marker: query.get("marker").filter(|marker| !marker.is_empty()).map(str::to_owned),
        backwards: query.is_true("page_reverse"),
        sort: sort.collect(),
        ..Window::default()
    }
}

/// Neutron links to both sides; only a page that is not full says that its side has ended.
fn links(world: &World, call: &Call<'_>, (first, last): (&str, &str), full: bool, backwards: bool) -> Value {
    let kept = || call.request.query.pairs().filter(|(name, _)| !matches!(*name, "marker" | "page_reverse"));
    let base = world.config.base(Service::Network);
    let path = call.request.path.trim_end_matches('/');
    let mut links = Vec::new();
    if full || backwards {
        let query = Query::write(kept().chain([("marker", last)]));
        links.push(json!({"rel": "next", "href": format!("{base}{path}?{query}")}));
    }
    if full || !backwards {
        let query = Query::write(kept().chain([("marker", first), ("page_reverse", "True")]));
        links.push(json!({"rel": "previous", "href": format!("{base}{path}?{query}")}));
    }
    Value::Array(links)
}
