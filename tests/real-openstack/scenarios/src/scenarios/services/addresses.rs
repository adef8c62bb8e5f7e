//! By which address a Service is reached: floating IPs that are made, given, exchanged, kept and released.

use anyhow::{Context, ensure};
use bowline_testkit::services::{address, condition, service};
use serde_json::{Value, json};

use crate::conf::Conf;
use crate::harness::Harness;
use crate::openstack::Api::Network;
use crate::scenario::Stage;
use crate::waiting::until;

const PINNED: &str = "loadbalancer.bowline.dev/floating-ip";
const KEPT: &str = "loadbalancer.openstack.org/keep-floatingip";
const INTERNAL: &str = "service.beta.kubernetes.io/openstack-internal-load-balancer";

pub(super) async fn floating_ip(stage: &Stage<'_>) -> anyhow::Result<()> {
    let site = Harness::start(stage, &Conf::new(stage.provider.conf())).await?;
    let _manager = site.run(&[])?;
    site.join_all().await?;
    one_is_given(&site).await.context("a floating IP that is given")?;
    one_is_exchanged(&site).await.context("a floating IP in the place of another")?;
    one_is_kept(&site).await.context("a floating IP that is kept")?;
    none_is_needed(&site).await.context("a Service that becomes internal")?;
    site.nothing_left().await
}

/// A floating IP of somebody in the project; its description says no more than whose test it is.
async fn reserve(site: &Harness<'_>) -> anyhow::Result<(String, String)> {
    let network = &site.world.about().estate.external_network;
    let body =
        json!({"floatingip": {"floating_network_id": network, "description": format!("of {}", site.name)}});
    let made = site.world.member.post(Network, "floatingips", &body).await?;
    let text = |key: &str| made["floatingip"][key].as_str().unwrap_or_default().to_owned();
    Ok((text("id"), text("floating_ip_address")))
}

async fn floating(site: &Harness<'_>, id: &str) -> anyhow::Result<Option<Value>> {
    let found = site.world.member.find(Network, &format!("floatingips/{id}")).await?;
    Ok(found.map(|mut found| found["floatingip"].take()))
}

async fn release(site: &Harness<'_>, id: &str) -> anyhow::Result<()> {
    site.world.member.delete(Network, &format!("floatingips/{id}")).await
}

async fn until_free(site: &Harness<'_>, id: &str) -> anyhow::Result<()> {
    until("a floating IP of somebody else is free again", async || {
        let found = floating(site, id).await?.context("it was deleted")?;
        Ok(found["port_id"].is_null().then_some(()))
    })
    .await
}

async fn until_address(site: &Harness<'_>, name: &str, wanted: &str) -> anyhow::Result<Value> {
    site.services.until(name, &format!("is reached by {wanted}"), |web| address(web) == Some(wanted)).await
}

async fn one_is_given(site: &Harness<'_>) -> anyhow::Result<()> {
    let (id, given) = reserve(site).await?;
    site.services.create(&service("given", &[], &json!({"loadBalancerIP": given}))).await?;
    until_address(site, "given", &given).await?;
    ensure!(site.floating_ips().await?.is_empty(), "another floating IP was made");
    // A second Service cannot have it, and is told.
    site.services.create(&service("late", &[], &json!({"loadBalancerIP": given}))).await?;
    site.until_warned("late", &given).await?;
    ensure!(site.balancer_of("late").await?.is_none(), "a load balancer that nobody can reach");
    site.services.delete("late").await?;
    site.services.delete("given").await?;
    until_free(site, &id).await?;
    release(site, &id).await
}

async fn one_is_exchanged(site: &Harness<'_>) -> anyhow::Result<()> {
    site.services.create(&service("moves", &[], &json!({}))).await?;
    let web = site.services.until_ready("moves").await?;
    let first = address(&web).context("no address")?.to_owned();
    let (id, given) = reserve(site).await?;
    site.services.annotate("moves", PINNED, Some(&given)).await?;
    until_address(site, "moves", &given).await?;
    until("the one before is given back", async || Ok(site.floating_ips().await?.is_empty().then_some(())))
        .await?;
    let (other, second) = reserve(site).await?;
    ensure!(second != first || other != id, "the same again");
    site.services.annotate("moves", PINNED, Some(&second)).await?;
    until_address(site, "moves", &second).await?;
    until_free(site, &id)
        .await
        .context("one that was not made for the Service is given back, not deleted")?;
    site.services.delete("moves").await?;
    until_free(site, &other).await?;
    release(site, &id).await?;
    release(site, &other).await
}

async fn one_is_kept(site: &Harness<'_>) -> anyhow::Result<()> {
    site.services.create(&service("kept", &[(KEPT, "true")], &json!({}))).await?;
    let web = site.services.until_ready("kept").await?;
    let first = address(&web).context("no address")?.to_owned();
    site.services.delete("kept").await?;
    ensure!(site.balancers().await?.is_empty(), "the load balancer stayed");
    let left = site.floating_ips().await?;
    ensure!(left.len() == 1 && left[0]["floating_ip_address"] == first.as_str(), "{left:#?}");
    let id = left[0]["id"].as_str().context("no id")?.to_owned();
    until_free(site, &id).await?;

    site.services.create(&service("kept", &[], &json!({"loadBalancerIP": first}))).await?;
    until_address(site, "kept", &first).await.context("the one that was kept is used again")?;
    ensure!(site.floating_ips().await?.len() == 1, "another was made");
    site.services.delete("kept").await?;
    ensure!(floating(site, &id).await?.is_none(), "it was made for this Service and has to go with it");
    Ok(())
}

async fn none_is_needed(site: &Harness<'_>) -> anyhow::Result<()> {
    site.services.create(&service("inside", &[(INTERNAL, "true")], &json!({}))).await?;
    let web = site.services.until_ready("inside").await?;
    let balancer = site.balancer_of("inside").await?.context("no load balancer")?;
    ensure!(balancer["vip_address"].as_str() == address(&web), "{balancer:#} {web:#}");
    ensure!(site.floating_ips().await?.is_empty(), "a floating IP for an internal Service");

    site.services.annotate("inside", INTERNAL, None).await?;
    let own = balancer["vip_address"].as_str().unwrap_or_default();
    let outside = site
        .services
        .until("inside", "is reached from outside", |web| {
            address(web).is_some_and(|shown| shown != own) && condition(web)["status"] == "True"
        })
        .await?;
    let floating = site.floating_ip_of(&balancer).await?.context("no floating IP")?;
    ensure!(floating["floating_ip_address"].as_str() == address(&outside), "{floating:#}");

    site.services.annotate("inside", INTERNAL, Some("true")).await?;
    until_address(site, "inside", own).await?;
    until("the floating IP is given back", async || Ok(site.floating_ips().await?.is_empty().then_some(())))
        .await?;
    site.services.delete("inside").await
}
