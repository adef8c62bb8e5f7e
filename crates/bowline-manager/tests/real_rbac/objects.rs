//! The Nodes and Services of the tests, made and looked at as the admin.

use anyhow::Context;
use k8s_openapi::api::core::v1::{Event, Node, Service};
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::cloud::SCHEME;
use crate::site::Site;

pub(crate) const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

impl Site {
    pub(crate) fn nodes(&self) -> Api<Node> {
        Api::all(self.admin.clone())
    }

    pub(crate) fn services(&self) -> Api<Service> {
        Api::namespaced(self.admin.clone(), &self.namespace)
    }

    /// A Node as a kubelet with an external cloud provider registers it.
    pub(crate) async fn join(&self, name: &str) -> anyhow::Result<()> {
        let taint = json!({"key": UNINITIALIZED, "value": "true", "effect": "NoSchedule"});
        let node = json!({"metadata": {"name": name}, "spec": {"taints": [taint]}});
        self.nodes().create(&PostParams::default(), &serde_json::from_value(node)?).await?;
        Ok(())
    }

    /// A Node that was initialised long ago and is not ready now.
    pub(crate) async fn join_not_ready(&self, name: &str) -> anyhow::Result<()> {
        let node = json!({"metadata": {"name": name}, "spec": {"providerID": format!("{SCHEME}{name}")}});
        self.nodes().create(&PostParams::default(), &serde_json::from_value(node)?).await?;
        self.edit_node_status(name, json!({"conditions": [{"type": "Ready", "status": "False"}]})).await
    }

    pub(crate) async fn edit_node_status(&self, name: &str, status: Value) -> anyhow::Result<()> {
        let patch = Patch::Merge(json!({ "status": status }));
        self.nodes().patch_status(name, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    pub(crate) async fn edit_node(&self, name: &str, change: Value) -> anyhow::Result<()> {
        self.nodes().patch(name, &PatchParams::default(), &Patch::Merge(change)).await?;
        Ok(())
    }

    pub(crate) async fn make_service(&self, name: &str) -> anyhow::Result<()> {
        let service = json!({
            "metadata": {"name": name},
            "spec": {"type": "LoadBalancer", "selector": {"app": "web"}, "ports": [{"port": 80}]},
        });
        self.services().create(&PostParams::default(), &serde_json::from_value(service)?).await?;
        Ok(())
    }

    pub(crate) async fn edit_service(&self, name: &str, change: Value) -> anyhow::Result<()> {
        self.services().patch(name, &PatchParams::default(), &Patch::Merge(change)).await?;
        Ok(())
    }

    /// An object as JSON; null if there is none.
    pub(crate) async fn node_json(&self, name: &str) -> anyhow::Result<Value> {
        Ok(serde_json::to_value(self.nodes().get_opt(name).await?)?)
    }

    pub(crate) async fn service_json(&self, name: &str) -> anyhow::Result<Value> {
        Ok(serde_json::to_value(self.services().get_opt(name).await?)?)
    }

    /// How often an event of this reason was told about an object; 0 if never.
    pub(crate) async fn told(&self, name: &str, reason: &str) -> anyhow::Result<i32> {
        let event = self.event(name, reason).await?;
        Ok(event.map_or(0, |event| event.count.unwrap_or(1)))
    }

    /// The name of that event.
    pub(crate) async fn event_name(&self, name: &str, reason: &str) -> anyhow::Result<Option<String>> {
        Ok(self.event(name, reason).await?.and_then(|event| event.metadata.name))
    }

    async fn event(&self, name: &str, reason: &str) -> anyhow::Result<Option<Event>> {
        let about = ListParams::default().fields(&format!("involvedObject.name={name},reason={reason}"));
        Ok(Api::<Event>::all(self.admin.clone()).list(&about).await?.items.into_iter().next())
    }

    /// Takes an object away for good, whoever would like to keep it.
    pub(crate) async fn remove(&self, name: &str) -> anyhow::Result<()> {
        let gone = |error: &kube::Error| matches!(error, kube::Error::Api(status) if status.is_not_found());
        match self.nodes().delete(name, &DeleteParams::default()).await {
            Err(error) if !gone(&error) => return Err(error).context("delete a node"),
            _gone => {}
        }
        match self.services().delete(name, &DeleteParams::default()).await {
            Err(error) if !gone(&error) => Err(error).context("delete a service"),
            _gone => Ok(()),
        }
    }
}
