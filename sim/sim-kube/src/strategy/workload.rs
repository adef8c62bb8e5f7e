//! Pods and workloads: the defaults that people see. No controller runs them.

use serde_json::{Value, json};

use crate::object::map_at;
use crate::resource::Resource;

pub(super) fn default_new(resource: &Resource, object: &mut Value) {
    match resource.plural.as_str() {
        "pods" => {
            default_pod(object, &["spec"]);
            crate::object::map_of(object)
                .insert("status".into(), json!({"phase": "Pending", "qosClass": "BestEffort"}));
        }
        _ => {
            default_change(resource, object);
            crate::object::map_of(object).insert("status".into(), empty_status(resource));
        }
    }
}

pub(super) fn default_change(resource: &Resource, object: &mut Value) {
    if resource.plural == "controllerrevisions" {
        return;
    }
    let spec = map_at(object, &["spec"]);
    // An empty strategy is as good as none.
    spec.retain(|key, value| !key.ends_with("trategy") || *value != json!({}));
    if resource.has_scale {
        spec.entry("replicas").or_insert_with(|| json!(1));
    }
    match resource.plural.as_str() {
        "deployments" => {
            spec.entry("strategy").or_insert_with(|| {
                json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}})
            });
            spec.entry("revisionHistoryLimit").or_insert_with(|| json!(10));
            spec.entry("progressDeadlineSeconds").or_insert_with(|| json!(600));
        }
        "daemonsets" => {
            spec.entry("updateStrategy").or_insert_with(
                || json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}),
            );
            spec.entry("revisionHistoryLimit").or_insert_with(|| json!(10));
        }
        "statefulsets" => {
            spec.entry("podManagementPolicy").or_insert_with(|| json!("OrderedReady"));
            spec.entry("updateStrategy")
                .or_insert_with(|| json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}));
            spec.entry("revisionHistoryLimit").or_insert_with(|| json!(10));
        }
        _ => {}
    }
    default_pod(object, &["spec", "template", "spec"]);
}

/// Defaults of a pod's spec at a path.
fn default_pod(object: &mut Value, path: &[&str]) {
    let spec = map_at(object, path);
    for (key, value) in [
        ("restartPolicy", json!("Always")),
        ("dnsPolicy", json!("ClusterFirst")),
        ("schedulerName", json!("default-scheduler")),
        ("terminationGracePeriodSeconds", json!(30)),
        ("securityContext", json!({})),
    ] {
        spec.entry(key).or_insert(value);
    }
    let containers = ["containers", "initContainers"];
    for container in
        containers.iter().filter_map(|key| spec.get(*key).cloned().map(|_| *key)).collect::<Vec<_>>()
    {
        let list = spec.get_mut(container).and_then(Value::as_array_mut);
        list.into_iter().flatten().for_each(default_container);
    }
}

fn default_container(container: &mut Value) {
    let image = crate::object::text(container, &["image"]).to_owned();
    let last = image.rsplit('/').next().unwrap_or_default();
    let latest = !image.contains('@') && (!last.contains(':') || last.ends_with(":latest"));
    let map = crate::object::map_of(container);
    map.entry("imagePullPolicy").or_insert_with(|| json!(if latest { "Always" } else { "IfNotPresent" }));
    map.entry("resources").or_insert_with(|| json!({}));
    map.entry("terminationMessagePath").or_insert_with(|| json!("/dev/termination-log"));
    map.entry("terminationMessagePolicy").or_insert_with(|| json!("File"));
    for port in map.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        crate::object::map_of(port).entry("protocol").or_insert_with(|| json!("TCP"));
    }
}

/// The counts that the type always has.
fn empty_status(resource: &Resource) -> Value {
    match resource.plural.as_str() {
        "daemonsets" => json!({
            "currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0,
        }),
        "replicasets" => json!({"replicas": 0}),
        "statefulsets" => json!({"replicas": 0, "availableReplicas": 0}),
        _ => json!({}),
    }
}
