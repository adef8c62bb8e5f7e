//! The lifecycle controller on a real kube-apiserver and etcd, with no more rights than it needs. Needs their binaries:
//! `cargo xtask kubernetes`.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use bowline_cloud::{Doubt, ErrorClass, Evidence, Instance, NodeView, Power, Proof, Unfenced};
use bowline_controllers::controller::{Controller, ControllerContext};
use bowline_controllers::lifecycle::{LifecycleController, LifecycleOptions};
use bowline_controllers::metrics::ControllerMetrics;
use bowline_controllers::registry::common_names;
use bowline_controllers::view::{SlimNode, SlimService, node_view, service_view};
use bowline_kube::clock::Clock;
use bowline_kube::events::{EventMetrics, EventRecorder};
use bowline_kube::informer::InformerSpec;
use bowline_kube::queue::QueueMetrics;
use bowline_kube::write::Writer;
use bowline_testkit::apiserver::{Cluster, Identity};
use bowline_testkit::eventually;
use bowline_testkit::provider::{FakeCloud, FakeInstances, Lookup};
use k8s_openapi::api::core::v1::{Event, Node};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const SHUTDOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";
const RIGHTS: &str = "lifecycle";

/// Knows machines by the first word of their node's name.
fn by_name(node: &NodeView, lookup: Lookup) -> Evidence<Instance> {
    let there = |power| Evidence::Present(Instance { power, ..Instance::default() });
    match (node.name.split('-').next(), lookup) {
        (Some("down"), _) => there(Power::ShutDown),
        (Some("gone" | "metal"), Lookup::Confirm) => Evidence::Absent(Proof::new("404")),
        (Some("gone" | "metal"), Lookup::Observe) => {
            Evidence::Unknown(Doubt { class: ErrorClass::NotFound, ..Doubt::new("not listed") })
        }
        _ => there(Power::Running),
    }
}

/// A client with exactly the rights that the controller and its informer need.
async fn client_with_few_rights(cluster: &Cluster, admin: &Client) -> Result<Client> {
    let role: ClusterRole = serde_json::from_value(json!({
        "metadata": {"name": RIGHTS},
        "rules": [
            {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch", "patch", "delete"]},
            {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]}
        ]
    }))?;
    let binding: ClusterRoleBinding = serde_json::from_value(json!({
        "metadata": {"name": RIGHTS},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": RIGHTS},
        "subjects": [{"kind": "ServiceAccount", "namespace": "kube-system", "name": "node-controller"}]
    }))?;
    Api::<ClusterRole>::all(admin.clone()).create(&PostParams::default(), &role).await?;
    Api::<ClusterRoleBinding>::all(admin.clone()).create(&PostParams::default(), &binding).await?;
    let (namespace, name) = ("kube-system".to_owned(), "node-controller".to_owned());
    cluster.client(&Identity::ServiceAccount { namespace, name }).await
}

async fn join(nodes: &Api<Node>, name: &str, provider_id: &str, ready: &str, taints: &Value) -> Result<()> {
    let node = serde_json::from_value(json!({
        "metadata": {"name": name}, "spec": {"providerID": provider_id}
    }))?;
    nodes.create(&PostParams::default(), &node).await?;
    // Admission adds the not-ready taint to every new node; here, lists shall also be empty.
    let only = Patch::Merge(json!({"spec": {"taints": taints}}));
    nodes.patch(name, &PatchParams::default(), &only).await?;
    let condition = json!({"type": "Ready", "status": ready, "reason": "Test", "message": "",
        "lastHeartbeatTime": "2026-11-01T08:00:00Z", "lastTransitionTime": "2026-11-01T08:00:00Z"});
    let status = Patch::Merge(json!({"status": {"conditions": [condition]}}));
    nodes.patch_status(name, &PatchParams::default(), &status).await?;
    Ok(())
}

