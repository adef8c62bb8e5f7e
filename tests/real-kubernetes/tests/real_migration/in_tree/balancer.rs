//! Load balancers as the provider inside made them: under its names, without a tag, an annotation or a description of the floating IP,
//! and one object after the other. It finds them by the name that comes from the Service's UID, and by nothing else.

use std::time::Duration;

use anyhow::Context;
use http::Method;
use k8s_openapi::api::core::v1::{Service, ServicePort};
use kube::ResourceExt;
use real_kubernetes_tests::migration::request::Writer;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::cloud::Door;
use crate::harness::old_balancer_name;

const OCTAVIA: &str = "load-balancer";
const NEUTRON: &str = "network";
const LOOK: Duration = Duration::from_millis(20);

/// A node that takes connections.
pub(super) struct Backend {
    pub(super) node: String,
    pub(super) address: String,
}

/// The load balancers, for one process.
pub(super) struct Balancers {
    pub(super) door: Door,
    pub(super) writer: Writer,
    pub(super) subnet: String,
    pub(super) floating_network: String,
}

impl Balancers {
    /// Makes the load balancer of a Service as it asks; its address.
    pub(super) async fn ensure(&self, service: &Service, backends: &[Backend]) -> anyhow::Result<String> {
        let name = old_balancer_name(&service.uid().unwrap_or_default());
        let balancer = match self.find(&name).await? {
            Some(found) => found,
            None => self.make(&name).await?,
        };
        let id = text(&balancer, "id");
        self.until_active(&id).await?;
        let mut surplus = self.list("listeners", &format!("?loadbalancer_id={id}")).await?;
        let ports = service.spec.as_ref().and_then(|spec| spec.ports.clone()).unwrap_or_default();
        for (place, port) in ports.iter().enumerate() {
            let at = surplus.iter().position(|each| each["protocol_port"] == json!(port.port));
            let listener = match at {
                Some(at) => surplus.remove(at),
                None => self.add_listener(&id, &name, place, port).await?,
            };
            self.ensure_pool(&id, &text(&listener, "id"), &format!("{name}_{place}"), port, backends).await?;
        }
        for listener in surplus {
            self.remove_listener(&id, &text(&listener, "id")).await?;
        }
        self.address(&balancer).await
    }

    /// Takes the load balancer of a Service away, with its floating IP.
    pub(super) async fn remove(&self, service: &Service) -> anyhow::Result<()> {
        let name = old_balancer_name(&service.uid().unwrap_or_default());
        let Some(balancer) = self.find(&name).await? else { return Ok(()) };
        let id = text(&balancer, "id");
        for floating in self.floating_ips(&balancer).await? {
            let path = format!("/v2.0/floatingips/{}", text(&floating, "id"));
            self.ask(Method::DELETE, [NEUTRON, &path], None).await?;
        }
        for listener in self.list("listeners", &format!("?loadbalancer_id={id}")).await? {
            self.remove_listener(&id, &text(&listener, "id")).await?;
        }
        self.delete("loadbalancers", &id).await
    }

    async fn find(&self, name: &str) -> anyhow::Result<Option<Value>> {
        Ok(self.list("loadbalancers", &format!("?name={name}")).await?.into_iter().next())
    }

    async fn make(&self, name: &str) -> anyhow::Result<Value> {
        let wanted = json!({
            "name": name, "description": format!("Kubernetes external service {name}"),
            "vip_subnet_id": self.subnet, "provider": "amphora",
        });
        self.create("loadbalancers", "loadbalancer", wanted).await
    }

    async fn add_listener(
        &self,
        id: &str,
        name: &str,
        place: usize,
        port: &ServicePort,
    ) -> anyhow::Result<Value> {
        let wanted = json!({
            "name": format!("listener_{name}_{place}"), "protocol": "TCP",
            "protocol_port": port.port, "loadbalancer_id": id,
        });
        let made = self.create("listeners", "listener", wanted).await?;
        self.until_active(id).await?;
        Ok(made)
    }

    /// The pool of a listener with its members and its monitor. `ending` is how the names of all of them end.
    async fn ensure_pool(
        &self,
        id: &str,
        listener: &str,
        ending: &str,
        port: &ServicePort,
        backends: &[Backend],
    ) -> anyhow::Result<()> {
        let pool = match self.pool(id, listener).await? {
            Some(found) => found,
            None => {
                let wanted = json!({
                    "name": format!("pool_{ending}"), "protocol": "TCP",
                    "lb_algorithm": "ROUND_ROBIN", "listener_id": listener,
                });
                self.create("pools", "pool", wanted).await?
            }
        };
        self.until_active(id).await?;
        let pool_id = text(&pool, "id");
        let port = port.node_port.context("a Service without a node port")?;
        self.ensure_members(id, &pool_id, ending, port, backends).await?;
        if pool["healthmonitor_id"].as_str().unwrap_or_default().is_empty() {
            let wanted = json!({
                "name": format!("monitor_{ending}"), "pool_id": pool_id, "type": "TCP",
                "delay": 5, "timeout": 3, "max_retries": 1,
            });
            self.create("healthmonitors", "healthmonitor", wanted).await?;
            self.until_active(id).await?;
        }
        Ok(())
    }

