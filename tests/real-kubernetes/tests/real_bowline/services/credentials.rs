//! Credentials that are wrong, change, or lead to a cloud without Octavia: what a person reads in the log and on `/readyz`.

use std::sync::Arc;

use anyhow::ensure;
use bowline_testkit::services::service;
use serde_json::json;
use sim_openstack::{MEMBER, Service};

use crate::services::harness::{Harness, Tools};
use bowline_testkit::cloud::Cloud;

const NEW_PASSWORD: &str = "n3w-s3cret";

#[tokio::test(flavor = "multi_thread")]
async fn credentials_that_do_not_work_are_told_and_mended_while_it_runs() -> anyhow::Result<()> {
    let Some(tools) = Tools::locate()? else { return Ok(()) };
    let site = Harness::start(&tools, Arc::new(Cloud::start(1).await?), "").await?;
    site.rewrite_conf("wrong", "")?;
    let manager = site.run(&["--cluster-name=harbour"])?;
    site.until_readyz(&[
        "[!]cloud degraded",
        "401 Unauthorized",
        "Check the credentials in [Global] of cloud.conf",
    ])
    .await?;
    ensure!(
        manager.log().contains("the cloud cannot be initialized, will be tried again"),
        "{}",
        manager.tail()
    );
    site.rewrite_conf(MEMBER.password, "")?;
    site.user.apply(&service("web", &[], &json!({}))).await?;
    site.services.until_ready("web").await?;
    site.until_readyz(&["[+]cloud ok", "[+]cloud-identity ok"]).await?;

    site.cloud.change_password(NEW_PASSWORD)?;
    site.user.apply(&service("late", &[], &json!({}))).await?;
    site.until_readyz(&["[!]cloud-identity degraded", "nothing is changed until"]).await?;
    site.wait
        .until("a warning that names the credentials", async || {
            let warnings = site.warnings("late").await?;
            Ok(warnings.iter().any(|(_, text)| text.contains("Check the credentials")).then_some(()))
        })
        .await?;
    let balancers = site.cloud.world(|world| world.state.load_balancer.load_balancers.iter().count());
    ensure!(balancers == 1, "{balancers} load balancers");
    site.rewrite_conf(NEW_PASSWORD, "")?;
    site.services.until_ready("late").await?;
    site.until_readyz(&["[+]cloud-identity ok"]).await?;
    ensure!(!manager.log().contains(NEW_PASSWORD));
    manager.terminate().await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_catalog_without_octavia_is_told_with_what_to_do() -> anyhow::Result<()> {
    let Some(tools) = Tools::locate()? else { return Ok(()) };
    let site = Harness::start(&tools, Arc::new(Cloud::start(1).await?), "").await?;
    let mut endpoints = Vec::new();
    site.cloud.world(|world| {
        let regions = world.config.regions.iter_mut();
        endpoints = regions.map(|region| region.endpoints.remove(&Service::LoadBalancer)).collect();
    });
    let manager = site.run(&["--cluster-name=harbour"])?;
    site.user.apply(&service("web", &[], &json!({}))).await?;
    let says = "has no load-balancer service (Octavia) in region";
    site.until_readyz(&["[!]service-lb-controller degraded", says, "add its endpoint"]).await?;
    ensure!(manager.log().contains(says), "{}", manager.tail());
    site.cloud.world(|world| {
        for (region, endpoint) in world.config.regions.iter_mut().zip(endpoints) {
            region.endpoints.extend(endpoint.map(|endpoint| (Service::LoadBalancer, endpoint)));
        }
    });
    manager.terminate().await?;
    let manager = site.run(&["--cluster-name=harbour"])?;
    site.services.until_ready("web").await?;
    manager.terminate().await.map(drop)
}
