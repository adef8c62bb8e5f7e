//! What a load balancer has at its ports, and whether it is what a Service asks for.

use std::collections::BTreeSet;

use anyhow::Context;
use bowline_testkit::services::load_balancer_id;
use real_cloud::Server;
use serde_json::Value;

use super::{Harness, Whole};
use crate::waiting::until;

impl Whole {
    /// The listener at a port; null if there is none.
    pub(crate) fn listener(&self, port: u64) -> &Value {
        let mut here = self.listeners.iter().filter(|listener| listener["protocol_port"] == port);
        here.next().unwrap_or(&Value::Null)
    }

    /// The pool behind a port; null if there is none.
    pub(crate) fn pool(&self, port: u64) -> &Value {
        self.place(port).and_then(|place| self.pools.get(place)).unwrap_or(&Value::Null)
    }

    /// The members behind a port.
    pub(crate) fn members(&self, port: u64) -> &[Value] {
        self.place(port).and_then(|place| self.members.get(place)).map_or(&[], Vec::as_slice)
    }

    /// The monitor of the pool behind a port; null if there is none.
    pub(crate) fn monitor(&self, port: u64) -> &Value {
        let id = &self.pool(port)["healthmonitor_id"];
        let mut here = self.monitors.iter().filter(|monitor| id.is_string() && monitor["id"] == *id);
        here.next().unwrap_or(&Value::Null)
    }

    fn place(&self, port: u64) -> Option<usize> {
        let id = self.listener(port)["default_pool_id"].as_str()?;
        self.pools.iter().position(|pool| pool["id"] == id)
    }

    /// Whether nothing of it is being changed, and nothing was given up.
    pub(crate) fn rests(&self) -> bool {
        let kinds = [&self.listeners, &self.pools, &self.monitors].into_iter().chain(&self.members);
        let all = kinds.flatten().chain([&self.balancer]);
        all.into_iter().all(|thing| thing["provisioning_status"] == "ACTIVE")
    }

    /// The names of the Nodes behind a port.
    pub(crate) fn nodes(&self, port: u64) -> BTreeSet<String> {
        self.members(port).iter().filter_map(|member| member["name"].as_str().map(str::to_owned)).collect()
    }

    /// Whether there is a listener, a pool, and the Nodes at their node port, for each port of a Service, and nothing else.
    pub(crate) fn serves(&self, service: &Value, nodes: &[&Server]) -> bool {
        let ports: Vec<_> = service["spec"]["ports"].as_array().into_iter().flatten().collect();
        self.rests()
            && self.listeners.len() == ports.len()
            && self.pools.len() == ports.len()
            && ports.iter().all(|port| self.serves_port(port, nodes))
    }

    fn serves_port(&self, port: &Value, nodes: &[&Server]) -> bool {
        let number = port["port"].as_u64().unwrap_or_default();
        let members: BTreeSet<_> = self.members(number).iter().map(member_of).collect();
        let wanted: BTreeSet<_> = nodes
            .iter()
            .map(|node| (node.name.as_str(), node.address.as_str(), port["nodePort"].as_u64()))
            .collect();
        self.listener(number)["protocol"] == port["protocol"] && members == wanted
    }
}

fn member_of(member: &Value) -> (&str, &str, Option<u64>) {
    let text = |key: &str| member[key].as_str().unwrap_or_default();
    (text("name"), text("address"), member["protocol_port"].as_u64())
}

impl Harness<'_> {
    /// The servers of the estate.
    pub(crate) fn servers(&self) -> Vec<&Server> {
        self.world.about().estate.servers.iter().collect()
    }

    /// Waits until the load balancer of a Service is what the Service asks for, with these Nodes and nothing else.
    pub(crate) async fn until_served(
        &self,
        name: &str,
        what: &str,
        nodes: &[&Server],
    ) -> anyhow::Result<(Value, Whole)> {
        self.until_both(name, what, |service, whole| whole.serves(service, nodes)).await
    }

    /// Waits until a Service and its load balancer are both as wanted and at rest.
    pub(crate) async fn until_both(
        &self,
        name: &str,
        what: &str,
        wanted: impl Fn(&Value, &Whole) -> bool,
    ) -> anyhow::Result<(Value, Whole)> {
        let mut last = String::new();
        let seen = until(what, async || {
            let service = self.services.get(name).await?;
            let whole = self.whole(load_balancer_id(&service)?).await?;
            last = format!("{service:#}\n{whole:#?}");
            Ok((whole.rests() && wanted(&service, &whole)).then_some((service, whole)))
        })
        .await;
        seen.with_context(|| format!("{last}\n{}", self.tail()))
    }
}
