//! Which fields a field selector may name for a kind, and their values.

use serde_json::Value;

use crate::object;
use crate::resource::Resource;
use crate::status::ApiError;

const EVENT: &[&str] = &[
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
];
const POD: &[&str] = &[
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.nominatedNodeName",
];

/// The path of a selectable field in the stored object.
pub(crate) fn stored_path(resource: &Resource, field: &str) -> Result<String, ApiError> {
    let of_kind: &[&str] = match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "nodes") => &["spec.unschedulable"],
        ("", "services") => &["spec.clusterIP", "spec.type"],
        ("", "namespaces") => &["status.phase"],
        ("", "secrets") => &["type"],
        ("", "pods") => POD,
        ("", "events") | ("events.k8s.io", "events") => EVENT,
        ("apps", "replicasets") | ("", "replicationcontrollers") => &["status.replicas"],
        ("batch", "jobs") => &["status.successful"],
        _ => &[],
    };
    let path = match field.strip_prefix("regarding.") {
        Some(rest) if resource.stored_in_core => format!("involvedObject.{rest}"),
        _ if resource.stored_in_core && field == "reportingController" => "reportingComponent".to_owned(),
        _ => field.to_owned(),
    };
    let general = path == "metadata.name" || (path == "metadata.namespace" && resource.namespaced);
    let custom = resource.selectable_fields.contains(&path);
    // Core kinds with a selector of their own accept metadata.namespace even without namespaces.
    if general || of_kind.contains(&path.as_str()) || custom || path == "metadata.namespace" {
        return Ok(path);
    }
    if of_kind.is_empty() && resource.builtin {
        let known = "only \"metadata.name\", \"metadata.namespace\"";
        return Err(ApiError::bad_request(format!("\"{field}\" is not a known field selector: {known}")));
    }
    Err(ApiError::bad_request(format!("field label not supported: {field}")))
}

/// The field's value as selectors compare it: "" where it is missing.
pub(crate) fn value(object: &Value, path: &str) -> String {
    let steps: Vec<&str> = path.split('.').collect();
    match (path, object::at(object, &steps)) {
        ("source", _) => match object::text(object, &["source", "component"]) {
            "" => object::text(object, &["reportingComponent"]).to_owned(),
            component => component.to_owned(),
        },
        (_, Some(Value::String(text))) => text.clone(),
        (_, Some(Value::Bool(truth))) => truth.to_string(),
        (_, Some(Value::Number(number))) => number.to_string(),
        ("spec.unschedulable" | "spec.hostNetwork", _) => "false".into(),
        _ => String::new(),
    }
}
