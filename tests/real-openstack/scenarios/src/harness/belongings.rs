//! What a scenario itself makes in the cloud: networks, ports, trunks. All of it is named after the cluster, so that the sweep finds
//! it, also if the scenario failed half-way.

use anyhow::Context;
use http::Method;
use serde_json::{Value, json};

use super::Harness;
use crate::openstack::Api::{Compute, Identity, LoadBalancer, Network};
use crate::openstack::{Api, OpenStack};
use crate::waiting::until;

/// A network with one subnet.
#[derive(Clone, Debug)]
pub(crate) struct Lan {
    pub(crate) name: String,
    pub(crate) id: String,
}

impl Harness<'_> {
    /// The name of something that goes with this cluster.
    pub(crate) fn called(&self, what: &str) -> String {
        format!("{}-{what}", self.name)
    }

    /// A network of its own.
    pub(crate) async fn lan(&self, what: &str, cidr: &str) -> anyhow::Result<Lan> {
        let (name, member) = (self.called(what), &self.world.member);
        let made = member.post(Network, "networks", &json!({"network": {"name": name}})).await?;
        let id = id_of(&made["network"])?;
        let subnet = json!({"name": name, "network_id": id, "ip_version": 4, "cidr": cidr});
        member.post(Network, "subnets", &json!({"subnet": subnet})).await?;
        Ok(Lan { name, id })
    }

    /// A port in a network.
    pub(crate) async fn port(&self, what: &str, network: &str) -> anyhow::Result<Value> {
        let port = json!({"name": self.called(what), "network_id": network});
        let mut made = self.world.member.post(Network, "ports", &json!({"port": port})).await?;
        Ok(made["port"].take())
    }

    /// A trunk at one port that carries another.
    pub(crate) async fn trunk(&self, parent: &Value, carried: &Value) -> anyhow::Result<()> {
        let sub_port = json!({"port_id": carried["id"], "segmentation_type": "vlan", "segmentation_id": 101});
        let trunk = json!({"name": self.called("trunk"), "port_id": parent["id"], "sub_ports": [sub_port]});
        self.world.member.post(Network, "trunks", &json!({"trunk": trunk})).await.map(drop)
    }

    /// A floating IP at a port.
    pub(crate) async fn floating_ip_at(&self, port: &Value) -> anyhow::Result<Value> {
        let network = &self.world.about().estate.external_network;
        let wanted = json!({
            "floating_network_id": network, "port_id": port["id"], "description": self.called("scenario"),
        });
        let mut made = self.world.member.post(Network, "floatingips", &json!({"floatingip": wanted})).await?;
        Ok(made["floatingip"].take())
    }

    /// Deletes all that is named after this cluster, whoever made it.
    pub(crate) async fn sweep(&self) -> anyhow::Result<()> {
        let member = &self.world.member;
        for balancer in self.balancers().await? {
            let path = format!("loadbalancers/{}?cascade=true", id_of(&balancer)?);
            until("a load balancer is deleted", async || member.delete(LoadBalancer, &path).await.map(Some))
                .await?;
        }
        for floating_ip in self.floating_ips().await? {
            member.delete(Network, &format!("floatingips/{}", id_of(&floating_ip)?)).await?;
        }
        self.delete_named(member, Network, "floatingips", "description").await?;
        self.delete_named(member, Compute, "servers", "name").await?;
        until("the servers of the scenario are gone", async || {
            Ok(self.named(member, Compute, "servers", "name").await?.is_empty().then_some(()))
        })
        .await?;
        for kind in ["trunks", "ports", "networks"] {
            self.delete_named(member, Network, kind, "name").await?;
        }
        for kind in ["users", "projects"] {
            self.delete_named(&self.world.admin, Identity, kind, "name").await?;
        }
        Ok(())
    }

    async fn named(&self, who: &OpenStack, api: Api, kind: &str, field: &str) -> anyhow::Result<Vec<Value>> {
        let prefix = format!("{}-", self.name);
        let mut rows = who.list(api, kind, kind).await?;
        rows.retain(|row| row[field].as_str().is_some_and(|text| text.starts_with(&prefix)));
        Ok(rows)
    }

    async fn delete_named(&self, who: &OpenStack, api: Api, kind: &str, field: &str) -> anyhow::Result<()> {
        for row in self.named(who, api, kind, field).await? {
            let path = format!("{kind}/{}", id_of(&row)?);
            until(&format!("{path} is deleted"), async || who.delete(api, &path).await.map(Some)).await?;
        }
        Ok(())
    }

    /// Stops or starts a server, and waits until it has happened.
    pub(crate) async fn power(&self, server: &str, on: bool) -> anyhow::Result<()> {
        let (action, status) = if on { ("os-start", "ACTIVE") } else { ("os-stop", "SHUTOFF") };
        let path = format!("servers/{server}");
        let asked = json!({action: null});
        let action = format!("{path}/action");
        let (code, answer) = self.world.member.ask(Method::POST, Compute, &action, Some(&asked)).await?;
        anyhow::ensure!(code.is_success(), "{action}: {code} {answer}");
        until(&format!("server {server} is {status}"), async || {
            let server = self.world.member.get(Compute, &path).await?;
            Ok((server["server"]["status"] == status).then_some(()))
        })
        .await
    }

    /// Deletes a server, and waits until Nova knows nothing of it.
    pub(crate) async fn scrap(&self, server: &str) -> anyhow::Result<()> {
        let path = format!("servers/{server}");
        self.world.member.delete(Compute, &path).await?;
        until(&format!("server {server} is gone"), async || {
            Ok(self.world.member.find(Compute, &path).await?.is_none().then_some(()))
        })
        .await
    }
}

/// The id of something that the cloud shows.
pub(crate) fn id_of(shown: &Value) -> anyhow::Result<String> {
    let id = shown["id"].as_str().map(str::to_owned);
    id.with_context(|| format!("nothing with an id: {shown:#}"))
}
