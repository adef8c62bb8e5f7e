//! The admission policies of OpenShift's platforms judge as they say.

use bowline_operator::render::MANAGED_NAMESPACE;
use bowline_testkit::apiserver::Cluster;
use bowline_testkit::eventually;
use k8s_openapi::api::core::v1::Service;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::harness::{apply, client, namespace, openshift_objects};

/// Services of one namespace.
struct Services(Api<Service>);

impl Services {
    async fn create(&self, name: &str, annotations: &Value) -> Result<(), String> {
        let body = json!({ "metadata": { "name": name, "annotations": annotations }, "spec": { "ports": [{ "port": 80 }] } });
        let service: Service = serde_json::from_value(body).unwrap();
        self.0.create(&PostParams::default(), &service).await.map(drop).map_err(|error| error.to_string())
    }

    async fn annotate(&self, name: &str, annotations: &Value) -> Result<(), String> {
        let patch = json!({ "metadata": { "annotations": annotations } });
        let done = self.0.patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await;
        done.map(drop).map_err(|error| error.to_string())
    }

    /// Waits until the policy is in force: until `annotations` are refused.
    async fn wait_until_refused(&self, name: &str, annotations: &Value) -> anyhow::Result<()> {
        eventually(format!("{annotations} is refused"), async || {
            let params = PatchParams { dry_run: true, ..PatchParams::default() };
            let patch = json!({ "metadata": { "annotations": annotations } });
            Ok(self.0.patch(name, &params, &Patch::Merge(&patch)).await.is_err().then_some(()))
        })
        .await
    }
}

async fn services(platform: &str) -> anyhow::Result<Services> {
    let client = client().await?;
    namespace(&client, MANAGED_NAMESPACE, &json!({})).await?;
    let policies =
        openshift_objects(platform, "")?.into_iter().filter(|object| object.kind.starts_with("Validating"));
    for policy in policies {
        apply(&client, &policy, false).await?;
    }
    let place = Cluster::shared().await?.namespace("policies").await?;
    Ok(Services(Api::namespaced(client, &place)))
}

#[tokio::test]
async fn aws_keeps_the_type_of_a_load_balancer() -> anyhow::Result<()> {
    let key = "service.beta.kubernetes.io/aws-load-balancer-type";
    let services = services("AWS").await?;
    services.create("plain", &json!({})).await.unwrap();
    services.create("typed", &json!({ key: "nlb" })).await.unwrap();
    services.wait_until_refused("plain", &json!({ key: "nlb" })).await?;
    for (name, value) in [("typed", json!("clb")), ("typed", Value::Null), ("plain", json!("nlb"))] {
        let error = services.annotate(name, &json!({ key: value })).await.unwrap_err();
        assert!(error.contains("cannot be added, removed or changed"), "{error}");
    }
    for name in ["typed", "plain"] {
        services.annotate(name, &json!({ "other": "x" })).await.unwrap();
    }
    Ok(())
}

#[tokio::test]
async fn gcp_knows_two_tiers() -> anyhow::Result<()> {
    let key = "cloud.google.com/network-tier";
    let services = services("GCP").await?;
    services.create("a", &json!({})).await.unwrap();
    services.wait_until_refused("a", &json!({ key: "Gold" })).await?;
    assert!(services.create("b", &json!({ key: "Gold" })).await.unwrap_err().contains("Standard or Premium"));
    for tier in ["Standard", "Premium"] {
        services.annotate("a", &json!({ key: tier })).await.unwrap();
    }
    services.annotate("a", &json!({ key: null })).await.unwrap();
    Ok(())
}

#[tokio::test]
async fn azure_knows_timeouts_from_4_to_100_and_leaves_old_ones() -> anyhow::Result<()> {
    let key = "service.beta.kubernetes.io/azure-load-balancer-tcp-idle-timeout";
    let place = Cluster::shared().await?.namespace("before").await?;
    let before = Services(Api::namespaced(client().await?, &place));
    before.create("old", &json!({ key: "1" })).await.unwrap();
    let services = services("Azure").await?;
    services.create("a", &json!({})).await.unwrap();
    services.wait_until_refused("a", &json!({ key: "3" })).await?;
    for value in ["3", "101", "ten", "-5", "5.5", "1000000000000000000000"] {
        let error = services.annotate("a", &json!({ key: value })).await.unwrap_err();
        assert!(error.contains("from 4 to 100"), "{value}: {error}");
    }
    for value in ["4", "30", "100"] {
        services.annotate("a", &json!({ key: value })).await.unwrap();
    }
    before.annotate("old", &json!({ "other": "x" })).await.unwrap();
    Ok(())
}

/// Labels a Node as Azure's agent would, with a token of a pod on `from`, if any.
async fn label_as_agent(
    client: &kube::Client,
    node: &str,
    from: Option<&str>,
) -> anyhow::Result<Result<(), String>> {
    let mut request = http::Request::patch(format!("/api/v1/nodes/{node}"))
        .header("Content-Type", "application/merge-patch+json")
        .header("Impersonate-User", format!("system:serviceaccount:{MANAGED_NAMESPACE}:cloud-node-manager"))
        .header("Impersonate-Group", "system:masters");
    if let Some(from) = from {
        request = request.header("Impersonate-Extra-authentication.kubernetes.io%2Fnode-name", from);
    }
    let patch = json!({ "metadata": { "labels": { "from": from.unwrap_or("nowhere") } } });
    let request = request.body(serde_json::to_vec(&patch)?)?;
    Ok(match client.request::<Value>(request).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) => Err(status.message.clone()),
        Err(other) => return Err(other.into()),
    })
}

#[tokio::test]
async fn azures_agents_change_the_node_that_they_run_on_and_no_other() -> anyhow::Result<()> {
    services("Azure").await?;
    let client = client().await?;
    let nodes: Api<k8s_openapi::api::core::v1::Node> = Api::all(client.clone());
    for name in ["agent-a", "agent-b"] {
        let node = serde_json::from_value(json!({ "metadata": { "name": name } }))?;
        nodes.create(&PostParams::default(), &node).await?;
    }
    let said = eventually("an agent without a node is refused", async || {
        Ok(label_as_agent(&client, "agent-a", None).await?.err())
    })
    .await?;
    assert!(said.contains("must belong to a pod on a node"), "{said}");
    let said = label_as_agent(&client, "agent-b", Some("agent-a")).await?.unwrap_err();
    assert!(said.contains("the Node that it runs on, and no other"), "{said}");
    label_as_agent(&client, "agent-a", Some("agent-a")).await?.unwrap();
    let patch = json!({ "metadata": { "labels": { "from": "somebody-else" } } });
    nodes.patch("agent-b", &PatchParams::default(), &Patch::Merge(&patch)).await?;
    Ok(())
}
