//! Lists of servers: Nova's filters, pages and links.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use regex::Regex;
use serde_json::{Value, json};

use super::ComputeCall;
use super::errors::{bad_request, policy};
use super::model::Server;
use super::render::{self, View};
use crate::cloud::World;
use crate::config::Service;
use crate::http::{ApiResponse, Query, Refusal, Reply};
use crate::listing::{SortKey, TagFilter, Window, page};
use crate::table::Table;

/// Every parameter Nova knows here. Others are ignored before 2.75 and refused from there on.
const KNOWN: [&str; 36] = [
    "limit",
    "marker",
    "sort_key",
    "sort_dir",
    "all_tenants",
    "name",
    "display_name",
    "status",
    "vm_state",
    "flavor",
    "image",
    "host",
    "ip",
    "ip6",
    "tenant_id",
    "project_id",
    "user_id",
    "uuid",
    "availability_zone",
    "key_name",
    "changes-since",
    "changes-before",
    "deleted",
    "tags",
    "tags-any",
    "not-tags",
    "not-tags-any",
    "locked",
    "description",
    "power_state",
    "task_state",
    "reservation_id",
    "config_drive",
    "hostname",
    "node",
    "access_ip_v4",
];

/// What only the administrator could filter by before 2.83.
const ONLY_ADMIN_ONCE: [&str; 4] = ["availability_zone", "key_name", "user_id", "vm_state"];
/// What servers can be sorted by, in the order in which Nova says it.
#[rustfmt::skip]
const SORT_KEYS: [&str; 51] = [
    "access_ip_v4", "access_ip_v6", "auto_disk_config", "availability_zone", "config_drive", "created_at",
    "display_description", "display_name", "host", "hostname", "image_ref", "instance_type_id", "kernel_id",
    "key_name", "launch_index", "launched_at", "locked_by", "node", "power_state", "progress", "project_id",
    "ramdisk_id", "root_device_name", "task_state", "terminated_at", "updated_at", "user_id", "uuid", "vm_state",
    "architecture", "cell_name", "cleaned", "default_ephemeral_device", "default_swap_device", "deleted",
    "deleted_at", "disable_terminate", "ephemeral_gb", "ephemeral_key_uuid", "id", "key_data", "launched_on",
    "locked", "memory_mb", "os_type", "reservation_id", "root_gb", "shutdown_terminate", "user_data", "vcpus",
    "vm_mode",
];

/// `GET /servers` and `GET /servers/detail`.
pub(super) fn list(world: &World, call: &ComputeCall<'_>, detail: bool) -> Reply {
    let query = &call.call.request.query;
    let unknown = query.names().into_iter().find(|name| !KNOWN.contains(name));
    if let Some(unknown) = unknown.filter(|_| call.version.has(75)) {
        return Err(bad_request(&format!("'{unknown}' does not match any of the regexes: '^_'")));
    }
    let all = query.get("all_tenants").is_some_and(|value| value.is_empty() || query.is_true("all_tenants"));
    let action = if detail { "detail" } else { "index" };
    if call.call.caller.roles.is_empty() {
        return Err(policy(&format!("os_compute_api:servers:{action}")));
    }
    if all && !call.call.caller.is_admin() {
        return Err(policy(&format!("os_compute_api:servers:{action}:get_all_tenants")));
    }
    let window = window(world, query)?;
    let filter = Filter::of(query, call, all)?;
    let attribute = |server: &Server, name: &str| attribute(server, name);
    let with_deleted = filter.changes_since.map(|_| with_deleted(world, &filter, window.marker.as_deref()));
    let servers = with_deleted.as_ref().unwrap_or(&world.state.compute.servers);
    let rows =
        page(servers, None, &window, &|server| filter.accepts(world, server), &attribute).map_err(|_| {
            bad_request(&format!("marker [{}] not found", window.marker.as_deref().unwrap_or_default()))
        })?;
    let shown: Vec<Value> = rows.iter().map(|server| show(world, call, detail, server)).collect();
    let mut body = json!({"servers": shown});
    let full = window.limit.is_some_and(|limit| limit > 0 && rows.len() >= limit);
    if let (Some(last), Some(body)) = (rows.last().filter(|_| full), body.as_object_mut()) {
        body.insert(
            "servers_links".into(),
            json!([{"rel": "next", "href": next(world, query, detail, &last.id)}]),
        );
    }
    Ok(ApiResponse::ok(body))
}

