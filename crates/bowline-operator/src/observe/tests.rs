//! What is made of objects as the API server gives them.

use std::collections::BTreeMap;
use std::time::Duration;

use bowline_kube::objects::{DaemonSet, Deployment, Node, Pod, Service};
use k8s_openapi::api::core::v1::ConfigMap;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::*;
use crate::api::CloudControllerManagerSpec;
use crate::flags::Component;
use crate::migration::{ManagerMode, Readiness, WouldDo};

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_node_is_told_by_who_wrote_what() {
    let fields = |pointer: &str| match pointer {
        "spec" => json!({ "f:spec": { "f:providerID": {} } }),
        _ => json!({ "f:status": { "f:addresses": { "k:{\"type\":\"InternalIP\"}": {} } } }),
    };
    let entry = |manager: &str, time: &str, what: &str| json!({ "manager": manager, "operation": "Update", "time": time, "fieldsType": "FieldsV1", "fieldsV1": fields(what) });
    let node: Node = read(json!({
        "metadata": { "name": "a", "uid": "u", "labels": { "node-role.kubernetes.io/control-plane": "" },
            "annotations": { "alpha.kubernetes.io/provided-node-ip": "192.0.2.1", "bowline.dev/tainted-at": "2026-01-01T00:00:00Z",
                "k3s.io/node-args": "[\"server\",\"--disable-cloud-controller\"]" },
            "managedFields": [entry("kubelet", "2026-01-01T00:00:00Z", "status"), entry("bowline", "2026-01-02T00:00:00Z", "status"),
                entry("kubelet", "2026-01-01T00:00:00Z", "spec")] },
        "spec": { "providerID": "openstack:///x", "taints": [{ "key": "node.cloudprovider.kubernetes.io/uninitialized", "effect": "NoSchedule" }] },
        "status": { "addresses": [{ "type": "InternalIP", "address": "192.0.2.1" }, { "type": "Hostname", "address": "a" }],
            "conditions": [{ "type": "Ready", "status": "False" }] },
    }));
    let facts = node_facts(node);
    assert_eq!(
        (facts.addresses_writer.as_deref(), facts.provider_id_writer.as_deref()),
        (Some("bowline"), Some("kubelet"))
    );
    assert_eq!(facts.addresses, ["Hostname=a", "InternalIP=192.0.2.1"]);
    assert!(facts.uninitialized && facts.control_plane && facts.tainted_at.is_some());
    assert_eq!((facts.readiness, facts.node_args.map(|all| all.len())), (Readiness::NotReady, Some(2)));
    assert_eq!(node_facts(read(json!({ "metadata": { "name": "b" } }))).readiness, Readiness::Unknown);
}

#[test]
fn services_without_a_load_balancer_are_nothing_to_us() {
    let service = |type_: &str, finalizers: Value| -> Service {
        read(
            json!({ "metadata": { "name": "web", "namespace": "n", "finalizers": finalizers }, "spec": { "type": type_ },
            "status": { "loadBalancer": { "ingress": [{ "ip": "192.0.2.1" }, { "hostname": "h" }] } } }),
        )
    };
    assert!(service_facts(service("ClusterIP", json!([]))).is_none());
    assert!(
        service_facts(service("ClusterIP", json!([CLEANUP_FINALIZER])))
            .is_some_and(|facts| facts.has_finalizer)
    );
    let facts = service_facts(service("LoadBalancer", json!([]))).unwrap();
    assert_eq!(
        (facts.key().as_str(), facts.ingress),
        ("n/web", vec!["192.0.2.1".to_owned(), "h".to_owned()])
    );
}

