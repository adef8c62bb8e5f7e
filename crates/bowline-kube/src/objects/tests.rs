//! The projections have the API's own names, and take what API servers write.

use k8s_openapi::api::{apps::v1 as apps, core::v1 as core};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;

fn pod_spec() -> Value {
    let named = json!({ "name": "x" });
    json!({
        "nodeName": "worker-1",
        "nodeSelector": { "a": "b" },
        "serviceAccountName": "ccm",
        "containers": [{
            "name": "c", "image": "i", "command": ["/bowline"], "args": ["ccm"],
            "env": [{ "name": "V", "valueFrom": {
                "configMapKeyRef": { "name": "x", "key": "k" }, "secretKeyRef": { "name": "x", "key": "k" },
            } }],
            "envFrom": [{ "configMapRef": named, "secretRef": named }],
            "volumeMounts": [{ "name": "v", "mountPath": "/etc/x", "subPath": "cloud.conf" }],
        }],
        "initContainers": [],
        "volumes": [{
            "name": "v",
            "configMap": { "name": "x", "items": [{ "key": "k", "path": "p" }] },
            "secret": { "secretName": "x", "items": [{ "key": "k", "path": "p" }] },
            "projected": { "sources": [{ "configMap": named, "secret": named }] },
            "csi": { "driver": "d", "nodePublishSecretRef": named },
        }],
    })
}

fn pod() -> Value {
    let time = "2026-11-01T08:00:00Z";
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p" }, "spec": pod_spec(),
        "status": {
            "phase": "Running", "startTime": time, "conditions": [{ "type": "Ready", "status": "True" }],
            "containerStatuses": [{
                "name": "c", "image": "i", "imageID": "i", "ready": true, "restartCount": 2, "state": { "running": { "startedAt": time } },
            }],
        },
    })
}

fn deployment() -> Value {
    let template = json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [] } });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "d", "generation": 3 },
        "spec": { "replicas": 2, "selector": { "matchLabels": { "a": "b" } }, "template": template },
        "status": { "observedGeneration": 3, "readyReplicas": 2, "conditions": [
            { "type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "message": "m" },
        ] },
    })
}

fn daemon_set() -> Value {
    let template = json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [] } });
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": { "name": "d" },
        "spec": { "selector": { "matchLabels": { "a": "b" } }, "template": template },
        "status": {
            "observedGeneration": 1, "currentNumberScheduled": 3, "desiredNumberScheduled": 4, "numberMisscheduled": 0, "numberReady": 2,
            "updatedNumberScheduled": 1,
        },
    })
}

fn node() -> Value {
    let mut node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n" },
        "spec": { "providerID": "openstack:///1", "taints": [{ "key": "k", "value": "v", "effect": "NoSchedule" }] },
        "status": {
            "addresses": [{ "type": "InternalIP", "address": "192.0.2.1" }],
            "conditions": [{ "type": "Ready", "status": "True" }],
        },
    });
    let all = [
        "architecture",
        "bootID",
        "containerRuntimeVersion",
        "kernelVersion",
        "kubeProxyVersion",
        "kubeletVersion",
        "machineID",
        "operatingSystem",
        "osImage",
        "systemUUID",
    ];
    node["status"]["nodeInfo"] = all.into_iter().map(|name| (name.to_owned(), json!(name))).collect();
    node
}

fn service() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "s", "namespace": "n" },
        "spec": { "type": "LoadBalancer", "loadBalancerClass": "c" },
        "status": {
            "loadBalancer": { "ingress": [{ "ip": "192.0.2.1", "hostname": "h" }] },
            "conditions": [{
                "type": "t", "status": "True", "reason": "r", "message": "m", "lastTransitionTime": "2026-11-01T08:00:00Z", "observedGeneration": 1,
            }],
        },
    })
}

/// What k8s-openapi reads of an object, written again: a name that the API does not have is not in it.
fn known_to_the_api<T: DeserializeOwned + Serialize>(object: &Value) -> Value {
    serde_json::to_value(serde_json::from_value::<T>(object.clone()).unwrap()).unwrap()
}

/// Nothing of it was left at its default.
fn is_whole(read: &impl std::fmt::Debug) {
    let read = format!("{read:?}");
    assert!(!read.contains("None") && !read.contains("\"\""), "{read}");
}

#[test]
fn every_field_is_read_under_the_name_that_the_api_gives_it() {
    assert_eq!(known_to_the_api::<core::Pod>(&pod()), pod());
    assert_eq!(known_to_the_api::<apps::Deployment>(&deployment()), deployment());
    assert_eq!(known_to_the_api::<apps::DaemonSet>(&daemon_set()), daemon_set());
    assert_eq!(known_to_the_api::<core::Node>(&node()), node());
    assert_eq!(known_to_the_api::<core::Service>(&service()), service());

    let Pod { spec, status, .. } = serde_json::from_value(pod()).unwrap();
    is_whole(&(spec, status));
    let Service { spec, status, .. } = serde_json::from_value(service()).unwrap();
    is_whole(&(spec, status));
    let Node { spec, status, .. } = serde_json::from_value(node()).unwrap();
    let spec = spec.unwrap();
    is_whole(&(&spec.provider_id, status));
    assert_eq!(serde_json::to_value(spec.taints).unwrap(), node()["spec"]["taints"], "can be written back");
    let deployment: Deployment = serde_json::from_value(deployment()).unwrap();
    let spec = deployment.spec.unwrap();
    assert_eq!((spec.replicas, spec.selector.match_labels.map(|all| all.len())), (Some(2), Some(1)));
    assert!(spec.template.metadata.is_some() && spec.template.spec.is_some());
    is_whole(&deployment.status);
    let daemon_set: DaemonSet = serde_json::from_value(daemon_set()).unwrap();
    let status = daemon_set.status.unwrap();
    assert_eq!(
        (status.current_number_scheduled, status.desired_number_scheduled, status.number_ready),
        (3, 4, 2)
    );
    assert_eq!((status.observed_generation, status.updated_number_scheduled), (Some(1), Some(1)));
}

#[test]
fn what_is_missing_or_null_is_none_as_the_api_has_it() {
    let pod: Pod = serde_json::from_value(json!({
        "metadata": { "name": "p", "creationTimestamp": null },
        "spec": { "containers": null, "volumes": null },
        "status": { "startTime": null, "conditions": null },
    }))
    .unwrap();
    assert_eq!(pod.spec, Some(PodSpec::default()));
    assert!(pod.status.is_some_and(|status| status.phase.is_none() && status.start_time.is_none()));
    let deployment: Deployment =
        serde_json::from_value(json!({ "metadata": {}, "spec": {}, "status": {} })).unwrap();
    assert!(deployment.spec.is_some_and(|spec| spec.replicas.is_none() && spec.template.spec.is_none()));
    let unfit = serde_json::from_value::<Pod>(json!({ "spec": { "containers": [{ "args": "one" }] } }));
    assert!(unfit.is_err(), "what is no list is not taken for none");
}