/// What a list of changes is taken from: deleted servers are in it, for everybody. A marker need not be asked for to be one.
fn with_deleted(world: &World, filter: &Filter, marker: Option<&str>) -> Table<Server> {
    let compute = &world.state.compute;
    let mut table = Table::default();
    for server in compute.servers.iter().chain(compute.deleted.iter()) {
        if marker == Some(server.id.as_str()) || filter.accepts(world, server) {
            table.insert(server.clone());
        }
    }
    table
}

fn show(world: &World, call: &ComputeCall<'_>, detail: bool, server: &Server) -> Value {
    if detail {
        render::full(world, call.call.caller, call.version, View::List, server)
    } else {
        render::brief(world, server)
    }
}

fn window(world: &World, query: &Query) -> Result<Window, Refusal> {
    let limit = match query.get("limit") {
        None => world.config.compute_page_max,
        Some(text) => {
            let limit: usize = text.parse().map_err(|_| {
                bad_request(&format!("Invalid input for query parameters limit. Value: {text}. '{text}' does not match '^[0-9]*$'"))
            })?;
            limit.min(world.config.compute_page_max)
        }
    };
    if let Some(key) = query.all("sort_key").find(|key| !SORT_KEYS.contains(key)) {
        let known: Vec<String> = SORT_KEYS.iter().map(|key| format!("'{key}'")).collect();
        return Err(bad_request(&format!(
            "Invalid input for query parameters sort_key. Value: {key}. '{key}' is not one of [{}]",
            known.join(", ")
        )));
    }
    let directions: Vec<&str> = query.all("sort_dir").collect();
    let direction = |index: usize| directions.get(index).or(directions.last()).copied().unwrap_or("desc");
    let keys = query.all("sort_key").enumerate();
    let sort = keys
        .map(|(index, key)| SortKey { attribute: key.to_owned(), descending: direction(index) == "desc" })
        .collect();
    let marker = query.get("marker").filter(|marker| !marker.is_empty()).map(str::to_owned);
    Ok(Window { limit: Some(limit), marker, newest_first: true, sort, ..Window::default() })
}

/// The address of the next page: known parameters by name, the marker last.
fn next(world: &World, query: &Query, detail: bool, last: &str) -> String {
    let mut pairs: Vec<(&str, &str)> =
        query.pairs().filter(|(name, _)| *name != "marker" && KNOWN.contains(name)).collect();
    pairs.sort_by_key(|(name, _)| *name);
    pairs.push(("marker", last));
    let path = if detail { "servers/detail" } else { "servers" };
    // Of times, Nova writes the colons otherwise, too.
    let query = Query::write(pairs).replace(':', "%3A");
    format!("{}/v2.1/{path}?{query}", world.config.base(Service::Compute))
}

fn attribute(server: &Server, name: &str) -> Value {
    match name {
        "display_name" | "name" => json!(server.name),
        "uuid" | "id" => json!(server.id),
        "status" | "vm_state" => json!(server.vm_state.name()),
        "updated_at" => json!(crate::clock::zulu(server.updated)),
        "project_id" => json!(server.project_id),
        "user_id" => json!(server.user_id),
        "availability_zone" => json!(server.zone),
        "host" => json!(server.host),
        "key_name" => json!(server.key_name),
        _ => json!(server.order_key_text()),
    }
}