#[test]
fn only_mirror_pods_of_the_control_plane_are_taken_for_it() {
    let pod = |mirror: bool, command: Value| -> Pod {
        let annotations = if mirror { json!({ "kubernetes.io/config.mirror": "x" }) } else { json!({}) };
        read(json!({ "metadata": { "name": "kcm-a", "annotations": annotations },
            "spec": { "nodeName": "a", "containers": [{ "name": "c", "command": command, "args": ["--cloud-provider=openstack"] }] },
            "status": { "conditions": [{ "type": "Ready", "status": "True" }],
                "containerStatuses": [{ "name": "c", "image": "", "imageID": "", "ready": true, "restartCount": 0, "state": { "running": { "startedAt": "2026-01-01T00:00:00Z" } } }] } }))
    };
    let found = mirror_pod(&pod(true, json!(["/usr/bin/kube-controller-manager"]))).unwrap();
    assert_eq!((found.component, found.node.as_str()), (Component::ControllerManager, "a"));
    assert!(found.ready && found.started_at.is_some());
    assert_eq!(found.arguments.last().map(String::as_str), Some("--cloud-provider=openstack"));
    assert!(mirror_pod(&pod(false, json!(["kube-controller-manager"]))).is_none());
    assert!(mirror_pod(&pod(true, json!(["etcd"]))).is_none());
}

fn template(image: &str) -> Value {
    json!({ "metadata": { "labels": { "app": "x" } }, "spec": { "containers": [{ "name": "c", "image": image, "args": ["--leader-elect=true"] }] } })
}

#[test]
fn managers_of_others_are_known_by_what_they_run_and_those_that_were_stopped_stay_known() {
    let deployment: Deployment = read(json!({
        "metadata": { "name": "occm", "namespace": "kube-system", "uid": "u", "annotations": { "bowline.dev/previous-replicas": "2" } },
        "spec": { "replicas": 0, "selector": { "matchLabels": { "app": "x" } }, "template": template("registry.example.org/openstack-cloud-controller-manager:v1.31.0") },
    }));
    let pod: Pod = read(
        json!({ "metadata": { "name": "p", "namespace": "kube-system", "labels": { "app": "x" } }, "spec": { "nodeName": "a", "containers": [] }, "status": { "phase": "Running" } }),
    );
    let elsewhere: Pod =
        read(json!({ "metadata": { "name": "q", "namespace": "default", "labels": { "app": "x" } } }));
    let found = manager_of_deployment(&deployment, &[pod, elsewhere]).unwrap();
    assert_eq!((found.desired, found.previous_replicas, found.pods.len()), (0, Some(2), 1));
    assert_eq!(found.product, "openstack-cloud-controller-manager v1.31.0");
    assert_eq!(found.arguments, ["--leader-elect=true"]);

    let daemon_set = |selector: Value, image: &str| -> DaemonSet {
        let mut template = template(image);
        template["spec"]["nodeSelector"] = selector;
        read(
            json!({ "metadata": { "name": "d", "namespace": "n" }, "spec": { "selector": { "matchLabels": { "app": "x" } }, "template": template },
            "status": { "currentNumberScheduled": 3, "desiredNumberScheduled": 3, "numberMisscheduled": 0, "numberReady": 3 } }),
        )
    };
    let image = "example.org/cloud-controller-manager:1";
    assert_eq!(manager_of_daemon_set(&daemon_set(json!({}), image), &[]).unwrap().desired, 3);
    assert_eq!(
        manager_of_daemon_set(&daemon_set(json!({ "bowline.dev/stopped": "true" }), image), &[])
            .unwrap()
            .desired,
        0
    );
    assert!(manager_of_daemon_set(&daemon_set(json!({}), "example.org/proxy:1"), &[]).is_none());
}

#[test]
fn our_workload_says_its_mode_its_version_and_what_its_pods_mount() {
    let mut body = template("example.org/bowline:7");
    body["metadata"]["annotations"] = json!({ "bowline.dev/mode": "ServiceOnly" });
    let deployment: Deployment = read(json!({
        "metadata": { "name": "main", "namespace": "n", "annotations": { "bowline.dev/version": "1.2.3", "bowline.dev/migrated-from": "OtherManager" } },
        "spec": { "replicas": 2, "selector": { "matchLabels": { "app": "x" } }, "template": body },
    }));
    let pod: Pod = read(
        json!({ "metadata": { "name": "p", "namespace": "n", "labels": { "app": "x" }, "annotations": { "bowline.dev/mode": "Paused" } },
        "spec": { "containers": [], "volumes": [{ "name": "v", "secret": { "secretName": "main-config-0f" } }] } }),
    );
    let found = our_deployment(&deployment, &[pod], "main-config-").unwrap();
    assert_eq!((found.mode, found.version.as_str()), (Some(ManagerMode::ServiceOnly), "1.2.3"));
    assert_eq!(found.kind, Some(crate::api::MigrationKind::OtherManager));
    assert_eq!(found.pods[0].config.as_deref(), Some("main-config-0f"));
    assert_eq!(found.pods[0].mode, Some(ManagerMode::Paused));
}

