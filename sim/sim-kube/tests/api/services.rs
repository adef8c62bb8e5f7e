//! Services: what the server fills in, allocates, wipes and refuses.

use k8s_openapi::api::core::v1::Service;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::cluster::{cluster, code, message, service};

async fn made(api: &Api<Service>, name: &str, spec: Value) -> Value {
    let made = api.create(&PostParams::default(), &service(name, spec)).await.unwrap();
    serde_json::to_value(made.spec).unwrap()
}

async fn patched(api: &Api<Service>, name: &str, spec: Value) -> Value {
    let patch = Patch::Merge(json!({"spec": spec}));
    let changed = api.patch(name, &PatchParams::default(), &patch).await.unwrap();
    serde_json::to_value(changed.spec).unwrap()
}

fn api() -> Api<Service> {
    Api::namespaced(cluster().1, "default")
}

#[tokio::test(start_paused = true)]
async fn a_plain_service_gets_everything_that_the_real_server_fills_in() {
    let spec = made(&api(), "s", json!({"ports": [{"port": 80}]})).await;
    let ip = spec["clusterIP"].as_str().unwrap().to_owned();
    assert!(ip.starts_with("10.96."));
    assert_eq!(
        spec,
        json!({
            "type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster",
            "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", "clusterIP": ip, "clusterIPs": [ip],
            "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        })
    );
}

#[tokio::test(start_paused = true)]
async fn a_balanced_service_gets_node_ports_unless_it_declines() {
    let api = api();
    let spec = made(&api, "s", json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local",
        "ports": [{"port": 53, "name": "u", "protocol": "UDP"}, {"port": 53, "name": "t"}, {"port": 80, "name": "w"}]}))
    .await;
    let ports: Vec<u64> = (0..3).map(|index| spec["ports"][index]["nodePort"].as_u64().unwrap()).collect();
    assert!(ports.iter().all(|port| (30_000..=32_767).contains(port)));
    assert_eq!(ports[0], ports[1], "two protocols of one port share the node port");
    assert_ne!(ports[0], ports[2]);
    assert!((30_000..=32_767).contains(&spec["healthCheckNodePort"].as_u64().unwrap()));
    assert_eq!(spec["allocateLoadBalancerNodePorts"], true);
    let without =
        json!({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": false, "ports": [{"port": 80}]});
    assert_eq!(made(&api, "n", without).await["ports"][0].get("nodePort"), None);
}

#[tokio::test(start_paused = true)]
async fn both_families_are_given_when_they_are_wanted() {
    let spec = made(&api(), "s", json!({"ipFamilyPolicy": "PreferDualStack", "ports": [{"port": 80}]})).await;
    assert_eq!(spec["ipFamilies"], json!(["IPv4", "IPv6"]));
    assert!(spec["clusterIPs"][1].as_str().unwrap().starts_with("fd00:10:96::"));
    let headless = made(&api(), "h", json!({"clusterIP": "None", "selector": {"a": "b"}})).await;
    assert_eq!(headless["clusterIPs"], json!(["None"]));
}

#[tokio::test(start_paused = true)]
async fn a_change_of_type_wipes_what_only_the_old_type_had() {
    let api = api();
    let balanced = json!({"type": "LoadBalancer", "loadBalancerClass": "x/y", "externalTrafficPolicy": "Local",
        "ports": [{"port": 80}]});
    let before = made(&api, "s", balanced).await;
    let node_port = patched(&api, "s", json!({"type": "NodePort"})).await;
    for gone in ["loadBalancerClass", "allocateLoadBalancerNodePorts", "healthCheckNodePort"] {
        assert_eq!(node_port.get(gone), None, "{gone}");
    }
    assert_eq!(node_port["ports"], before["ports"]);
    let plain = patched(&api, "s", json!({"type": "ClusterIP"})).await;
    assert_eq!(plain.get("externalTrafficPolicy"), None);
    assert_eq!(plain["ports"][0].get("nodePort"), None);
    assert_eq!(plain["clusterIP"], before["clusterIP"]);
    let named = patched(&api, "s", json!({"type": "ExternalName", "externalName": "a.example"})).await;
    for gone in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"] {
        assert_eq!(named.get(gone), None, "{gone}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_put_without_addresses_and_ports_keeps_them() {
    let api = api();
    let wanted = json!({"type": "NodePort", "ports": [{"port": 80}]});
    let before = made(&api, "s", wanted.clone()).await;
    let after = api.replace("s", &PostParams::default(), &service("s", wanted)).await.unwrap();
    assert_eq!(serde_json::to_value(after.spec).unwrap(), before);
}

#[tokio::test(start_paused = true)]
async fn what_may_not_change_and_what_is_taken_is_refused() {
    let api = api();
    let spec =
        made(&api, "s", json!({"type": "LoadBalancer", "loadBalancerClass": "x/y", "ports": [{"port": 80}]}))
            .await;
    for (change, complaint) in [
        (
            json!({"loadBalancerClass": "x/z"}),
            "spec.loadBalancerClass: Invalid value: \"x/z\": may not change once set",
        ),
        (json!({"clusterIP": "10.96.0.77"}), "may not change once set"),
        (json!({"ports": []}), "spec.ports: Required value"),
        (json!({"ports": [{"port": 70_000}]}), "must be between 1 and 65535, inclusive"),
        (json!({"loadBalancerSourceRanges": ["nonsense"]}), "must be a valid CIDR value"),
        (
            json!({"type": "Other"}),
            "supported values: \"ClusterIP\", \"ExternalName\", \"LoadBalancer\", \"NodePort\"",
        ),
    ] {
        let patch = Patch::Merge(json!({"spec": change}));
        let refused = api.patch("s", &PatchParams::default(), &patch).await.unwrap_err();
        assert_eq!(code(&refused), 422, "{change}");
        assert!(message(&refused).contains(complaint), "{}", message(&refused));
    }
    let taken =
        json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": spec["ports"][0]["nodePort"]}]});
    let refused = api.create(&PostParams::default(), &service("t", taken.clone())).await.unwrap_err();
    assert!(message(&refused).contains("provided port is already allocated"));
    api.delete("s", &DeleteParams::default()).await.unwrap();
    assert!(
        api.create(&PostParams::default(), &service("t", taken)).await.is_ok(),
        "a deletion frees the port"
    );
}
