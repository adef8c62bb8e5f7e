//! OpenAPI as far as kubectl asks for it: which kinds exist and that their PATCH knows `fieldValidation`.
//! Describes no fields; the server itself checks them.

use serde_json::{Map, Value, json};

use crate::core::Outcome;
use crate::request::ApiRequest;
use crate::resource::{Registry, Resource};

const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

/// The old document. Without fields it is the same in every form: an empty protobuf message is a valid one.
pub(crate) fn v2(request: &ApiRequest) -> Outcome {
    if request.accept.contains("proto-openapi") {
        return Outcome::Empty { code: 200, content_type: PROTOBUF };
    }
    let info = json!({"title": "sim-kube", "version": "v1.37.1"});
    Outcome::json(200, json!({"swagger": "2.0", "info": info, "paths": {}, "definitions": {}}))
}

/// Where the document of each group and version is.
pub(crate) fn v3_index(registry: &Registry) -> Outcome {
    let mut paths = Map::new();
    for (group, versions) in registry.groups() {
        for version in versions {
            let path = base(&group, &version);
            let path = path.trim_start_matches('/');
            paths.insert(path.to_owned(), json!({"serverRelativeURL": format!("/openapi/v3/{path}")}));
        }
    }
    Outcome::json(200, json!({"paths": paths}))
}

/// The document of one group and version.
pub(crate) fn v3(registry: &Registry, group: &str, version: &str) -> Outcome {
    let mut paths = Map::new();
    let mut schemas = Map::new();
    for resource in registry.all().filter(|one| one.group == group && one.version == version) {
        let place = if resource.namespaced { "/namespaces/{namespace}" } else { "" };
        let path = format!("{}{place}/{}/{{name}}", base(group, version), resource.plural);
        paths.insert(path, json!({"patch": patch(resource), "put": patch(resource)}));
        schemas.insert(schema_name(resource), schema(resource));
    }
    if paths.is_empty() {
        return Outcome::page_not_found();
    }
    Outcome::json(
        200,
        json!({
            "openapi": "3.0.0", "info": {"title": "sim-kube", "version": "v1.37.1"},
            "paths": paths, "components": {"schemas": schemas},
        }),
    )
}

fn base(group: &str, version: &str) -> String {
    if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") }
}

fn kind(resource: &Resource) -> Value {
    json!({"group": resource.group, "version": resource.version, "kind": resource.kind})
}

fn patch(resource: &Resource) -> Value {
    let parameter =
        |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}});
    let names = ["dryRun", "fieldManager", "fieldValidation", "force"];
    json!({
        "parameters": names.iter().map(|name| parameter(name)).collect::<Vec<_>>(),
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": kind(resource),
    })
}

fn schema_name(resource: &Resource) -> String {
    let group = if resource.group.is_empty() { "core" } else { &resource.group };
    format!("sim.{group}.{}.{}", resource.version, resource.kind)
}

fn schema(resource: &Resource) -> Value {
    json!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "x-kubernetes-group-version-kind": [kind(resource)],
    })
}
