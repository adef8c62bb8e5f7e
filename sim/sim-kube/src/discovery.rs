//! What clients learn about the API itself: versions, groups and resources, in the old and the aggregated form.

use serde_json::{Value, json};

use crate::core::Outcome;
use crate::request::ApiRequest;
use crate::resource::{Registry, Resource};
use crate::status::ApiError;

mod aggregated;

const VERBS: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const CUSTOM_VERBS: &[&str] =
    &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
const STATUS_VERBS: &[&str] = &["get", "patch", "update"];

/// The version whose behaviour is shown.
pub(crate) fn version() -> Value {
    json!({
        "major": "1", "minor": "37", "gitVersion": "v1.37.1+sim", "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "2026-01-01T00:00:00Z", "goVersion": "", "compiler": "", "platform": "sim/memory",
        "emulationMajor": "1", "emulationMinor": "36", "minCompatibilityMajor": "1", "minCompatibilityMinor": "35",
    })
}

pub(crate) fn core_versions(registry: &Registry, request: &ApiRequest) -> Outcome {
    if aggregated::is_asked(request) {
        return aggregated::answer(registry, true);
    }
    Outcome::json(
        200,
        json!({
            "kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}],
        }),
    )
}

pub(crate) fn groups(registry: &Registry, request: &ApiRequest) -> Outcome {
    if aggregated::is_asked(request) {
        return aggregated::answer(registry, false);
    }
    let groups: Vec<Value> = registry
        .groups()
        .iter()
        .filter(|(group, _)| !group.is_empty())
        .map(|(group, versions)| group_body(group, versions))
        .collect();
    Outcome::json(200, json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
}

fn group_body(group: &str, versions: &[String]) -> Value {
    let entry = |version: &String| json!({"groupVersion": format!("{group}/{version}"), "version": version});
    json!({
        "name": group,
        "versions": versions.iter().map(entry).collect::<Vec<_>>(),
        "preferredVersion": versions.first().map(entry),
    })
}

pub(crate) fn group(registry: &Registry, group: &str) -> Outcome {
    match registry.groups().get(group) {
        Some(versions) if !group.is_empty() => {
            let mut body = group_body(group, versions);
            let map = crate::object::map_of(&mut body);
            map.insert("kind".into(), json!("APIGroup"));
            map.insert("apiVersion".into(), json!("v1"));
            Outcome::json(200, body)
        }
        _ => Outcome::page_not_found(),
    }
}

pub(crate) fn resources(registry: &Registry, group: &str, version: &str) -> Outcome {
    let of_version: Vec<&Resource> = registry
        .all()
        .map(AsRef::as_ref)
        .filter(|resource| resource.group == group && resource.version == version)
        .collect();
    if of_version.is_empty() {
        if registry.groups().contains_key(group) {
            return Outcome::error(&ApiError::no_such_resource());
        }
        return Outcome::page_not_found();
    }
    let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let rows: Vec<Value> = of_version.iter().flat_map(|resource| rows(resource)).collect();
    let mut body = json!({"kind": "APIResourceList", "groupVersion": api_version, "resources": rows});
    if !group.is_empty() {
        crate::object::map_of(&mut body).insert("apiVersion".into(), json!("v1"));
    }
    Outcome::json(200, body)
}

/// The resource and its subresources.
fn rows(resource: &Resource) -> Vec<Value> {
    let mut main = json!({
        "name": resource.plural, "singularName": resource.singular, "namespaced": resource.namespaced,
        "kind": resource.kind, "verbs": verbs(resource),
    });
    let map = crate::object::map_of(&mut main);
    if !resource.short_names.is_empty() {
        map.insert("shortNames".into(), json!(resource.short_names));
    }
    if !resource.categories.is_empty() {
        map.insert("categories".into(), json!(resource.categories));
    }
    let mut rows = vec![main];
    for (name, kind, group, version) in subresources(resource) {
        let mut row = json!({
            "name": format!("{}/{name}", resource.plural), "singularName": "",
            "namespaced": resource.namespaced, "kind": kind, "verbs": STATUS_VERBS,
        });
        if !group.is_empty() {
            let map = crate::object::map_of(&mut row);
            map.insert("group".into(), json!(group));
            map.insert("version".into(), json!(version));
        }
        rows.push(row);
    }
    rows
}

fn verbs(resource: &Resource) -> Vec<&'static str> {
    if resource.virtual_only {
        return vec!["create"];
    }
    if !resource.builtin {
        return CUSTOM_VERBS.to_vec();
    }
    let whole = !resource.is("", "namespaces");
    VERBS.iter().copied().filter(|verb| whole || *verb != "deletecollection").collect()
}

/// Name, kind, group and version of each subresource.
fn subresources(resource: &Resource) -> Vec<(&'static str, String, &'static str, &'static str)> {
    let mut found = Vec::new();
    if resource.has_scale {
        found.push(("scale", "Scale".to_owned(), "autoscaling", "v1"));
    }
    if resource.has_status {
        found.push(("status", resource.kind.clone(), "", ""));
    }
    found
}
