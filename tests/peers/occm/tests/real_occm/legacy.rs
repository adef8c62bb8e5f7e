//! A load balancer with the name that Kubernetes' own provider gave it, which OCCM still finds by that name.

use anyhow::{Context, ensure};
use bowline_testkit::apiserver::Binaries;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::harness::Harness;
use crate::shapes::{Shape, shapes};
use crate::{WORKERS, bowline};

const NAME: &str = "basic";
/// Without monitors: OCCM renames those of a load balancer that got another name.
const CONF: &str = "lb-provider = amphora";

#[tokio::test(flavor = "multi_thread")]
async fn a_legacy_named_load_balancer_is_taken_over_and_given_back_without_a_change() -> anyhow::Result<()> {
    let Some(occm) = Binaries::locate()?.occm else {
        println!("no openstack-cloud-controller-manager beside kube-apiserver: nothing is compared with it");
        return Ok(());
    };
    let stage = Harness::start(CONF).await?;
    let things = stage.cloud.prepare("theirs").await?;
    let basic: Vec<Shape> = shapes(&things).into_iter().filter(|shape| shape.name == NAME).collect();
    stage.create_namespace("theirs").await?;
    let mut manager = stage.run(&occm, &[], "occm", WORKERS)?;
    stage.create("theirs", &basic).await?;
    let served = stage.until_served("theirs", &mut manager).await?;
    drop(manager);
    let uid = served[0]["metadata"]["uid"].as_str().context("no UID")?;
    let name = legacy_name(uid);
    stage.cloud.rename_balancer(&format!("kube_service_held_theirs_{NAME}"), &name)?;
    // Neither does the annotation name it: the Service was made before there was one.
    let none = json!({"metadata": {"annotations": {"loadbalancer.openstack.org/load-balancer-id": null}}});
    stage.services("theirs").api.patch(NAME, &PatchParams::default(), &Patch::Merge(none)).await?;

    let before = stage.cloud.contents().await?;
    for manager in ["bowline", "occm", "bowline"] {
        stage.cloud.forget();
        let mut running = match manager {
            "occm" => stage.run(&occm, &[], manager, WORKERS)?,
            _ => bowline(&stage)?,
        };
        stage.until_quiet(&mut running).await?;
        let changes = stage.cloud.changes();
        ensure!(changes.is_empty(), "{manager} changed the cloud: {changes:#?}\n{}", running.tail());
        ensure!(stage.cloud.contents().await? == before, "{manager} changed the cloud");
    }
    let mut manager = bowline(&stage)?;
    stage.delete_all("theirs", &manager).await?;
    stage.until_quiet(&mut manager).await?;
    let left = &stage.cloud.contents().await?["loadbalancers"];
    ensure!(left.as_array().is_some_and(Vec::is_empty), "load balancers are left: {left}");
    Ok(())
}

/// `a` and the first 31 characters of the UID without hyphens.
fn legacy_name(uid: &str) -> String {
    format!("a{}", uid.replace('-', "")).chars().take(32).collect()
}
