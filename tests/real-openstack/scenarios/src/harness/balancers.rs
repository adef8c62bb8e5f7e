//! What the cluster has in the cloud, as the cloud tells it.

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::{Harness, NAMESPACE};
use crate::openstack::Api::{LoadBalancer, Network};
use crate::waiting::until;

/// A load balancer with all that hangs on it, as the API shows it.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) balancer: Value,
    pub(crate) listeners: Vec<Value>,
    pub(crate) pools: Vec<Value>,
    pub(crate) monitors: Vec<Value>,
    /// The members of each pool, in the order of the pools.
    pub(crate) members: Vec<Vec<Value>>,
}

impl Harness<'_> {
    /// The load balancers that are named after this cluster.
    pub(crate) async fn balancers(&self) -> anyhow::Result<Vec<Value>> {
        let prefix = format!("kube_service_{}_", self.name);
        let rows = self.world.member.list(LoadBalancer, "loadbalancers", "loadbalancers").await?;
        Ok(rows.into_iter().filter(|row| starts(&row["name"], &prefix)).collect())
    }

    /// The one load balancer of a Service; that there are two is an error.
    pub(crate) async fn balancer_of(&self, service: &str) -> anyhow::Result<Option<Value>> {
        let name = format!("kube_service_{}_{NAMESPACE}_{service}", self.name);
        let path = format!("loadbalancers?name={name}");
        let mut rows = self.world.member.list(LoadBalancer, &path, "loadbalancers").await?;
        ensure!(rows.len() <= 1, "{} load balancers are named {name}: {rows:#?}", rows.len());
        Ok(rows.pop())
    }

    /// Everything of a load balancer.
    pub(crate) async fn whole(&self, id: &str) -> anyhow::Result<Whole> {
        let member = &self.world.member;
        let mut answer = member.get(LoadBalancer, &format!("loadbalancers/{id}")).await?;
        let of_it = |kind: &str| format!("{kind}?loadbalancer_id={id}");
        let listeners = member.list(LoadBalancer, &of_it("listeners"), "listeners").await?;
        let pools = member.list(LoadBalancer, &of_it("pools"), "pools").await?;
        let (mut members, mut monitors) = (Vec::new(), Vec::new());
        for pool in &pools {
            let pool_id = pool["id"].as_str().unwrap_or_default();
            members.push(member.list(LoadBalancer, &format!("pools/{pool_id}/members"), "members").await?);
            if let Some(monitor) = pool["healthmonitor_id"].as_str() {
                let mut shown = member.get(LoadBalancer, &format!("healthmonitors/{monitor}")).await?;
                monitors.push(shown["healthmonitor"].take());
            }
        }
        Ok(Whole { balancer: answer["loadbalancer"].take(), listeners, pools, monitors, members })
    }

    /// Waits until a load balancer with all that hangs on it is as wanted.
    pub(crate) async fn until_whole(
        &self,
        id: &str,
        what: &str,
        wanted: impl Fn(&Whole) -> bool,
    ) -> anyhow::Result<Whole> {
        let mut last = String::new();
        let seen = until(what, async || {
            let whole = self.whole(id).await?;
            last = format!("{whole:#?}");
            Ok(Some(whole).filter(&wanted))
        })
        .await;
        seen.with_context(|| format!("{last}\n{}", self.tail()))
    }

    /// The floating IPs that were made for this cluster's Services.
    pub(crate) async fn floating_ips(&self) -> anyhow::Result<Vec<Value>> {
        let end = format!(" from cluster {}", self.name);
        let rows = self.world.member.list(Network, "floatingips", "floatingips").await?;
        Ok(rows
            .into_iter()
            .filter(|row| row["description"].as_str().is_some_and(|text| text.ends_with(&end)))
            .collect())
    }

    /// The floating IP at the port of a load balancer.
    pub(crate) async fn floating_ip_of(&self, balancer: &Value) -> anyhow::Result<Option<Value>> {
        let port = balancer["vip_port_id"].as_str().context("a load balancer without a port")?;
        let path = format!("floatingips?port_id={port}");
        Ok(self.world.member.list(Network, &path, "floatingips").await?.pop())
    }

    /// The security groups that were made for this cluster's Services.
    pub(crate) async fn security_groups(&self) -> anyhow::Result<Vec<Value>> {
        let rows = self.world.member.list(Network, "security-groups", "security_groups").await?;
        let part = format!("-{}", self.name);
        Ok(rows
            .into_iter()
            .filter(|row| starts(&row["name"], "lb-sg-"))
            .filter(|row| {
                row["description"].as_str().is_some_and(|text| text.contains(&self.name))
                    || row["name"].as_str().is_some_and(|name| name.contains(&part))
            })
            .collect())
    }

    /// Waits until nothing of this cluster is left in the cloud.
    pub(crate) async fn nothing_left(&self) -> anyhow::Result<()> {
        let mut last = Value::Null;
        let seen = until("nothing is left in the cloud", async || {
            last = json!({
                "loadbalancers": self.balancers().await?, "floatingips": self.floating_ips().await?,
                "security_groups": self.security_groups().await?,
            });
            let empty = |rows: &Value| rows.as_array().is_some_and(Vec::is_empty);
            Ok(last.as_object().is_some_and(|kinds| kinds.values().all(empty)).then_some(()))
        });
        let seen = seen.await;
        seen.with_context(|| format!("{last:#}\n{}", self.tail()))
    }
}

fn starts(value: &Value, prefix: &str) -> bool {
    value.as_str().is_some_and(|text| text.starts_with(prefix))
}
