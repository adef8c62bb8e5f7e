//! The end of a manager: refused as long as Services depend on it, and then without a trace.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::harness::Harness;

const GOOD: &str = "[Global]\nauth-url = https://keystone.example.org/v3\n";

#[tokio::test]
async fn a_manager_goes_only_when_nobody_depends_on_it_or_a_person_says_so() -> anyhow::Result<()> {
    let stage = Harness::start().await?;
    let _operator = stage.operator().await?;
    stage.configure(GOOD).await?;
    stage.ask("main", json!({ "cloudConfig": { "secret": { "name": "cloud-config" } } })).await?;
    stage.steady("main").await?;
    let services: Api<Service> = Api::namespaced(stage.client.clone(), "default");
    let service = json!({ "metadata": { "name": "web", "finalizers": ["service.kubernetes.io/load-balancer-cleanup"] },
        "spec": { "type": "LoadBalancer", "ports": [{ "port": 80 }] } });
    services.create(&PostParams::default(), &serde_json::from_value(service)?).await?;
    let address = json!({ "status": { "loadBalancer": { "ingress": [{ "ip": "192.0.2.1" }] } } });
    services.patch_status("web", &PatchParams::default(), &Patch::Merge(address)).await?;

    stage.resources().delete("main", &DeleteParams::default()).await?;
    let message = stage.condition("main", "ActionRequired", "True", "UninstallRefused").await?;
    assert!(message.contains("default/web") && message.contains("Orphan"), "{message}");
    assert_eq!(
        stage.api::<Deployment>().get("bowline-ccm-main").await?.spec.and_then(|spec| spec.replicas),
        Some(2)
    );

    stage.change("main", json!({ "deletionPolicy": "Orphan" })).await?;
    stage
        .eventually("it is gone", async || {
            Ok(stage.resources().get_opt("main").await?.is_none().then_some(()))
        })
        .await?;
    let ours = ListParams::default().labels("bowline.dev/managed-by=main");
    let (roles, bindings): (Api<ClusterRole>, Api<ClusterRoleBinding>) =
        (Api::all(stage.client.clone()), Api::all(stage.client.clone()));
    assert!(stage.api::<Deployment>().list(&ours).await?.items.is_empty());
    assert!(stage.api::<ServiceAccount>().list(&ours).await?.items.is_empty());
    assert!(stage.api::<ConfigMap>().list(&ours).await?.items.is_empty(), "the inventory, too");
    assert!(roles.list(&ours).await?.items.is_empty() && bindings.list(&ours).await?.items.is_empty());
    let secrets = stage.api::<Secret>().list(&ListParams::default()).await?;
    let left: Vec<String> = secrets.iter().map(ResourceExt::name_any).collect();
    assert_eq!(left, ["cloud-config"], "what a person made stays");
    let service = services.get("web").await?;
    assert_eq!(service.finalizers().len(), 1, "nobody touches the Service");
    Ok(())
}
