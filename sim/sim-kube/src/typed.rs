//! Typed kinds as a typed server reads them: fields that the type lacks are dropped, values of the wrong type are
//! refused. Custom resources pass as they are.

use k8s_openapi::api::{
    admissionregistration::v1 as admission, apps::v1 as apps, authentication::v1 as authentication,
    authorization::v1 as authorization, batch::v1 as batch, coordination::v1 as coordination,
    core::v1 as core, discovery::v1 as discovery, events::v1 as events, networking::v1 as networking,
    policy::v1 as policy, rbac::v1 as rbac, scheduling::v1 as scheduling, storage::v1 as storage,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::object;
use crate::resource::Resource;

/// An object as it is stored.
#[derive(Debug)]
pub(crate) struct Normal {
    pub(crate) value: Value,
    /// Paths of fields that the type does not have.
    pub(crate) unknown: Vec<String>,
}

/// Reads the object as its type.
///
/// # Errors
/// What is wrong, when a value does not fit the type.
pub(crate) fn normalised(resource: &Resource, value: Value) -> Result<Normal, String> {
    if !resource.builtin {
        return Ok(Normal { value, unknown: Vec::new() });
    }
    let Some(reader) = reader(&resource.kind, &resource.group) else {
        let mut value = value;
        object::strip_nulls(&mut value);
        return Ok(Normal { value, unknown: Vec::new() });
    };
    let mut read = reader(value.clone())?;
    let mut unknown = Vec::new();
    missing("", &value, &read, &mut unknown);
    if resource.group != "apiextensions.k8s.io" {
        drop_empty(&mut read);
    }
    add_always_there(resource, &mut read);
    Ok(Normal { value: read, unknown })
}

/// Fields that hold maps, which Go leaves out when they are empty; other objects are structs, which it keeps.
const MAPS: &[&str] = &[
    "labels",
    "annotations",
    "data",
    "binaryData",
    "stringData",
    "nodeSelector",
    "matchLabels",
    "capacity",
    "allocatable",
];

/// Leaves out what Go leaves out: empty lists and maps.
fn drop_empty(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(drop_empty);
            map.retain(|key, value| match value {
                Value::Array(items) => !items.is_empty() || key == "rules",
                Value::Object(inner) => !inner.is_empty() || !MAPS.contains(&key.as_str()),
                _ => true,
            });
        }
        Value::Array(items) => items.iter_mut().for_each(drop_empty),
        _ => {}
    }
}

/// Adds what Go's types always have and ours leave out.
fn add_always_there(resource: &Resource, value: &mut Value) {
    let missing: Vec<(&str, Value)> = match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Event") => vec![
            ("eventTime", Value::Null),
            ("firstTimestamp", Value::Null),
            ("lastTimestamp", Value::Null),
            ("source", json!({})),
            ("reportingComponent", json!("")),
            ("reportingInstance", json!("")),
        ],
        ("events.k8s.io", "Event") => vec![
            ("eventTime", Value::Null),
            ("deprecatedFirstTimestamp", Value::Null),
            ("deprecatedLastTimestamp", Value::Null),
            ("deprecatedSource", json!({})),
        ],
        ("coordination.k8s.io", "Lease") => vec![("spec", json!({}))],
        ("", "Node") => {
            let conditions = value.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
            for condition in conditions.into_iter().flatten().filter_map(Value::as_object_mut) {
                for time in ["lastHeartbeatTime", "lastTransitionTime"] {
                    condition.entry(time).or_insert(Value::Null);
                }
            }
            Vec::new()
        }
        _ => Vec::new(),
    };
    let map = object::map_of(value);
    for (key, empty) in missing {
        map.entry(key).or_insert(empty);
    }
}

type Reader = fn(Value) -> Result<Value, String>;

fn read<K: DeserializeOwned + Serialize>(value: Value) -> Result<Value, String> {
    let typed: K = serde_json::from_value(value).map_err(|error| format!("json: {error}"))?;
    serde_json::to_value(typed).map_err(|error| format!("json: {error}"))
}