#[test]
fn a_report_is_believed_only_in_the_form_that_is_understood() {
    let report = |format: u32, instances: &str| -> ConfigMap {
        let report = json!({ "format": format, "mode": "AdoptOnly", "leader": true, "version": "1", "clusterName": "c",
            "startedAt": "2026-01-01T00:00:00Z", "observedAt": "2026-01-01T00:00:01Z", "holder": "h",
            "loadBalancers": { "state": "Unsupported" }, "instances": { "state": instances, "message": "no answer" },
            "services": { "total": 9, "settled": 3, "paused": 1, "creates": 2, "blocked": 1, "refused": 1, "unknown": 1, "changes": 1 },
            "findings": [{ "service": "n/web", "uid": "u", "verdict": "Creates", "held": true, "message": "m" },
                { "service": "n/odd", "uid": "u", "verdict": "Blocked", "message": "m" },
                { "service": "n/new", "uid": "u", "verdict": "SomethingNew", "message": "m" }],
            "nodes": { "total": 2, "present": 2 } });
        read(json!({ "data": { REPORT_KEY: report.to_string() } }))
    };
    let facts = shadow_facts(&report(1, "Available")).unwrap();
    assert_eq!((facts.services, facts.settled, facts.blocking), (9, 4, 4));
    assert_eq!(facts.mode, Some(ManagerMode::ServiceOnly));
    assert_eq!(
        facts.findings.iter().map(|each| each.would).collect::<Vec<_>>(),
        [WouldDo::Create, WouldDo::Block, WouldDo::Unknown]
    );
    assert!(facts.cloud_known, "what the cloud never has is not missing");
    let facts = shadow_facts(&report(1, "Unavailable")).unwrap();
    assert_eq!((facts.cloud_known, facts.cloud_problem.as_deref()), (false, Some("machines: no answer")));
    assert!(shadow_facts(&report(2, "Available")).is_none());
    assert!(shadow_facts(&read(json!({ "data": { REPORT_KEY: "{" } }))).is_none());
}

#[test]
fn what_looks_the_same_is_so_since_it_was_first_seen() {
    let (mut seen, start) = (Unchanged::default(), Instant::now());
    let after = |seconds| start + Duration::from_secs(seconds);
    assert_eq!(seen.note("a", 1, after(0)), (Duration::ZERO, false));
    assert_eq!(seen.note("a", 1, after(5)), (Duration::from_secs(5), false));
    assert_eq!(seen.note("a", 2, after(5)), (Duration::ZERO, true));
    assert_eq!(seen.note("a", 2, after(7)), (Duration::from_secs(2), true));
    seen.keep_only(|key| key != "a");
    assert_eq!(seen.note("a", 2, after(7)), (Duration::ZERO, false));
}

fn spec(value: &Value) -> CloudControllerManagerSpec {
    let mut all = json!({ "platform": "OpenStack", "clusterName": "c", "namespace": "n" });
    for (key, value) in value.as_object().unwrap() {
        all[key] = value.clone();
    }
    read(all)
}

fn data(key: &str, text: &str) -> Option<BTreeMap<String, Vec<u8>>> {
    Some([(key.to_owned(), text.as_bytes().to_vec())].into())
}

