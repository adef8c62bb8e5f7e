//! Lists of Octavia's objects: filters, pages, sorting, field selection.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::errors::{bad_limit, bad_request};
use crate::cloud::World;
use crate::config::Service;
use crate::http::json::{selected, to_map};
use crate::http::{ApiResponse, Call, Query, Refusal, Reply};
use crate::listing::{Filters, SortKey, TagFilter, Window, page};
use crate::table::{Row, Table};

/// Parameters that are no filters.
const RESERVED: [&str; 7] = ["limit", "marker", "page_reverse", "sort", "sort_key", "sort_dir", "fields"];

/// How one kind of object is listed.
pub(super) struct Listing<'a, T> {
    /// Its name in bodies.
    pub(super) name: &'static str,
    pub(super) table: &'a Table<T>,
    /// Attributes that the table has an index for.
    pub(super) indexed: &'a [&'static str],
    /// Only rows with this value of an indexed attribute belong to the list.
    pub(super) within: Option<(&'static str, &'a str)>,
    pub(super) tags: &'a dyn Fn(&T) -> &[String],
    pub(super) visible: &'a dyn Fn(&T) -> bool,
    pub(super) render: &'a dyn Fn(&T) -> Value,
}

impl<T: Row + Serialize + Default> Listing<'_, T> {
    /// Answers a list request.
    pub(super) fn answer(&self, world: &World, call: &Call<'_>) -> Reply {
        let query = &call.request.query;
        let filters = Filters::of(query, &[&RESERVED[..], &TagFilter::NAMES[..]].concat());
        let known = to_map(&T::default());
        if filters.names().any(|name| !known.contains_key(name) && name != "tenant_id") {
            return Err(bad_request("One or more arguments are either duplicate or invalid"));
        }
        let indexed = self.indexed.iter();
        let candidates =
            indexed.filter_map(|name| Some(self.table.find_any(name, filters.values(name)?))).next();
        let candidates = candidates
            .or_else(|| self.within.map(|(attribute, value)| self.table.find(attribute, value).collect()));
        let tags = TagFilter::of(query);
        let attribute = |row: &T, name: &str| {
            let name = if name == "tenant_id" { "project_id" } else { name };
            to_map(row).remove(name).unwrap_or(Value::Null)
        };
        let keep = |row: &T| {
            (self.visible)(row)
                && tags.accepts((self.tags)(row))
                && filters.accept(|name| attribute(row, name))
        };
        let window = window(world, query)?;
        if let Some(key) = window.sort.iter().find(|key| !known.contains_key(&key.attribute)) {
            return Err(bad_request(&format!("Supplied sort key '{}' is not valid.", key.attribute)));
        }
        let rows = page(self.table, candidates, &window, &keep, &attribute).map_err(|_| {
            let marker = window.marker.as_deref().unwrap_or_default();
            bad_request(&format!("Supplied pagination marker '{marker}' is not valid."))
        })?;
        let fields: Vec<&str> = query.all("fields").filter(|field| !field.is_empty()).collect();
        let shown: Vec<Value> = rows.iter().map(|row| selected((self.render)(row), &fields)).collect();
        let ends = rows.first().zip(rows.last()).map(|(first, last)| (first.id(), last.id()));
        let links = links(world, call, ends, &window, rows.len());
        let mut body = Map::new();
        body.insert(self.name.to_owned(), Value::Array(shown));
        body.insert(format!("{}_links", self.name), Value::Array(links));
        Ok(ApiResponse::ok(Value::Object(body)))
    }
}

fn window(world: &World, query: &Query) -> Result<Window, Refusal> {
    let asked = match query.get("limit") {
        None => None,
        Some(text) => {
            let limit = text.parse::<usize>().map_err(|_| bad_limit(text))?;
            Some(limit).filter(|limit| *limit > 0)
        }
    };
    let limit = match (asked, world.config.load_balancer_page_max) {
        (Some(asked), Some(most)) => Some(most.min(asked)),
        (asked, most) => asked.or(most),
    };
    let joined = query.all("sort").flat_map(|keys| keys.split(','));
    let mut sort: Vec<SortKey> = joined
        .map(|key| {
            let (attribute, direction) = key.split_once(':').unwrap_or((key, "asc"));
            SortKey { attribute: attribute.to_owned(), descending: direction == "desc" }
        })
        .collect();
    let directions: Vec<&str> = query.all("sort_dir").collect();
    sort.extend(query.all("sort_key").enumerate().map(|(index, key)| SortKey {
        attribute: key.to_owned(),
        descending: directions.get(index).is_some_and(|direction| *direction == "desc"),
    }));
    Ok(Window {
        limit,
        marker: query.get("marker").filter(|marker| !marker.is_empty()).map(str::to_owned),
        backwards: query.is_true("page_reverse"),
        sort,
        ..Window::default()
    })
}

/// A full page links on, even if it is the last; a page after a marker links back.
fn links(
    world: &World,
    call: &Call<'_>,
    ends: Option<(&str, &str)>,
    window: &Window,
    count: usize,
) -> Vec<Value> {
    let (Some(limit), Some((first, last))) = (window.limit, ends) else { return Vec::new() };
    // Octavia forgets the filters: who follows its links gets everything. Only the marker is of use.
    let kept = || {
        call.request
            .query
            .pairs()
            .filter(|(name, _)| matches!(*name, "limit" | "sort" | "sort_key" | "sort_dir"))
    };
    let base = world.config.base(Service::LoadBalancer);
    let path = call.request.path.trim_end_matches('/');
    let mut links = Vec::new();
    let full = count >= limit;
    if if window.backwards { window.marker.is_some() } else { full } {
        let query = Query::write(kept().chain([("marker", last)]));
        links.push(json!({"href": format!("{base}{path}?{query}"), "rel": "next"}));
    }
    if if window.backwards { full } else { window.marker.is_some() } {
        let query = Query::write(kept().chain([("marker", first), ("page_reverse", "True")]));
        links.push(json!({"href": format!("{base}{path}?{query}"), "rel": "previous"}));
    }
    links
}