fn reader(kind: &str, group: &str) -> Option<Reader> {
    Some(match (group, kind) {
        ("", _) => return core_reader(kind),
        ("events.k8s.io", "Event") => read::<events::Event>,
        ("coordination.k8s.io", "Lease") => read::<coordination::Lease>,
        ("apps", "Deployment") => read::<apps::Deployment>,
        ("apps", "DaemonSet") => read::<apps::DaemonSet>,
        ("apps", "ReplicaSet") => read::<apps::ReplicaSet>,
        ("apps", "StatefulSet") => read::<apps::StatefulSet>,
        ("batch", "Job") => read::<batch::Job>,
        ("batch", "CronJob") => read::<batch::CronJob>,
        ("rbac.authorization.k8s.io", "Role") => read::<rbac::Role>,
        ("rbac.authorization.k8s.io", "RoleBinding") => read::<rbac::RoleBinding>,
        ("rbac.authorization.k8s.io", "ClusterRole") => read::<rbac::ClusterRole>,
        ("rbac.authorization.k8s.io", "ClusterRoleBinding") => read::<rbac::ClusterRoleBinding>,
        ("policy", "PodDisruptionBudget") => read::<policy::PodDisruptionBudget>,
        ("discovery.k8s.io", "EndpointSlice") => read::<discovery::EndpointSlice>,
        ("networking.k8s.io", "Ingress") => read::<networking::Ingress>,
        ("networking.k8s.io", "IngressClass") => read::<networking::IngressClass>,
        ("networking.k8s.io", "NetworkPolicy") => read::<networking::NetworkPolicy>,
        ("scheduling.k8s.io", "PriorityClass") => read::<scheduling::PriorityClass>,
        ("storage.k8s.io", "StorageClass") => read::<storage::StorageClass>,
        ("apiextensions.k8s.io", _) => read::<apiextensions::CustomResourceDefinition>,
        ("authentication.k8s.io", "TokenReview") => read::<authentication::TokenReview>,
        ("authorization.k8s.io", "SubjectAccessReview") => read::<authorization::SubjectAccessReview>,
        ("authorization.k8s.io", "SelfSubjectAccessReview") => read::<authorization::SelfSubjectAccessReview>,
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => {
            read::<admission::ValidatingAdmissionPolicy>
        }
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding") => {
            read::<admission::ValidatingAdmissionPolicyBinding>
        }
        _ => return None,
    })
}

fn core_reader(kind: &str) -> Option<Reader> {
    Some(match kind {
        "Node" => read::<core::Node>,
        "Service" => read::<core::Service>,
        "Pod" => read::<core::Pod>,
        "Namespace" => read::<core::Namespace>,
        "Event" => read::<core::Event>,
        "ConfigMap" => read::<core::ConfigMap>,
        "Secret" => read::<core::Secret>,
        "ServiceAccount" => read::<core::ServiceAccount>,
        "Endpoints" => read::<core::Endpoints>,
        "PersistentVolume" => read::<core::PersistentVolume>,
        "PersistentVolumeClaim" => read::<core::PersistentVolumeClaim>,
        _ => return None,
    })
}

/// Collects the paths that `given` has and `read` lost.
fn missing(path: &str, given: &Value, read: &Value, lost: &mut Vec<String>) {
    match (given, read) {
        (Value::Object(given), Value::Object(read)) => {
            for (key, value) in given.iter().filter(|(_, value)| !value.is_null()) {
                let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match read.get(key) {
                    Some(found) => missing(&inner, value, found, lost),
                    None => lost.push(inner),
                }
            }
        }
        (Value::Array(given), Value::Array(read)) => {
            for (index, (given, read)) in given.iter().zip(read).enumerate() {
                missing(&format!("{path}[{index}]"), given, read, lost);
            }
        }
        _ => {}
    }
}
