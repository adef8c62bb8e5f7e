//! The part of the kubelets: Nodes of servers, as they register and as they report.

use anyhow::Context;
use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use real_cloud::Server;
use serde_json::{Value, json};

use super::Site;
use crate::patience::until;

/// The taint of a Node that waits for the manager.
pub(crate) const UNINITIALISED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

impl Site<'_> {
    /// A Node for each server of the estate, initialised by the manager, which has to run, and ready.
    pub(crate) async fn join_all(&self) -> anyhow::Result<()> {
        for server in &self.world.about().estate.servers {
            self.join(&server.name, &server.id).await?;
        }
        Ok(())
    }

    /// A Node joins, is initialised by the manager, and gets ready.
    pub(crate) async fn join(&self, name: &str, server: &str) -> anyhow::Result<Node> {
        self.register(name, server).await?;
        let node = self.until_initialised(name).await?;
        self.report_ready(name, true).await?;
        Ok(node)
    }

    /// A Node as a kubelet registers it that leaves the rest to the manager.
    pub(crate) async fn register(&self, name: &str, system_uuid: &str) -> anyhow::Result<()> {
        self.register_as(new_node(name, system_uuid)).await.map(drop)
    }

    /// A Node as a kubelet with flags of its own registers it.
    pub(crate) async fn register_as(&self, node: Value) -> anyhow::Result<Node> {
        Ok(self.nodes.create(&PostParams::default(), &serde_json::from_value(node)?).await?)
    }

    /// Waits until a Node is initialised.
    pub(crate) async fn until_initialised(&self, name: &str) -> anyhow::Result<Node> {
        self.until_node(name, "initialised", is_initialised).await
    }

    /// A kubelet reports that it is ready, or is not heard of any more.
    pub(crate) async fn report_ready(&self, name: &str, ready: bool) -> anyhow::Result<()> {
        let status = if ready { "True" } else { "Unknown" };
        let patch =
            json!({"status": {"conditions": [{"type": "Ready", "status": status, "reason": "Scenario"}]}});
        self.nodes.patch_status(name, &PatchParams::default(), &Patch::Strategic(patch)).await?;
        Ok(())
    }

    /// Labels a Node, or takes the label away.
    pub(crate) async fn label_node(&self, name: &str, key: &str, value: Option<&str>) -> anyhow::Result<()> {
        let patch = json!({"metadata": {"labels": {key: value}}});
        self.nodes.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Gives a Node the ranges of its pods, as the controller of Kubernetes does that hands them out.
    pub(crate) async fn give_pod_ranges(&self, name: &str, ranges: &[String]) -> anyhow::Result<()> {
        let patch = json!({"spec": {"podCIDR": ranges.first(), "podCIDRs": ranges}});
        self.nodes.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Somebody deletes a Node.
    pub(crate) async fn remove_node(&self, name: &str) -> anyhow::Result<()> {
        self.nodes.delete(name, &DeleteParams::default()).await.map(drop).context("delete a Node")
    }

    /// Waits until a Node is as wanted.
    pub(crate) async fn until_node(
        &self,
        name: &str,
        what: &str,
        wanted: impl Fn(&Node) -> bool,
    ) -> anyhow::Result<Node> {
        let mut last = None;
        let seen = until(&format!("Node {name} {what}"), async || {
            last = self.nodes.get_opt(name).await?;
            Ok(last.clone().filter(&wanted))
        })
        .await;
        seen.with_context(|| format!("the Node: {last:#?}\n{}", self.tail()))
    }

    /// Waits until a Node is gone.
    pub(crate) async fn until_node_gone(&self, name: &str) -> anyhow::Result<()> {
        let seen = until(&format!("Node {name} is gone"), async || {
            Ok(self.nodes.get_opt(name).await?.is_none().then_some(()))
        })
        .await;
        seen.with_context(|| self.tail())
    }

    /// Boots a server, and waits until it runs. The caller deletes it.
    pub(crate) async fn boot(&self, name: &str, more: &Value) -> anyhow::Result<Server> {
        use crate::openstack::Api::Compute;
        let estate = &self.world.about().estate;
        let mut server = json!({
            "name": name, "imageRef": estate.image, "flavorRef": estate.flavor,
            "networks": [{"uuid": estate.network}],
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            server[key] = value.clone();
        }
        let made = self.world.member.post(Compute, "servers", &json!({"server": server})).await?;
        let id = made["server"]["id"].as_str().context("a server without an id")?.to_owned();
        let running = until(&format!("server {name} runs"), async || {
            let server = self.world.member.get(Compute, &format!("servers/{id}")).await?;
            Ok((server["server"]["status"] == "ACTIVE").then_some(server))
        })
        .await?;
        let networks = running["server"]["addresses"].as_object().context("no addresses")?;
        let rows: Vec<_> = networks.values().flat_map(|rows| rows.as_array().into_iter().flatten()).collect();
        let first = |version: u64| rows.iter().find(|row| row["version"] == version).map(|row| &row["addr"]);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Ok(Server {
            name: name.to_owned(),
            id,
            zone: text(&running["server"]["OS-EXT-AZ:availability_zone"]),
            address: first(4).map(text).unwrap_or_default(),
            address6: first(6).map(text).unwrap_or_default(),
        })
    }
}

/// A Node as it registers, tainted.
pub(crate) fn new_node(name: &str, system_uuid: &str) -> Value {
    json!({
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {"taints": [{
            "key": UNINITIALISED, "value": "true", "effect": "NoSchedule",
        }]},
        "status": {"nodeInfo": {
            "systemUUID": system_uuid, "architecture": "amd64", "bootID": "", "containerRuntimeVersion": "",
            "kernelVersion": "", "kubeProxyVersion": "", "kubeletVersion": "", "machineID": "",
            "operatingSystem": "linux", "osImage": "",
        }},
    })
}

/// Whether the manager has done its part.
pub(crate) fn is_initialised(node: &Node) -> bool {
    taints(node).iter().all(|taint| taint != UNINITIALISED)
}

/// Its addresses, each as kind and text.
pub(crate) fn addresses(node: &Node) -> Vec<(String, String)> {
    let addresses = node.status.as_ref().and_then(|status| status.addresses.as_ref());
    addresses.into_iter().flatten().map(|one| (one.type_.clone(), one.address.clone())).collect()
}

/// Its provider ID; empty if it has none.
pub(crate) fn provider_id(node: &Node) -> &str {
    node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()).unwrap_or_default()
}

/// The keys of its taints.
pub(crate) fn taints(node: &Node) -> Vec<String> {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    taints.into_iter().flatten().map(|taint| taint.key.clone()).collect()
}
