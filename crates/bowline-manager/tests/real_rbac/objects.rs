//! The Nodes and Services of the tests, made and looked at as the admin.

use bowline_testkit::nodes::registered;
use bowline_testkit::objects::if_found;
use bowline_testkit::services::service;
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::cloud::SCHEME;
use crate::harness::Harness;

impl Harness {
    /// A Node as a kubelet with an external cloud provider registers it.
    pub(crate) async fn join(&self, name: &str) -> anyhow::Result<()> {
        self.nodes.create(registered(name, "")).await.map(drop)
    }

    /// A Node that was initialised long ago and is not ready now.
    pub(crate) async fn join_not_ready(&self, name: &str) -> anyhow::Result<()> {
        let node = json!({"metadata": {"name": name}, "spec": {"providerID": format!("{SCHEME}{name}")}});
        self.nodes.create(node).await?;
        self.edit_node_status(name, json!({"conditions": [{"type": "Ready", "status": "False"}]})).await
    }

    pub(crate) async fn edit_node_status(&self, name: &str, status: Value) -> anyhow::Result<()> {
        let patch = Patch::Merge(json!({ "status": status }));
        self.nodes.api.patch_status(name, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    pub(crate) async fn make_service(&self, name: &str) -> anyhow::Result<()> {
        self.services.create(&service(name, &[], &json!({}))).await.map(drop)
    }

    /// An object as JSON; null if there is none.
    pub(crate) async fn node_json(&self, name: &str) -> anyhow::Result<Value> {
        Ok(serde_json::to_value(self.nodes.api.get_opt(name).await?)?)
    }

    pub(crate) async fn service_json(&self, name: &str) -> anyhow::Result<Value> {
        Ok(serde_json::to_value(self.services.api.get_opt(name).await?)?)
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
        if_found(self.nodes.api.delete(name, &DeleteParams::default()).await)?;
        if_found(self.services.api.delete(name, &DeleteParams::default()).await).map(drop)
    }
}
