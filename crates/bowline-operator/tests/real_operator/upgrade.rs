//! An operator before the prefix has made a manager under the resource's bare name: it runs on, and is moved over only when its
//! workload is gone.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::Unfenced;
use bowline_kube::write::Writer;
use bowline_operator::apply::{Applier, Target};
use bowline_operator::render::{ClusterFacts, ManagerMode, Naming, RenderedConfig, plain};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use crate::harness::{Harness, NAMESPACE};

const CONF: &str = "[Global]\nauth-url = https://keystone.example.org/v3\n";

/// What an operator before the prefix leaves.
async fn earlier_operator(stage: &Harness) -> anyhow::Result<()> {
    let spec = stage.resources().get("main").await?.spec;
    let facts = ClusterFacts {
        config: Some(RenderedConfig::new(CONF)),
        naming: Naming::Bare,
        ..ClusterFacts::default()
    };
    let mut objects = plain(&spec, "main", ManagerMode::Full, &facts)?;
    objects.retain(|object| object.kind != "Namespace");
    for object in objects.iter_mut().filter(|object| object.kind == "Deployment") {
        object.annotate_pods("bowline.dev/mode", "Full");
        object.body["metadata"]["annotations"] =
            json!({ "bowline.dev/mode": "Full", "bowline.dev/version": "0.9.0" });
    }
    let writer = Writer::new(stage.client.clone(), Arc::new(Unfenced), Duration::from_secs(10));
    let target = Target { owner: "main", namespace: NAMESPACE, adopt: false };
    Applier::new(stage.client.clone(), writer).apply(target, objects, &BTreeSet::new()).await?;
    Ok(())
}

#[tokio::test]
async fn what_an_earlier_operator_made_keeps_its_names_and_runs_on() -> anyhow::Result<()> {
    let stage = Harness::start().await?;
    stage.ask("main", json!({ "cloudConfig": { "inline": CONF } })).await?;
    earlier_operator(&stage).await?;
    let before = stage.api::<Deployment>().get("main").await?;

    let _operator = stage.operator().await?;
    stage.steady("main").await?;
    let now = stage.api::<Deployment>().get("main").await?;
    assert_eq!(now.uid(), before.uid());
    assert_eq!(now.annotations()["bowline.dev/version"], "1.0.0", "it is looked after");
    assert!(stage.api::<Deployment>().get_opt("bowline-ccm-main").await?.is_none());
    let drift = json!({ "spec": { "replicas": 0 } });
    stage.api::<Deployment>().patch("main", &PatchParams::default(), &Patch::Merge(drift)).await?;
    stage
        .eventually("drift is repaired", async || {
            let replicas = stage.api::<Deployment>().get("main").await?.spec.and_then(|spec| spec.replicas);
            Ok((replicas == Some(2)).then_some(()))
        })
        .await?;

    // A person moves it over by deleting the workload.
    stage.api::<Deployment>().delete("main", &DeleteParams::default()).await?;
    stage
        .eventually("it is made anew under the new names, and the old ones go", async || {
            let is_there = stage.api::<Deployment>().get_opt("bowline-ccm-main").await?.is_some();
            let is_old = stage.api::<Deployment>().get_opt("main").await?.is_some()
                || stage.api::<ServiceAccount>().get_opt("main").await?.is_some();
            Ok((is_there && !is_old).then_some(()))
        })
        .await?;
    stage.steady("main").await?;
    Ok(())
}
