//! Servers stop, start, go, and come again; their Nodes follow, and no other does.

use std::time::Duration;

use anyhow::{Context, ensure};
use bowline_testkit::nodes::{is_initialized, provider_id, registered, taints};
use serde_json::json;

use crate::conf::Conf;
use crate::harness::Harness;
use crate::scenario::Stage;
use crate::waiting::holds;

const SHUTDOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";

/// As for a small cluster whose servers come and go.
const FLAGS: [&str; 5] = [
    "--node-monitor-period=1s",
    "--new-node-grace-period=15s",
    "--node-deletion-limit-percent=100",
    "--node-deletion-breaker-percent=50",
    "--reconcile-node-labels",
];

pub(super) async fn life(stage: &Stage<'_>) -> anyhow::Result<()> {
    let site = Harness::start(stage, &Conf::new("")).await?;
    let outcome = lives(&site).await;
    outcome.and(site.sweep().await)
}

async fn lives(site: &Harness<'_>) -> anyhow::Result<()> {
    let (old, gone) = (site.called("again"), site.called("gone"));
    let first = site.boot(&old, &json!({})).await?;
    let second = site.boot(&gone, &json!({})).await?;
    let _manager = site.run(&FLAGS)?;
    given_ids(site).await.context("provider IDs that kubelets give")?;
    site.join(&old, &first.id).await?;
    site.join(&gone, &second.id).await?;
    without_server(site).await.context("Nodes without a server")?;
    stop_and_start(site, &old, &first.id).await.context("stop and start")?;
    site.scrap(&second.id).await?;
    site.nodes.report_ready(&gone, "Unknown").await?;
    site.nodes.until_gone(&gone).await?;
    come_again(site, &old, &first.id).await.context("another server of the same name")?;
    for server in &site.world.about().estate.servers {
        ensure!(site.nodes.api.get_opt(&server.name).await?.is_some(), "Node {} went as well", server.name);
    }
    Ok(())
}

/// Kubelets may give a provider ID themselves, in two forms; it stays as it is.
async fn given_ids(site: &Harness<'_>) -> anyhow::Result<()> {
    let about = site.world.about();
    let forms =
        ["openstack://".to_owned(), format!("openstack://{}", about.region), "openstack://".to_owned()];
    for (server, form) in about.estate.servers.iter().zip(forms) {
        let given = format!("{form}/{}", server.id);
        let mut node = registered(&server.name, &server.id);
        node["spec"]["providerID"] = json!(given);
        site.nodes.create(node).await?;
        let made = site.until_initialised(&server.name).await?;
        ensure!(provider_id(&made) == given, "{given} became {made:#?}");
        site.nodes.report_ready(&server.name, "True").await?;
    }
    Ok(())
}

/// A name that no server has is told, and waited for. Who says which server it was goes when Nova knows of none; who does not say
/// stays.
async fn without_server(site: &Harness<'_>) -> anyhow::Result<()> {
    let (told, untold) = (site.called("told"), site.called("untold"));
    site.register(&told, "5b6ef3a1-0b53-4f0a-9d55-000000000000").await?;
    site.register(&untold, "").await?;
    site.until_warned(&told, "could not be initialized").await?;
    site.until_warned(&untold, "could not be initialized").await?;
    site.nodes.until_gone(&told).await?;
    let node = site.nodes.api.get_opt(&untold).await?.context("the Node that tells nothing went")?;
    ensure!(!is_initialized(&node), "{node:#?}");
    site.nodes.delete(&untold).await
}

async fn stop_and_start(site: &Harness<'_>, name: &str, server: &str) -> anyhow::Result<()> {
    for back_by_kubelet in [false, true] {
        site.power(server, false).await?;
        site.nodes.report_ready(name, "Unknown").await?;
        site.nodes
            .until(name, "tainted as shut down", |node| taints(node).iter().any(|key| key == SHUTDOWN))
            .await?;
        site.power(server, true).await?;
        if back_by_kubelet {
            site.nodes.report_ready(name, "True").await?;
        }
        site.nodes
            .until(name, "not tainted any more", |node| taints(node).iter().all(|key| key != SHUTDOWN))
            .await?;
        site.nodes.report_ready(name, "True").await?;
    }
    Ok(())
}

/// The old Node must not become the new server's: it goes, and the new one is another.
async fn come_again(site: &Harness<'_>, name: &str, old: &str) -> anyhow::Result<()> {
    let uid = |node: &k8s_openapi::api::core::v1::Node| node.metadata.uid.clone();
    let before = site.nodes.api.get(name).await?;
    site.scrap(old).await?;
    let server = site.boot(name, &json!({})).await?;
    holds("a Ready Node stays, also without its server", Duration::from_secs(4), async || {
        let now = site.nodes.api.get_opt(name).await?;
        Ok(now.is_some_and(|now| provider_id(&now) == provider_id(&before) && uid(&now) == uid(&before)))
    })
    .await?;
    site.nodes.report_ready(name, "Unknown").await?;
    site.nodes.until_gone(name).await?;
    let made = site.join(name, &server.id).await?;
    ensure!(provider_id(&made) == format!("openstack:///{}", server.id), "{made:#?}");
    holds("the new Node stays", Duration::from_secs(3), async || {
        Ok(site.nodes.api.get_opt(name).await?.is_some_and(|now| uid(&now) == uid(&made)))
    })
    .await
}
