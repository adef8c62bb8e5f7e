//! `bowline cleanup` beside a cluster that lives: what its Services use stays.

use std::path::Path;
use std::process::Command;

use anyhow::ensure;
use bowline_testkit::apiserver::Identity;
use bowline_testkit::command::{self, Finished};
use bowline_testkit::process::program;
use bowline_testkit::services::LOAD_BALANCER_ID;
use serde_json::Value;

use crate::shadow::harness::Harness;

const WEB: &str = "kube_service_kubernetes_default_web";
const GONE: &str = "kube_service_kubernetes_default_gone";

async fn cleanup(site: &Harness, kubeconfig: &Path) -> anyhow::Result<Finished> {
    let mut bowline = Command::new(program("bowline")?);
    bowline
        .args(["cleanup", "--cluster=kubernetes", "--yes", "--output=json"])
        .arg(format!("--cloud-config={}", site.conf.display()))
        .arg(format!("--kubeconfig={}", kubeconfig.display()));
    command::run(bowline).await
}

async fn balancers(site: &Harness) -> anyhow::Result<Vec<(String, String)>> {
    let contents = site.cloud.contents().await?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = contents["loadbalancers"].as_array().into_iter().flatten();
    Ok(all.map(|one| (text(&one["name"]), text(&one["id"]))).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_service_of_a_living_cluster_uses_is_not_cleaned_up() -> anyhow::Result<()> {
    let site = Harness::start().await?;
    site.cloud.make_balancer(WEB, &[WEB, "bowline-cluster:c1", "bowline-service:s1"]).await?;
    site.cloud.make_balancer(GONE, &[GONE, "bowline-cluster:c1", "bowline-service:s2"]).await?;
    let id = balancers(&site).await?.into_iter().find(|(name, _)| name == WEB).map(|(_, id)| id);
    site.services.annotate("web", LOAD_BALANCER_ID, id.as_deref()).await?;

    let unasked = cleanup(&site, Path::new("/nowhere/kubeconfig")).await?;
    unasked.complains(2, &["/nowhere/kubeconfig", "--kubeconfig"])?;
    ensure!(balancers(&site).await?.len() == 2, "{unasked:?}");

    let done = cleanup(&site, &site.cluster.kubeconfig(&Identity::Admin).await?).await?;
    done.says(4, &[])?;
    let report = done.json()?;
    ensure!(report["remove"][0]["name"] == GONE && report["leftAlone"][0]["name"] == WEB, "{report:#}");
    let why = report["leftAlone"][0]["why"].as_str().unwrap_or_default();
    ensure!(why.contains("Service default/web of the given cluster uses it"), "{why}");
    let left: Vec<String> = balancers(&site).await?.into_iter().map(|(name, _)| name).collect();
    ensure!(left == [WEB], "{left:?}");
    Ok(())
}