impl Server {
    fn order_key_text(&self) -> String {
        let (time, number) = crate::table::Row::order_key(self);
        format!("{time}/{number}")
    }
}

/// What a query asks for, made ready once for all rows.
struct Filter {
    project: Option<String>,
    name: Option<Regex>,
    ip: Option<Regex>,
    equal: Vec<(String, String)>,
    tags: TagFilter,
    changes_since: Option<Timestamp>,
}

impl Filter {
    fn of(query: &Query, call: &ComputeCall<'_>, all: bool) -> Result<Self, Refusal> {
        let regex = |name: &str| match query.get(name) {
            None => Ok(None),
            Some(text) => Regex::new(text).map(Some).map_err(|_| {
                bad_request(&format!(
                    "Invalid input for query parameters {name}. Value: {text}. '{text}' is not a 'regex'"
                ))
            }),
        };
        let named = query.get("project_id").or_else(|| query.get("tenant_id")).filter(|_| all);
        let project = match (all, named) {
            (false, _) => Some(call.call.caller.project_id.clone()),
            (true, named) => named.map(str::to_owned),
        };
        let equal = [
            "status",
            "vm_state",
            "flavor",
            "image",
            "host",
            "uuid",
            "availability_zone",
            "key_name",
            "user_id",
        ];
        // From 2.83 on members may ask for more; before, Nova leaves it out silently.
        let may_ask = |name: &&&str| {
            call.call.caller.is_admin() || call.version.has(83) || !ONLY_ADMIN_ONCE.contains(*name)
        };
        let equal = equal.iter().filter(may_ask);
        let equal = equal.filter_map(|name| Some(((*name).to_owned(), query.get(name)?.to_owned())));
        let tags = if call.version.has(26) { TagFilter::of(query) } else { TagFilter::default() };
        let name = regex(if query.get("name").is_some() { "name" } else { "display_name" })?;
        let ip = regex(if query.get("ip6").is_some() { "ip6" } else { "ip" })?;
        let changes_since = query.get("changes-since").map(moment).transpose()?;
        Ok(Self { project, name, ip, equal: equal.collect(), tags, changes_since })
    }

    fn accepts(&self, world: &World, server: &Server) -> bool {
        self.project.as_ref().is_none_or(|project| *project == server.project_id)
            && self.name.as_ref().is_none_or(|name| name.is_match(&server.name))
            && self.equal.iter().all(|(name, value)| equal(server, name, value))
            && self.tags.accepts(&server.tags)
            && self.changes_since.is_none_or(|since| server.updated.as_second() >= since.as_second())
            && self.ip.as_ref().is_none_or(|ip| has_address(world, server, ip))
    }
}

/// A time in a query; without a zone it is UTC.
fn moment(text: &str) -> Result<Timestamp, Refusal> {
    let zoned = text.parse::<Timestamp>().ok();
    let plain = || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    zoned.or_else(plain).ok_or_else(|| {
        bad_request(&format!(
            "Invalid input for query parameters changes-since. Value: {text}. '{text}' is not a 'date-time'"
        ))
    })
}

fn equal(server: &Server, name: &str, value: &str) -> bool {
    match name {
        "status" => render::status(server).eq_ignore_ascii_case(value),
        "vm_state" => server.vm_state.name() == value,
        "flavor" => server.flavor_id == value,
        "image" => server.image_id.as_deref() == Some(value),
        "host" => server.host == value,
        "uuid" => server.id == value,
        "availability_zone" => server.zone == value,
        "key_name" => server.key_name.as_deref() == Some(value),
        "user_id" => server.user_id == value,
        _ => true,
    }
}

fn has_address(world: &World, server: &Server, ip: &Regex) -> bool {
    let ports = world.state.network.ports.find("device_id", &server.id);
    ports.flat_map(|port| &port.fixed_ips).any(|fixed| ip.is_match(&fixed.ip_address))
}