#[test]
fn what_is_missing_or_wrong_is_named_with_its_key_and_its_line() {
    let spec = spec(
        &json!({ "cloudConfig": { "configMap": { "name": "config" } }, "credentials": { "name": "secret" },
        "trustedCa": { "name": "ca" } }),
    );
    let wishes = wishes(&spec);
    let problem = |fetched: &Fetched| {
        let problem = read_inputs(&spec, &wishes, fetched).unwrap_err();
        (problem.reason(), problem.to_string(), problem.is_of_config())
    };
    let mut fetched = Fetched::default();
    let (reason, text, is_of_config) = problem(&fetched);
    assert!(reason == "ConfigMissing" && is_of_config, "{text}");
    assert!(text.contains("ConfigMap n/config") && text.contains("\"cloud.conf\""), "{text}");
    fetched.config = data("cloud.conf", "[Global]\n[LoadBalancer]\nmax-shared-lb = many\n");
    let (reason, text, _) = problem(&fetched);
    assert!(reason == "ConfigInvalid" && text.contains("line 3") && text.contains("max-shared-lb"), "{text}");
    fetched.config = data("cloud.conf", "[Global]\nauth-url = https://example.org/v3\n");
    assert_eq!(problem(&fetched).0, "CredentialsMissing");
    fetched.credentials = data("cloud.yaml", "x");
    let (_, text, _) = problem(&fetched);
    assert!(text.contains("Secret n/secret has no key \"clouds.yaml\""), "{text}");
    fetched.credentials = data("clouds.yaml", "x");
    assert_eq!(problem(&fetched).0, "TrustedCAMissing");
    fetched.trusted_ca = data("ca-bundle.crt", "x");
    assert_eq!(problem(&fetched).0, "TrustedCAInvalid");
}

#[test]
fn another_credential_is_another_hash_and_none_is_none() {
    let spec_with = spec(
        &json!({ "cloudConfig": { "inline": "[Global]\nauth-url = https://example.org/v3\n" }, "credentials": { "name": "secret" } }),
    );
    let hash = |text: &str| {
        let fetched = Fetched { credentials: data("clouds.yaml", text), ..Fetched::default() };
        read_inputs(&spec_with, &wishes(&spec_with), &fetched).unwrap()
    };
    assert_ne!(hash("a").hash, hash("b").hash);
    assert_eq!(hash("a"), hash("a"));
    assert!(hash("a").config.is_some());
    let without = spec(&json!({}));
    assert_eq!(read_inputs(&without, &wishes(&without), &Fetched::default()).unwrap(), Inputs::default());
    let upstream =
        spec(&json!({ "platform": "AWS", "manager": "Upstream", "credentials": { "name": "secret" } }));
    let fetched = Fetched { credentials: data("anything", "x"), ..Fetched::default() };
    assert!(
        read_inputs(&upstream, &wishes(&upstream), &fetched).is_ok(),
        "only OpenStack's has a key that must be there"
    );
}

#[test]
fn the_api_server_is_where_kubeadm_was_told() {
    let kubeadm = |endpoint: &str| -> ConfigMap {
        read(
            json!({ "data": { "ClusterConfiguration": format!("apiServer: {{}}\ncontrolPlaneEndpoint: {endpoint}\nkind: ClusterConfiguration\n") } }),
        )
    };
    assert_eq!(
        clusterwide::control_plane_endpoint(&kubeadm("api.example.org:6443")).as_deref(),
        Some("api.example.org:6443")
    );
    assert_eq!(
        clusterwide::control_plane_endpoint(&kubeadm("\"[2001:db8::1]:6443\"")).as_deref(),
        Some("[2001:db8::1]:6443")
    );
    assert_eq!(clusterwide::control_plane_endpoint(&kubeadm("api.example.org")), None);
}

#[test]
fn a_change_that_was_forgotten_counts_only_when_it_comes_again() {
    let (mut watched, start) = (Unchanged::default(), Instant::now());
    let at = |seconds: u64| start + Duration::from_secs(seconds);
    watched.note("lease", 1, at(0));
    assert_eq!(watched.note("lease", 2, at(1)), (Duration::ZERO, true));
    watched.forget_changes();
    assert_eq!(watched.note("lease", 2, at(3)), (Duration::from_secs(2), false), "since when is still known");
    assert_eq!(watched.note("lease", 3, at(4)), (Duration::ZERO, true));
}
