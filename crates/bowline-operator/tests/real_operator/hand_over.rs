//! From the manager of somebody else to ours, with all phases.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, PostParams};
use kube::{Api, Client, ResourceExt};
use parking_lot::Mutex;
use serde_json::json;

use crate::harness::{Harness, NAMESPACE};

/// Looks for pods of both that may write at the same moment, for as long as it lives.
async fn two_writers(client: Client, seen: Arc<Mutex<Vec<String>>>) {
    let pods: Api<Pod> = Api::namespaced(client, NAMESPACE);
    loop {
        if let Ok(found) = pods.list(&ListParams::default()).await {
            let is_old = |pod: &&Pod| pod.labels().contains_key("k8s-app");
            let acts = |pod: &&Pod| {
                let mode = pod.annotations().get("bowline.dev/mode").map(String::as_str);
                mode.is_some_and(|mode| !matches!(mode, "Shadow" | "Paused"))
            };
            let names: Vec<String> =
                found.iter().filter(|pod| is_old(pod) || acts(pod)).map(ResourceExt::name_any).collect();
            if found.iter().any(|pod| is_old(&pod)) && found.iter().any(|pod| acts(&pod)) {
                seen.lock().push(names.join(", "));
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn the_manager_of_somebody_else_hands_over_and_there_is_never_a_second_writer() -> anyhow::Result<()> {
    let stage = Harness::start().await?;
    let labels = json!({ "k8s-app": "openstack-cloud-controller-manager" });
    let container = json!({ "name": "c", "image": "example.org/openstack-cloud-controller-manager:v1.31.0",
        "command": ["/bin/openstack-cloud-controller-manager"], "args": ["--cluster-name=test"] });
    let old = json!({ "metadata": { "name": "old", "labels": labels }, "spec": { "replicas": 1, "selector": { "matchLabels": labels },
        "template": { "metadata": { "labels": labels }, "spec": { "serviceAccountName": "old", "containers": [container] } } } });
    let account = serde_json::from_value(json!({ "metadata": { "name": "old" } }))?;
    stage
        .api::<k8s_openapi::api::core::v1::ServiceAccount>()
        .create(&PostParams::default(), &account)
        .await?;
    stage.api::<Deployment>().create(&PostParams::default(), &serde_json::from_value(old)?).await?;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let watcher = tokio::spawn(two_writers(stage.client.clone(), Arc::clone(&seen)));

    let _operator = stage.operator().await?;
    stage
        .ask(
            "main",
            json!({ "cloudConfig": { "inline": "[Global]\nauth-url = https://keystone.example.org/v3\n" } }),
        )
        .await?;
    let status = stage.steady("main").await?;
    watcher.abort();
    let migration = status.migration.unwrap_or_default();
    assert_eq!(migration.kind.map(|kind| format!("{kind:?}")).as_deref(), Some("OtherManager"));
    let phases: Vec<String> = migration.history.iter().map(|each| each.phase.to_string()).collect();
    for phase in ["Preflight", "Relinquish", "Fence", "ServiceOnly", "Nodes", "Full", "Verify", "Steady"] {
        assert!(phases.iter().any(|each| each == phase), "{phase} is not among {phases:?}");
    }
    assert_eq!(*seen.lock(), Vec::<String>::new());
    let old = stage.api::<Deployment>().get("old").await?;
    assert_eq!(old.annotations()["bowline.dev/previous-replicas"], "1", "the way back is known");
    assert_eq!(old.spec.and_then(|spec| spec.replicas), Some(0));
    Ok(())
}
