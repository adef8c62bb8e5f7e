//! `bowline cleanup` from outside: the binary on a simulated OpenStack over HTTP, with no API server. What it lists, asks,
//! removes and answers to the shell.

#![expect(
    clippy::indexing_slicing,
    reason = "an answer without what is looked for fails the test, as it should"
)]

use std::path::Path;
use std::process::Command;

use anyhow::ensure;
use bowline_testkit::cloud::Cloud;
use bowline_testkit::command::{Finished, run};
use serde_json::Value;

const OURS: &str = "kube_service_kubernetes_default_web";
const NAMESAKE: &str = "kube_service_kubernetes_default_old";
const OTHER: &str = "kube_service_harbour_default_shop";

async fn cleanup(folder: &Path, flags: &[&str]) -> anyhow::Result<Finished> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bowline"));
    command.arg("cleanup");
    if !flags.iter().any(|flag| flag.starts_with("--os-cloud")) {
        command.arg(format!("--cloud-config={}", folder.join("cloud.conf").display()));
    }
    command.env("OS_CLIENT_CONFIG_FILE", folder.join("clouds.yaml")).args(flags);
    run(command).await
}

async fn balancers(cloud: &Cloud) -> anyhow::Result<Vec<String>> {
    let contents = cloud.contents().await?;
    let all = contents["loadbalancers"].as_array().into_iter().flatten();
    let mut names: Vec<String> = all.filter_map(|one| one["name"].as_str()).map(str::to_owned).collect();
    names.sort();
    Ok(names)
}

#[tokio::test(flavor = "multi_thread")]
async fn it_lists_asks_and_removes_what_the_tags_prove_and_tells_what_it_left() -> anyhow::Result<()> {
    let (cloud, folder) = (Cloud::start(1).await?, tempfile::tempdir()?);
    cloud.write_conf(folder.path(), "")?;
    cloud.make_balancer(OURS, &[OURS, "bowline-cluster:c1", "bowline-service:s1"]).await?;
    cloud.make_balancer(NAMESAKE, &[NAMESAKE]).await?;
    cloud.make_balancer(OTHER, &[OTHER, "bowline-cluster:c2", "bowline-service:s2"]).await?;
    cloud.forget();

    let dry = cleanup(folder.path(), &["--cluster-name=kubernetes", "--dry-run"]).await?;
    dry.prints(4, &[OURS, "of default/web", NAMESAKE, "no tag", "Nothing was removed."])?;
    ensure!(!dry.out.contains(OTHER), "{dry:?}");
    cloud.write_clouds_yaml(folder.path())?;
    let by_name = ["--cluster-name=kubernetes", "--dry-run", "--os-cloud=sim"];
    let in_json = cleanup(folder.path(), &[&by_name[..], &["-ojson"]].concat()).await?;
    let in_json: Value = in_json.json()?;
    let in_yaml = cleanup(folder.path(), &[&by_name[..], &["-oyaml"]].concat()).await?;
    let in_yaml: Value = serde_saphyr::from_str(&in_yaml.out)?;
    ensure!(in_json == in_yaml && in_json["remove"][0]["name"] == OURS, "{in_json:#} {in_yaml:#}");
    let as_text = cleanup(folder.path(), &["--cluster=kubernetes", "--dry-run", "--output=text"]).await?;
    ensure!(as_text.out == dry.out, "the names of before");
    let unasked = cleanup(folder.path(), &["--cluster=kubernetes"]).await?;
    unasked.complains(1, &["--yes"])?;
    ensure!(cloud.changes().is_empty(), "{:?}", cloud.changes());

    let done = cleanup(folder.path(), &["--cluster=kubernetes", "--yes", "--output=json"]).await?;
    done.says(4, &[])?;
    let report = done.json()?;
    ensure!(report["removed"].as_array().map(Vec::len) == Some(1) && report["remove"][0]["name"] == OURS);
    ensure!(report["leftAlone"][0]["name"] == NAMESAKE && report["failed"] == serde_json::json!([]));
    ensure!(balancers(&cloud).await? == [OTHER, NAMESAKE]);

    let other = cleanup(folder.path(), &["--cluster=harbour", "--yes"]).await?;
    other.says(0, &[])?;
    let nothing = cleanup(folder.path(), &["--cluster=harbour", "--yes"]).await?;
    nothing.prints(0, &["Nothing of cluster"])?;
    ensure!(balancers(&cloud).await? == [NAMESAKE]);
    let by_occm = cleanup(folder.path(), &["--cluster=kubernetes", "--include-occm-tags", "--yes"]).await?;
    by_occm.says(0, &[])?;
    ensure!(balancers(&cloud).await?.is_empty(), "{by_occm:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn two_clusters_of_one_name_need_a_uid_and_what_is_missing_is_usage() -> anyhow::Result<()> {
    let (cloud, folder) = (Cloud::start(1).await?, tempfile::tempdir()?);
    cloud.write_conf(folder.path(), "")?;
    cloud.make_balancer(OURS, &[OURS, "bowline-cluster:c1"]).await?;
    cloud.make_balancer(NAMESAKE, &[NAMESAKE, "bowline-cluster:c2"]).await?;
    let several = cleanup(folder.path(), &["--cluster=kubernetes", "--yes"]).await?;
    several.complains(2, &["c1, c2", "--cluster-uid"])?;
    cleanup(folder.path(), &["--yes"]).await?.says(2, &[])?;
    let nowhere = ["--cluster-name=kubernetes", "--kubeconfig=/nowhere", "--context=prod"];
    cleanup(folder.path(), &nowhere).await?.complains(2, &["the cluster that lives"])?;
    cleanup(folder.path(), &["--help"]).await?.prints(0, &["Exit codes:", "  4  something"])?;
    let one = cleanup(folder.path(), &["--cluster=kubernetes", "--cluster-uid=c2", "--yes"]).await?;
    one.says(4, &[])?;
    ensure!(balancers(&cloud).await? == [OURS], "{one:?}");
    std::fs::remove_file(folder.path().join("cloud.conf"))?;
    let lost = cleanup(folder.path(), &["--cluster=kubernetes"]).await?;
    lost.says(2, &[])
}
