//! The cloud does not answer, in every way in which it can: no Node is lost, and all goes on when it is back.

use std::time::Duration;

use anyhow::{Context, ensure};
use bowline_testkit::nodes::{is_initialized, taints};
use kube::api::ListParams;
use real_cloud::Server;
use serde_json::json;

use crate::conf::Conf;
use crate::harness::Harness;
use crate::openstack::Api::Compute;
use crate::scenario::Stage;
use crate::waiting::{holds, until};

/// Nothing but the cloud's word keeps a Node.
const FLAGS: [&str; 5] = [
    "--node-monitor-period=1s",
    "--new-node-grace-period=0s",
    "--node-deletion-limit-percent=100",
    "--node-deletion-breaker-percent=100",
    "--node-status-update-frequency=5s",
];

pub(super) async fn outages(stage: &Stage<'_>) -> anyhow::Result<()> {
    let more = "[Metadata]\nrequest-timeout = 8s\n".to_owned();
    let site = Harness::start(stage, &Conf { more, ..Conf::new("") }).await?;
    let outcome = all_kinds(stage, &site).await;
    let up = whole_again(&site).await;
    outcome.and(up).and(site.sweep().await)
}

async fn all_kinds(stage: &Stage<'_>, site: &Harness<'_>) -> anyhow::Result<()> {
    let _manager = site.run(&FLAGS)?;
    site.join_all().await?;
    let cloud = &site.world.cloud;
    let (nova, keystone) = (cloud.service("nova")?, cloud.service("keystone")?);
    let mut servers = Vec::new();
    for what in ["stopped", "frozen", "unknown"] {
        servers.push(site.boot(&site.called(what), &json!({})).await?);
    }
    let [stopped, frozen, unknown] = servers.as_slice() else { anyhow::bail!("three servers") };
    let begun = std::time::Instant::now();
    nova.stop()?;
    survives(site, stopped).await.context("Nova is stopped")?;
    nova.start()?;
    goes_on(site, stopped).await.context("Nova is back")?;
    stage.note(format!("Nova stopped and back: {:.0} s", begun.elapsed().as_secs_f64()));
    nova.freeze()?;
    let held = survives(site, frozen).await.context("Nova is frozen");
    nova.thaw()?;
    held?;
    goes_on(site, frozen).await.context("Nova is thawed")?;
    keystone.stop()?;
    survives(site, unknown).await.context("Keystone is stopped")?;
    keystone.start()?;
    goes_on(site, unknown).await.context("Keystone is back")
}

/// While the cloud is away: Nodes that are not ready stay, with all they have.
async fn survives(site: &Harness<'_>, newcomer: &Server) -> anyhow::Result<()> {
    let estate = &site.world.about().estate;
    for server in &estate.servers {
        site.nodes.report_ready(&server.name, "Unknown").await?;
    }
    site.register(&newcomer.name, &newcomer.id).await?;
    let before = picture(site).await?;
    ensure!(before.len() >= estate.servers.len(), "{before:#?}");
    holds("all Nodes are there, with addresses and taints", Duration::from_secs(10), async || {
        Ok(picture(site).await? == before)
    })
    .await
    .with_context(|| site.tail())
}

/// The cloud is back: who waited is initialised, who was not ready is ready and untainted.
async fn goes_on(site: &Harness<'_>, newcomer: &Server) -> anyhow::Result<()> {
    site.until_initialised(&newcomer.name).await?;
    site.nodes.report_ready(&newcomer.name, "True").await?;
    for server in &site.world.about().estate.servers {
        let node = site.nodes.api.get(&server.name).await?;
        let ours = taints(&node).into_iter().filter(|key| key.starts_with("node.cloudprovider"));
        ensure!(ours.count() == 0, "{node:#?}");
        site.nodes.report_ready(&server.name, "True").await?;
    }
    Ok(())
}

/// Of each Node but newcomers: name, identity, taints and addresses. Newcomers may be initialised: without Keystone, Nova goes on
/// believing tokens that it has seen.
async fn picture(site: &Harness<'_>) -> anyhow::Result<Vec<String>> {
    let nodes = site.nodes.api.list(&ListParams::default()).await?;
    let shown = |node: &k8s_openapi::api::core::v1::Node| {
        let status = node.status.as_ref().and_then(|status| status.addresses.as_ref());
        format!(
            "{:?} {:?} {:?} {:?} {}",
            node.metadata.name,
            node.metadata.uid,
            taints(node),
            status,
            is_initialized(node)
        )
    };
    let new = |node: &&k8s_openapi::api::core::v1::Node| {
        node.metadata.name.as_deref().is_some_and(|name| name.starts_with(&site.name))
    };
    Ok(nodes.iter().filter(|node| !new(node)).map(shown).collect())
}

/// Whatever happened, the next scenario finds a cloud that answers.
async fn whole_again(site: &Harness<'_>) -> anyhow::Result<()> {
    let cloud = &site.world.cloud;
    for name in ["keystone", "nova"] {
        cloud.service(name)?.start()?;
    }
    until("the cloud answers", async || site.world.member.get(Compute, "servers").await.map(Some))
        .await
        .map(drop)
}
