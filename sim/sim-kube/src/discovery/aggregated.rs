//! Aggregated discovery (`apidiscovery.k8s.io/v2`): everything in two answers.

use serde_json::{Value, json};

use super::{STATUS_VERBS, subresources, verbs};
use crate::core::Outcome;
use crate::request::ApiRequest;
use crate::resource::{Registry, Resource};

const CONTENT_TYPE: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

pub(super) fn is_asked(request: &ApiRequest) -> bool {
    request.accept.split(',').any(|clause| {
        let parts: Vec<&str> = clause.split(';').map(str::trim).collect();
        ["application/json", "g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"]
            .iter()
            .all(|part| parts.contains(part))
    })
}

pub(super) fn answer(registry: &Registry, core: bool) -> Outcome {
    let items: Vec<Value> = registry
        .groups()
        .iter()
        .filter(|(group, _)| group.is_empty() == core)
        .map(|(group, versions)| group_item(registry, group, versions))
        .collect();
    let body = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items,
    });
    Outcome::Json { code: 200, body, content_type: CONTENT_TYPE, warnings: Vec::new() }
}

fn group_item(registry: &Registry, group: &str, versions: &[String]) -> Value {
    let versions: Vec<Value> = versions
        .iter()
        .map(|version| {
            let resources: Vec<Value> = registry
                .all()
                .filter(|resource| resource.group == group && resource.version == *version)
                .map(|resource| resource_item(resource))
                .collect();
            json!({"version": version, "resources": resources, "freshness": "Current"})
        })
        .collect();
    let meta = if group.is_empty() { json!({}) } else { json!({"name": group}) };
    json!({"metadata": meta, "versions": versions})
}

fn resource_item(resource: &Resource) -> Value {
    let kind =
        |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
    let below: Vec<Value> = subresources(resource)
        .into_iter()
        .map(|(name, below_kind, group, version)| {
            json!({"subresource": name, "responseKind": kind(group, version, &below_kind), "verbs": STATUS_VERBS})
        })
        .collect();
    let mut item = json!({
        "resource": resource.plural,
        "responseKind": kind("", "", &resource.kind), // the group and version are those of the list
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": verbs(resource),
    });
    let map = crate::object::map_of(&mut item);
    for (key, list) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
        if !list.is_empty() {
            map.insert(key.into(), json!(list));
        }
    }
    if !below.is_empty() {
        map.insert("subresources".into(), json!(below));
    }
    item
}
