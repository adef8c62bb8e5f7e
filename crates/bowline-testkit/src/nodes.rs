//! Nodes as kubelets register them and report on them, and as managers initialise them.

use anyhow::Context;
use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::wait::Wait;

/// The taint of a Node that waits for its cloud-controller-manager.
pub const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// The Nodes of a cluster.
#[derive(Clone)]
pub struct Nodes {
    /// For what has no method here.
    pub api: Api<Node>,
    wait: Wait,
}

impl Nodes {
    /// Those of a cluster, as this client may use them.
    #[must_use]
    pub fn of(client: &Client) -> Self {
        Self { api: Api::all(client.clone()), wait: Wait::default() }
    }

    /// Waits in this way.
    #[must_use]
    pub fn waiting(self, wait: Wait) -> Self {
        Self { wait, ..self }
    }

    /// Creates one, with its status, as kubelets do.
    ///
    /// # Errors
    /// When it is no Node, or the API server refuses it.
    pub async fn create(&self, node: Value) -> anyhow::Result<Node> {
        let node: Node = serde_json::from_value(node)?;
        self.api.create(&PostParams::default(), &node).await.context("create a Node")
    }

    /// Changes one by a merge patch.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn edit(&self, name: &str, patch: &Value) -> anyhow::Result<()> {
        self.api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Its kubelet reports whether it is ready (`True`, `False`), or is not heard of any more (`Unknown`).
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn report_ready(&self, name: &str, status: &str) -> anyhow::Result<()> {
        let patch =
            json!({"status": {"conditions": [{"type": "Ready", "status": status, "reason": "Test"}]}});
        self.api.patch_status(name, &PatchParams::default(), &Patch::Strategic(patch)).await?;
        Ok(())
    }

    /// Deletes one.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn delete(&self, name: &str) -> anyhow::Result<()> {
        self.api.delete(name, &DeleteParams::default()).await.map(drop).context("delete a Node")
    }

    /// Waits until one is as wanted.
    ///
    /// # Errors
    /// With the Node as it was last, when that does not come.
    pub async fn until(
        &self,
        name: &str,
        what: &str,
        wanted: impl Fn(&Node) -> bool,
    ) -> anyhow::Result<Node> {
        let mut last = None;
        let found = self.wait.until(format!("Node {name} {what}"), async || {
            last = self.api.get_opt(name).await?;
            Ok(last.clone().filter(&wanted))
        });
        let found = found.await;
        found.with_context(|| format!("{last:#?}"))
    }

    /// Waits until one is gone.
    ///
    /// # Errors
    /// When it is not gone in time.
    pub async fn until_gone(&self, name: &str) -> anyhow::Result<()> {
        let is_gone = async || Ok(self.api.get_opt(name).await?.is_none().then_some(()));
        self.wait.until(format!("Node {name} is gone"), is_gone).await
    }
}

/// A Node as a kubelet with `--cloud-provider=external` registers it: tainted, with the UUID of its machine.
#[must_use]
pub fn registered(name: &str, system_uuid: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {"taints": [{"key": UNINITIALIZED, "value": "true", "effect": "NoSchedule"}]},
        "status": {"nodeInfo": {
            "systemUUID": system_uuid, "architecture": "amd64", "bootID": "", "containerRuntimeVersion": "",
            "kernelVersion": "", "kubeProxyVersion": "", "kubeletVersion": "", "machineID": "",
            "operatingSystem": "linux", "osImage": "",
        }},
    })
}

/// A Node that a cloud-controller-manager for OpenStack has initialised, of this server and with these internal addresses. It is ready.
#[must_use]
pub fn initialized(name: &str, server: &str, addresses: &[&str]) -> Value {
    let internal = addresses.iter().map(|address| json!({"type": "InternalIP", "address": address}));
    let addresses: Vec<Value> = internal.chain([json!({"type": "Hostname", "address": name})]).collect();
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {"providerID": format!("openstack:///{server}")},
        "status": {"addresses": addresses, "conditions": [{"type": "Ready", "status": "True", "reason": "Test"}]},
    })
}

/// Whether a cloud-controller-manager has initialised it.
#[must_use]
pub fn is_initialized(node: &Node) -> bool {
    taints(node).iter().all(|taint| taint != UNINITIALIZED)
}

/// Its addresses, each as type and text.
#[must_use]
pub fn addresses(node: &Node) -> Vec<(String, String)> {
    let addresses = node.status.as_ref().and_then(|status| status.addresses.as_ref());
    addresses.into_iter().flatten().map(|one| (one.type_.clone(), one.address.clone())).collect()
}

/// Its provider ID; empty if it has none.
#[must_use]
pub fn provider_id(node: &Node) -> &str {
    node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()).unwrap_or_default()
}

/// The keys of its taints.
#[must_use]
pub fn taints(node: &Node) -> Vec<String> {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    taints.into_iter().flatten().map(|taint| taint.key.clone()).collect()
}
