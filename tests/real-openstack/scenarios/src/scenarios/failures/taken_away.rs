//! Somebody takes away, or breaks, what a Service is reached by: it is made anew, with the address that it had wherever that can be.

use std::time::Duration;

use anyhow::{Context, ensure};
use bowline_testkit::services::{address, load_balancer_id, service};
use http::Method;
use serde_json::{Value, json};

use super::edited::{REPAIRS, by_hand};
use crate::conf::Conf;
use crate::harness::Harness;
use crate::openstack::Api::{LoadBalancer, Network};
use crate::scenario::Stage;
use crate::waiting::{holds, until, wait};

/// Longer than the time between two messages of an amphora.
const HEARTBEATS: Duration = Duration::from_secs(3);

/// The Service as it is served: its load balancer, its floating IP, its address.
struct Served {
    balancer: String,
    port: String,
    floating: String,
    address: String,
}

async fn served(site: &Harness<'_>) -> anyhow::Result<Served> {
    site.served_once("web").await?;
    glance(site).await?.context("nothing serves it")
}

/// What serves it at this moment, if anything does; waits for nothing.
async fn glance(site: &Harness<'_>) -> anyhow::Result<Option<Served>> {
    let web = site.services.get("web").await?;
    let Some(balancer) = site.balancer_of("web").await? else { return Ok(None) };
    let Some(floating) = site.floating_ip_of(&balancer).await? else { return Ok(None) };
    // The Service shows it a moment later.
    if floating["floating_ip_address"].as_str() != address(&web) {
        return Ok(None);
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(Some(Served {
        balancer: load_balancer_id(&web)?.to_owned(),
        port: text(&balancer["vip_port_id"]),
        floating: text(&floating["id"]),
        address: address(&web).context("no address")?.to_owned(),
    }))
}

/// Waits until the Service is served by something else than before.
async fn served_anew(
    site: &Harness<'_>,
    before: &Served,
    differs: impl Fn(&Served) -> bool,
) -> anyhow::Result<Served> {
    // What is taken away is shown for a while as if it were there.
    let anew = until("it is served anew", async || Ok(glance(site).await?.filter(|now| differs(now))));
    anew.await.with_context(|| site.tail())?;
    let now = served(site).await?;
    ensure!(
        site.world.member.find(LoadBalancer, &format!("loadbalancers/{}", now.balancer)).await?.is_some()
    );
    ensure!(now.balancer == before.balancer || site.balancers().await?.len() == 1);
    Ok(now)
}

async fn site_with_web<'w>(
    stage: &Stage<'w>,
) -> anyhow::Result<(Harness<'w>, bowline_testkit::process::Process)> {
    let site = Harness::start(stage, &Conf::new(stage.provider.conf())).await?;
    let manager = site.run(&REPAIRS)?;
    site.join_all().await?;
    site.services.create(&service("web", &[], &json!({}))).await?;
    Ok((site, manager))
}

pub(super) async fn balancer(stage: &Stage<'_>) -> anyhow::Result<()> {
    let (site, _manager) = site_with_web(stage).await?;
    let first = served(&site).await?;
    let path = format!("loadbalancers/{}?cascade=true", first.balancer);
    by_hand(&site, Method::DELETE, &path, None).await?;
    let second = served_anew(&site, &first, |now| now.balancer != first.balancer).await;
    let second = second.context("the load balancer was deleted")?;
    ensure!(second.address == first.address, "deleted: {} became {}", first.address, second.address);

    let give_up = set_to_error(&second.balancer);
    serves_nobody(&site, &second.balancer).await?;
    site.world.cloud.sql("octavia", &give_up)?;
    let third = served_anew(&site, &second, |now| now.balancer != second.balancer).await;
    let third = third.context("the load balancer was set to ERROR")?;
    ensure!(third.address == first.address, "ERROR: {} became {}", first.address, third.address);
    ensure!(site.nothing_doubled().await? == 1);

    // One in ERROR goes with its Service, too.
    let give_up = give_up.replace(&second.balancer, &third.balancer);
    site.services.request_delete("web").await?;
    site.world.cloud.sql("octavia", &give_up)?;
    site.services.until_gone("web").await?;
    site.nothing_left().await
}

/// The load balancer serves nobody any more: its amphora is dead, if it has one, and no pool has a member that works.
async fn serves_nobody(site: &Harness<'_>, balancer: &str) -> anyhow::Result<()> {
    let dead = [
        format!("update amphora set status = 'ERROR' where load_balancer_id = '{balancer}'"),
        format!("update pool set operating_status = 'ERROR' where load_balancer_id = '{balancer}'"),
        format!("update load_balancer set operating_status = 'OFFLINE' where id = '{balancer}'"),
    ];
    until("Octavia reports that the load balancer serves nobody", async || {
        for statement in &dead {
            site.world.cloud.sql("octavia", statement)?;
        }
        // The last message of the amphora may still be on its way to Octavia.
        let seen = holds("it is OFFLINE", HEARTBEATS, async || {
            Ok(site.whole(balancer).await?.balancer["operating_status"] == "OFFLINE")
        });
        Ok(seen.await.ok())
    })
    .await
}

/// What the operator of a cloud sees after a change that failed: Octavia reports ERROR.
fn set_to_error(balancer: &str) -> String {
    format!(
        "update load_balancer set provisioning_status = 'ERROR' where id = '{balancer}' and provisioning_status = 'ACTIVE'"
    )
}

