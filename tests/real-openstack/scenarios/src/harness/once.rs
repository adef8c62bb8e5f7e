//! That a Service has everything exactly once.

use std::collections::BTreeSet;

use anyhow::{Context, ensure};
use bowline_testkit::services::{address, load_balancer_id};
use k8s_openapi::api::core::v1::Service;
use serde_json::Value;

use super::Harness;
use super::balancers::Whole;
use crate::waiting::until;

impl Harness<'_> {
    /// Waits until a Service is ready, and has its load balancer, listeners, members and floating IP exactly once. The answer is the
    /// load balancer.
    pub(crate) async fn served_once(&self, name: &str) -> anyhow::Result<Whole> {
        let service = self.services.until_ready(name).await?;
        let balancer = self.balancer_of(name).await?.context("no load balancer")?;
        ensure!(
            balancer["id"] == load_balancer_id(&service)?,
            "another one is noted on {name}: {balancer:#}"
        );
        let what = format!("{name} has its listeners");
        let whole = self.until_whole(load_balancer_id(&service)?, &what, |whole| {
            ports_of(&whole.listeners) == ports_of_service(&service)
                && whole.balancer["provisioning_status"] == "ACTIVE"
        });
        let whole = whole.await?;
        let floating = self.floating_ip_of(&balancer).await?.context("no floating IP")?;
        ensure!(floating["floating_ip_address"].as_str() == address(&service), "{floating:#} {service:#}");
        Ok(whole)
    }

    /// Waits until the cloud has as many load balancers and floating IPs for the cluster as it has Services with a load balancer.
    pub(crate) async fn nothing_doubled(&self) -> anyhow::Result<usize> {
        let services = self.services.list().await?;
        let wanted = services.iter().filter(|service| wants_balancer(service)).count();
        let mut last = String::new();
        let seen = until("there is one of each for each Service", async || {
            let (balancers, floating) = (self.balancers().await?, self.floating_ips().await?);
            let found = (balancers.len(), floating.len());
            last = format!("{wanted} Services; {balancers:#?} {floating:#?}");
            Ok((found == (wanted, wanted)).then_some(()))
        });
        seen.await.with_context(|| format!("{last}\n{}", self.tail()))?;
        Ok(wanted)
    }
}

fn wants_balancer(service: &Service) -> bool {
    let kind = service.spec.as_ref().and_then(|spec| spec.type_.as_deref());
    kind == Some("LoadBalancer") && service.metadata.deletion_timestamp.is_none()
}

/// The ports of listeners.
pub(crate) fn ports_of(listeners: &[Value]) -> BTreeSet<u64> {
    listeners.iter().filter_map(|listener| listener["protocol_port"].as_u64()).collect()
}

fn ports_of_service(service: &Value) -> BTreeSet<u64> {
    let ports = service["spec"]["ports"].as_array().into_iter().flatten();
    ports.filter_map(|port| port["port"].as_u64()).collect()
}
