//! The part of the kubelets: Nodes of servers, as they register and as they report.

use anyhow::Context;
use bowline_testkit::nodes::{is_initialized, registered};
use k8s_openapi::api::core::v1::Node;
use real_cloud::Server;
use serde_json::{Value, json};

use super::Harness;
use crate::waiting::until;

impl Harness<'_> {
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
        self.nodes.report_ready(name, "True").await?;
        Ok(node)
    }

    /// A Node as a kubelet registers it that leaves the rest to the manager.
    pub(crate) async fn register(&self, name: &str, system_uuid: &str) -> anyhow::Result<()> {
        self.nodes.create(registered(name, system_uuid)).await.map(drop)
    }

    /// Waits until a Node is initialised.
    pub(crate) async fn until_initialised(&self, name: &str) -> anyhow::Result<Node> {
        self.nodes.until(name, "initialised", is_initialized).await
    }

    /// Labels a Node, or takes the label away.
    pub(crate) async fn label_node(&self, name: &str, key: &str, value: Option<&str>) -> anyhow::Result<()> {
        self.nodes.edit(name, &json!({"metadata": {"labels": {key: value}}})).await
    }

    /// Gives a Node the ranges of its pods, as the controller of Kubernetes does that hands them out.
    pub(crate) async fn give_pod_ranges(&self, name: &str, ranges: &[String]) -> anyhow::Result<()> {
        self.nodes.edit(name, &json!({"spec": {"podCIDR": ranges.first(), "podCIDRs": ranges}})).await
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
