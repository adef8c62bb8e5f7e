//! `bowline cleanup` beside a cluster that lives: what its Services use stays.

use std::process::{Command, Output, Stdio};

use anyhow::ensure;
use bowline_testkit::process::program;
use serde_json::{Value, json};

use crate::shadow::site::Site;

const WEB: &str = "kube_service_kubernetes_default_web";
const GONE: &str = "kube_service_kubernetes_default_gone";

async fn cleanup(site: &Site, kubeconfig: &str) -> anyhow::Result<Output> {
    let conf = site.cloud.write_conf(site.folder(), "")?;
    let mut command = Command::new(program("bowline")?);
    command
        .args(["cleanup", "--cluster=kubernetes", "--yes", "--output=json"])
        .arg(format!("--cloud-config={}", conf.display()))
        .arg(format!("--kubeconfig={kubeconfig}"))
        .stdin(Stdio::null());
    Ok(tokio::task::spawn_blocking(move || command.output()).await??)
}

async fn balancers(site: &Site) -> anyhow::Result<Vec<(String, String)>> {
    let contents = site.cloud.contents().await?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = contents["loadbalancers"].as_array().into_iter().flatten();
    Ok(all.map(|one| (text(&one["name"]), text(&one["id"]))).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_service_of_a_living_cluster_uses_is_not_cleaned_up() -> anyhow::Result<()> {
    let site = Site::start().await?;
    site.cloud.make_balancer(WEB, &[WEB, "bowline-cluster:c1", "bowline-service:s1"]).await?;
    site.cloud.make_balancer(GONE, &[GONE, "bowline-cluster:c1", "bowline-service:s2"]).await?;
    let id = balancers(&site).await?.into_iter().find(|(name, _)| name == WEB).map(|(_, id)| id);
    site.annotate(json!({ "loadbalancer.openstack.org/load-balancer-id": id })).await?;

    let unasked = cleanup(&site, "/nowhere/kubeconfig").await?;
    ensure!(unasked.status.code() == Some(2) && balancers(&site).await?.len() == 2, "{unasked:?}");
    let said = String::from_utf8_lossy(&unasked.stderr);
    ensure!(said.contains("/nowhere/kubeconfig") && said.contains("--kubeconfig"), "{said}");

    let done = cleanup(&site, &site.kubeconfig().await?.display().to_string()).await?;
    let report: Value = serde_json::from_slice(&done.stdout)?;
    ensure!(done.status.code() == Some(4), "{report:#}");
    ensure!(report["remove"][0]["name"] == GONE && report["leftAlone"][0]["name"] == WEB, "{report:#}");
    let why = report["leftAlone"][0]["why"].as_str().unwrap_or_default();
    ensure!(why.contains("Service default/web of the given cluster uses it"), "{why}");
    let left: Vec<String> = balancers(&site).await?.into_iter().map(|(name, _)| name).collect();
    ensure!(left == [WEB], "{left:?}");
    Ok(())
}