fn context(client: &Client, cancel: &CancellationToken) -> ControllerContext {
    let (nodes, node_task) = InformerSpec::new("nodes", |node: SlimNode| Some(Arc::new(node_view(node))))
        .build(client.clone(), Api::all);
    let (services, _never_run) =
        InformerSpec::new("services", |service: SlimService| Some(Arc::new(service_view(service))))
            .build(client.clone(), Api::all);
    tokio::spawn(node_task.run(cancel.clone()));
    let (mut registry, clock) = (Registry::default(), Clock::system());
    let component = "cloud-node-lifecycle-controller";
    ControllerContext {
        cloud: Arc::new(FakeCloud::default().with_instances(Arc::new(FakeInstances::answering(by_name)))),
        nodes,
        services,
        writer: Writer::new(client.clone(), Arc::new(Unfenced), Duration::from_secs(10)),
        events: EventRecorder::new(client.clone(), component, "", clock.clone(), EventMetrics::default()),
        fence: Arc::new(Unfenced),
        clock,
        queues: QueueMetrics::register(&mut registry),
        metrics: ControllerMetrics::register(&mut registry),
        journal: bowline_cloud::Journal::default(),
        ledger: bowline_kube::ledger::Ledger::default(),
        machines: bowline_controllers::rails::seen_machines::SeenMachines::default(),
        node_filter: bowline_controllers::rails::node_filter::NodeFilter::default(),
    }
}

/// Keys of the taints of a node; `None` if it is gone.
async fn taints(nodes: &Api<Node>, name: &str) -> Result<Option<Vec<String>>> {
    let Some(node) = nodes.get_opt(name).await? else { return Ok(None) };
    let taints = node.spec.and_then(|spec| spec.taints).unwrap_or_default();
    Ok(Some(taints.into_iter().map(|taint| taint.key).collect()))
}

async fn is_settled(nodes: &Api<Node>) -> Result<bool> {
    let keys = |keys: &[&str]| Some(keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>());
    Ok(taints(nodes, "up-1").await? == keys(&["mine"])
        && taints(nodes, "up-2").await? == keys(&[])
        && taints(nodes, "down-1").await? == keys(&["mine", SHUTDOWN])
        && taints(nodes, "down-2").await? == keys(&[SHUTDOWN])
        && taints(nodes, "gone-1").await?.is_none())
}

#[tokio::test]
async fn on_a_real_api_server_taints_come_and_go_and_a_lost_node_goes_with_few_rights() -> Result<()> {
    let cluster = Cluster::shared().await?;
    let admin = cluster.client(&Identity::Admin).await?;
    let client = client_with_few_rights(cluster, &admin).await?;
    let nodes = Api::<Node>::all(admin.clone());
    let mine = json!({"key": "mine", "effect": "NoExecute", "timeAdded": "2026-11-01T08:00:00Z"});
    let shutdown = json!({"key": SHUTDOWN, "effect": "NoSchedule"});
    join(&nodes, "up-1", "fake://1", "True", &json!([shutdown, mine])).await?;
    join(&nodes, "up-2", "fake://2", "True", &json!([shutdown])).await?;
    join(&nodes, "down-1", "fake://3", "Unknown", &json!([mine])).await?;
    join(&nodes, "down-2", "fake://4", "False", &json!([])).await?;
    join(&nodes, "gone-1", "fake://5", "Unknown", &json!([])).await?;
    join(&nodes, "metal-1", "metal://6", "Unknown", &json!([])).await?;

    let options = LifecycleOptions { new_node_grace: Duration::ZERO, ..LifecycleOptions::default() };
    let controller = LifecycleController::new(common_names().remove(1), options)?;
    let cancel = CancellationToken::new();
    let context = context(&client, &cancel);
    let events = context.events.clone();
    let settled = async {
        eventually("the Nodes are settled", async || Ok(is_settled(&nodes).await?.then_some(()))).await?;
        events.flush(Duration::from_secs(10)).await?;
        cancel.cancel();
        anyhow::Ok(())
    };
    tokio::try_join!(async { Ok(controller.run(context, cancel.clone()).await?) }, settled)?;

    let up = nodes.get("up-1").await?.spec.and_then(|spec| spec.taints).unwrap_or_default();
    assert!(
        up.iter().all(|taint| taint.time_added.is_some()),
        "other people's taints stay as they were: {up:?}"
    );
    assert!(nodes.get_opt("metal-1").await?.is_some(), "another cloud's node stays");
    let told = Api::<Event>::namespaced(admin, "default").list(&ListParams::default()).await?;
    assert!(told.iter().any(|event| event.reason.as_deref() == Some("DeletingNode")));
    Ok(())
}