/// Octavia's control plane fails: it reports many load balancers in ERROR that go on to serve (safety rail SR-19).
pub(super) async fn many_in_error(stage: &Stage<'_>) -> anyhow::Result<()> {
    const NAMES: [&str; 5] = ["one", "two", "three", "four", "five"];
    let site = Harness::start(stage, &Conf::new(stage.provider.conf())).await?;
    let _manager = site.run(&REPAIRS)?;
    site.join_all().await?;
    for name in NAMES {
        site.services.create(&service(name, &[], &json!({}))).await?;
    }
    let mut before = Vec::new();
    for name in NAMES {
        site.served_once(name).await?;
        let shown = site.services.until_ready(name).await?;
        before.push((load_balancer_id(&shown)?.to_owned(), address(&shown).map(str::to_owned)));
    }
    for (id, _address) in &before {
        let online = format!("update load_balancer set operating_status = 'ONLINE' where id = '{id}'");
        site.world.cloud.sql("octavia", &online)?;
    }
    // The driver of OVN may still report that the floating IPs are attached, which ends in ACTIVE.
    let waiting = wait();
    let failed = waiting.until_settled("Octavia leaves them in ERROR", Duration::from_secs(10), async || {
        let mut all_failed = true;
        for (id, _address) in &before {
            let status = format!("select provisioning_status from load_balancer where id = '{id}'");
            if !site.world.cloud.sql("octavia", &status)?.iter().any(|row| row == "ERROR") {
                site.world.cloud.sql("octavia", &set_to_error(id))?;
                all_failed = false;
            }
        }
        Ok(all_failed.then_some(()))
    });
    failed.await?;
    site.nodes.delete("node-3").await?;
    for name in NAMES {
        site.until_warned(name, "may still carry traffic").await?;
    }
    // Longer than several observations of each.
    holds(
        "no load balancer is deleted, and each Service keeps its address",
        Duration::from_secs(20),
        async || {
            for (name, (id, shown)) in NAMES.iter().zip(&before) {
                let service = site.services.get(name).await?;
                ensure!(address(&service) == shown.as_deref(), "{service:#}");
                ensure!(
                    site.world.member.find(LoadBalancer, &format!("loadbalancers/{id}")).await?.is_some()
                );
            }
            Ok(true)
        },
    )
    .await
    .with_context(|| site.tail())?;
    ensure!(site.nothing_doubled().await? == NAMES.len());

    // The operator of the cloud repairs them: the members follow the Nodes again.
    for (id, _address) in &before {
        let repaired = format!("update load_balancer set provisioning_status = 'ACTIVE' where id = '{id}'");
        site.world.cloud.sql("octavia", &repaired)?;
    }
    for (name, (id, shown)) in NAMES.iter().zip(&before) {
        let (service, _whole) = site.until_served(name, "it follows the Nodes", &site.servers()[..2]).await?;
        ensure!(load_balancer_id(&service)? == id && address(&service) == shown.as_deref(), "{service:#}");
    }
    site.services.delete_all().await?;
    site.nothing_left().await
}

pub(super) async fn floating_ip(stage: &Stage<'_>) -> anyhow::Result<()> {
    let (site, _manager) = site_with_web(stage).await?;
    let member = &site.world.member;
    let first = served(&site).await?;
    let path = format!("floatingips/{}", first.floating);
    member.put(Network, &path, &json!({"floatingip": {"port_id": null}})).await?;
    let back = until("the floating IP leads to the load balancer again", async || {
        let row = member.get(Network, &path).await?;
        Ok((row["floatingip"]["port_id"] == first.port.as_str()).then_some(()))
    });
    back.await.with_context(|| site.tail())?;
    let second = served(&site).await?;
    ensure!(second.floating == first.floating && second.balancer == first.balancer);

    member.delete(Network, &path).await?;
    let third = served_anew(&site, &second, |now| now.floating != first.floating).await;
    let third = third.context("the floating IP was deleted")?;
    ensure!(third.balancer == first.balancer);
    ensure!(site.nothing_doubled().await? == 1);

    // Somebody leads it elsewhere: it is theirs now.
    let estate = &site.world.about().estate;
    let ports = format!("ports?device_id={}&network_id={}", estate.servers[0].id, estate.network);
    let port = member.list(Network, &ports, "ports").await?[0]["id"].clone();
    let moved = format!("floatingips/{}", third.floating);
    member.put(Network, &moved, &json!({"floatingip": {"port_id": port}})).await?;
    let outcome = async {
        let fourth = served_anew(&site, &third, |now| now.floating != third.floating).await;
        let fourth = fourth.context("the floating IP was led elsewhere")?;
        ensure!(fourth.balancer == first.balancer && fourth.address != third.address);
        site.services.delete_all().await?;
        let theirs = member.get(Network, &moved).await.context("the one that leads elsewhere is gone")?;
        ensure!(theirs["floatingip"]["port_id"] == port, "{theirs:#}");
        anyhow::Ok(())
    };
    let outcome = outcome.await;
    member.delete(Network, &moved).await?;
    outcome?;
    site.nothing_left().await
}

pub(super) async fn vip_port(stage: &Stage<'_>) -> anyhow::Result<()> {
    let (site, _manager) = site_with_web(stage).await?;
    let first = served(&site).await?;
    site.world.member.delete(Network, &format!("ports/{}", first.port)).await?;
    let said = site.until_warned("web", &first.port).await.context("the port of the address was deleted")?;
    stage.note(format!("said: {said}"));
    ensure!(site.balancers().await?.len() == 1);
    site.services.delete_all().await?;
    site.nothing_left().await
}
