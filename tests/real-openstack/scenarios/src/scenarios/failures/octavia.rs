//! Octavia's processes end or stand still.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bowline_testkit::Wait;
use bowline_testkit::services::{condition, port, service};
use serde_json::json;

use crate::conf::Conf;
use crate::faults::Outage;
use crate::harness::{Harness, ports_of};
use crate::scenario::Stage;
use crate::waiting::{holds, until};

/// Waits until Octavia has a row for the load balancer of a Service. Asks the database, for it tells even if the API does not, and at once.
pub(super) async fn until_begun(site: &Harness<'_>, name: &str) -> anyhow::Result<String> {
    let question = format!(
        "select provisioning_status from load_balancer where name = 'kube_service_{}_shop_{name}'",
        site.name
    );
    let wait = Wait::within(Duration::from_secs(60)).every(Duration::from_millis(5));
    let status = async || Ok(site.world.cloud.sql("octavia", &question)?.first().cloned());
    wait.until("a load balancer is requested", status).await.with_context(|| site.tail())
}

/// With OVN the API's own process makes the load balancer: if it ends before it has begun, nobody ever will, and Octavia lets
/// nobody change or delete what is PENDING_CREATE. Those who run a cloud mend it so: they say in the database that it failed.
async fn given_up_if_forgotten(stage: &Stage<'_>, site: &Harness<'_>, name: &str) -> anyhow::Result<()> {
    let deadline = Instant::now() + Duration::from_secs(20);
    while until_begun(site, name).await? == "PENDING_CREATE" {
        if Instant::now() > deadline {
            let balancer = format!("kube_service_{}_shop_{name}", site.name);
            let failed = format!(
                "update load_balancer set provisioning_status = 'ERROR' \
                 where name = '{balancer}' and provisioning_status = 'PENDING_CREATE'"
            );
            site.world.cloud.sql("octavia", &failed)?;
            stage.note("nobody worked on it any more, and it was set to ERROR");
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    Ok(())
}

pub(super) async fn stopped(stage: &Stage<'_>) -> anyhow::Result<()> {
    let site = Harness::start(stage, &Conf::new(stage.provider.conf())).await?;
    let _manager = site.run(&[])?;
    site.join_all().await?;

    let outage = Outage::stop(site.world, "octavia")?;
    site.services.create(&service("early", &[], &json!({}))).await?;
    site.services
        .until("early", "is said to wait", |service| {
            condition(service)["status"].as_str().is_some_and(|status| status != "True")
        })
        .await
        .context("Octavia is stopped before a creation")?;
    outage.end()?;
    site.served_once("early").await.context("Octavia was stopped before a creation")?;

    site.services.create(&service("amid", &[], &json!({}))).await?;
    let status = until_begun(&site, "amid").await?;
    let outage = Outage::stop(site.world, "octavia")?;
    stage.note(format!("stopped when the load balancer was {status}"));
    outage.end()?;
    given_up_if_forgotten(stage, &site, "amid").await?;
    site.served_once("amid").await.context("Octavia was stopped amid a creation")?;
    ensure!(site.nothing_doubled().await? == 2);

    site.services.request_delete("early").await?;
    let outage = Outage::stop(site.world, "octavia")?;
    site.services.request_delete("amid").await?;
    outage.end()?;
    for name in ["early", "amid"] {
        site.services.until_gone(name).await.context("Octavia was stopped amid a deletion")?;
    }
    site.nothing_left().await
}

pub(super) async fn worker_frozen(stage: &Stage<'_>) -> anyhow::Result<()> {
    let site = Harness::start(stage, &Conf::new(stage.provider.conf())).await?;
    let _manager = site.run(&[])?;
    site.join_all().await?;
    let outage = Outage::freeze(site.world, "octavia-worker")?;
    for name in ["stays", "goes"] {
        site.services.create(&service(name, &[], &json!({}))).await?;
        until(&format!("{name} is being created"), async || {
            let found = site.balancer_of(name).await?;
            Ok(found.filter(|balancer| balancer["provisioning_status"] == "PENDING_CREATE"))
        })
        .await?;
    }
    site.services.request_delete("goes").await?;
    let ports = json!([port("http", 80, "TCP"), port("https", 443, "TCP")]);
    site.services.edit("stays", &json!({"spec": {"ports": ports}})).await?;
    holds("a Service stays whose load balancer cannot be deleted yet", Duration::from_secs(8), async || {
        let there = site.services.api.get_opt("goes").await?.is_some();
        Ok(there
            && site
                .balancer_of("goes")
                .await?
                .is_some_and(|it| it["provisioning_status"] == "PENDING_CREATE"))
    })
    .await?;
    outage.end()?;
    let stays = site.served_once("stays").await?;
    ensure!(ports_of(&stays.listeners) == [80, 443].into(), "{stays:#?}");
    site.services.until_gone("goes").await?;
    ensure!(site.nothing_doubled().await? == 1);
    site.services.delete_all().await?;
    site.nothing_left().await
}