    async fn ensure_members(
        &self,
        id: &str,
        pool: &str,
        ending: &str,
        port: i32,
        backends: &[Backend],
    ) -> anyhow::Result<()> {
        let mut surplus = self.list(&format!("pools/{pool}/members"), "").await?;
        for Backend { node, address } in backends {
            let at = surplus
                .iter()
                .position(|each| each["address"] == json!(address) && each["protocol_port"] == json!(port));
            if let Some(at) = at {
                surplus.remove(at);
                continue;
            }
            let wanted = json!({
                "name": format!("member_{ending}_{node}"), "address": address,
                "protocol_port": port, "subnet_id": self.subnet,
            });
            self.create(&format!("pools/{pool}/members"), "member", wanted).await?;
            self.until_active(id).await?;
        }
        for member in surplus {
            self.delete(&format!("pools/{pool}/members"), &text(&member, "id")).await?;
            self.until_active(id).await?;
        }
        Ok(())
    }

    async fn pool(&self, id: &str, listener: &str) -> anyhow::Result<Option<Value>> {
        let pools = self.list("pools", &format!("?loadbalancer_id={id}")).await?;
        Ok(pools.into_iter().find(|pool| {
            pool["listeners"]
                .as_array()
                .is_some_and(|all| all.iter().any(|each| each["id"] == json!(listener)))
        }))
    }

    async fn remove_listener(&self, id: &str, listener: &str) -> anyhow::Result<()> {
        if let Some(pool) = self.pool(id, listener).await? {
            let monitor = text(&pool, "healthmonitor_id");
            if !monitor.is_empty() {
                self.delete("healthmonitors", &monitor).await?;
                self.until_active(id).await?;
            }
            self.delete("pools", &text(&pool, "id")).await?;
            self.until_active(id).await?;
        }
        self.delete("listeners", listener).await?;
        self.until_active(id).await
    }

    /// The floating IP of a load balancer, made if there is none.
    async fn address(&self, balancer: &Value) -> anyhow::Result<String> {
        if let Some(found) = self.floating_ips(balancer).await?.first() {
            return Ok(text(found, "floating_ip_address"));
        }
        let wanted = json!({ "floatingip": {
            "floating_network_id": self.floating_network, "port_id": balancer["vip_port_id"],
        } });
        let made = self.ask(Method::POST, [NEUTRON, "/v2.0/floatingips"], Some(wanted)).await?;
        Ok(text(&made["floatingip"], "floating_ip_address"))
    }

    async fn floating_ips(&self, balancer: &Value) -> anyhow::Result<Vec<Value>> {
        let path = format!("/v2.0/floatingips?port_id={}", text(balancer, "vip_port_id"));
        let all = self.ask(Method::GET, [NEUTRON, &path], None).await?;
        Ok(all["floatingips"].as_array().cloned().unwrap_or_default())
    }

    async fn until_active(&self, id: &str) -> anyhow::Result<()> {
        let path = format!("/v2.0/lbaas/loadbalancers/{id}");
        loop {
            let found = self.ask(Method::GET, [OCTAVIA, &path], None).await?;
            match found["loadbalancer"]["provisioning_status"].as_str() {
                Some("ACTIVE") => return Ok(()),
                Some("ERROR") => anyhow::bail!("load balancer {id} is in ERROR"),
                _ => sleep(LOOK).await,
            }
        }
    }

    async fn list(&self, kind: &str, query: &str) -> anyhow::Result<Vec<Value>> {
        let found = self.ask(Method::GET, [OCTAVIA, &format!("/v2.0/lbaas/{kind}{query}")], None).await?;
        let key = kind.rsplit('/').next().unwrap_or(kind);
        found[key].as_array().cloned().with_context(|| format!("no {key}"))
    }

    async fn create(&self, kind: &str, one: &str, wanted: Value) -> anyhow::Result<Value> {
        let path = format!("/v2.0/lbaas/{kind}");
        let made = self.ask(Method::POST, [OCTAVIA, &path], Some(json!({ one: wanted }))).await?;
        Ok(made[one].clone())
    }

    async fn delete(&self, kind: &str, id: &str) -> anyhow::Result<()> {
        self.ask(Method::DELETE, [OCTAVIA, &format!("/v2.0/lbaas/{kind}/{id}")], None).await.map(drop)
    }

    async fn ask(&self, method: Method, place: [&str; 2], body: Option<Value>) -> anyhow::Result<Value> {
        self.door.ask(&self.writer, method, place, body).await
    }
}

fn text(of: &Value, key: &str) -> String {
    of[key].as_str().unwrap_or_default().to_owned()
}
