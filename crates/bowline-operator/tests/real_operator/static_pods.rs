//! A manager as static pods: the operator says what to put where, a person and the kubelets do it, and the operator sees it.

use std::fs;

use anyhow::Context;
use bowline_operator::command::render;
use clap::{Args, FromArgMatches};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;

use crate::harness::{Harness, MIRROR, NAMESPACE};

const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";
const CONF: &str = "[Global]\nauth-url = https://keystone.example.org/v3\n";

#[tokio::test]
async fn static_pods_are_asked_for_step_by_step_and_seen() -> anyhow::Result<()> {
    let stage = Harness::start().await?;
    let node = json!({ "apiVersion": "v1", "kind": "Node",
        "metadata": { "name": "cp-1", "labels": { "node-role.kubernetes.io/control-plane": "" } },
        "spec": { "taints": [{ "key": UNINITIALIZED, "value": "true", "effect": "NoSchedule" }] } });
    let nodes: Api<Node> = Api::all(stage.client.clone());
    nodes.create(&PostParams::default(), &serde_json::from_value(node)?).await?;
    let _operator = stage.operator().await?;
    let spec = json!({ "form": "StaticPod", "replicas": null, "version": "1.0.0", "cloudConfig": { "inline": CONF } });
    stage.ask("main", spec).await?;

    let steps = stage
        .eventually("a person is told what to do", async || {
            let migration = stage.status("main").await?.migration.unwrap_or_default();
            Ok(Some(migration.steps).filter(|steps| steps.iter().any(|step| step.on == "node cp-1")))
        })
        .await?;
    assert_eq!(steps[0].commands[1], "bowline operator render --config main.yaml --out main", "{steps:?}");
    stage.condition("main", "ActionRequired", "True", "StepsToDo").await?;

    // As these steps say: what the resource is rendered as goes to the node.
    let folder = stage.cluster.folder().join("static");
    fs::create_dir_all(&folder)?;
    let (resource, out) = (folder.join("main.yaml"), folder.join("main"));
    fs::write(&resource, serde_json::to_string(&stage.resources().get("main").await?)?)?;
    rendered(&["render", "--config", &resource.to_string_lossy(), "--out", &out.to_string_lossy()])?;
    let manifest = fs::read_to_string(out.join("nodes/main.yaml"))?;
    assert!(out.join("nodes/etc/kubernetes/cloud-controller-manager/cloud.conf").exists());
    run_by_kubelet(&stage, &manifest, "cp-1").await?;
    let initialised = json!({ "spec": { "taints": [], "providerID": "openstack:///1" } });
    nodes.patch("cp-1", &PatchParams::default(), &Patch::Merge(initialised)).await?;

    let status = stage.steady("main").await?;
    assert_eq!((status.version.as_deref(), status.ready.as_deref()), (Some("1.0.0"), Some("1/1")));
    stage.condition("main", "Available", "True", "AsExpected").await?;
    stage.condition("main", "ActionRequired", "False", "AsExpected").await?;

    // Another configuration is another manifest.
    stage
        .change("main", json!({ "cloudConfig": { "inline": format!("{CONF}region = RegionTwo\n") } }))
        .await?;
    stage
        .eventually("it is to be put there anew", async || {
            let migration = stage.status("main").await?.migration.unwrap_or_default();
            Ok(migration.steps.iter().any(|step| step.what.contains("another configuration")).then_some(()))
        })
        .await
}

/// `bowline operator render`.
fn rendered(arguments: &[&str]) -> anyhow::Result<()> {
    let command = render::Arguments::augment_args(clap::Command::new("render"));
    let arguments = render::Arguments::from_arg_matches(&command.try_get_matches_from(arguments)?)?;
    render::run(&arguments)?;
    Ok(())
}

/// The mirror that a kubelet makes of a static pod.
async fn run_by_kubelet(stage: &Harness, manifest: &str, node: &str) -> anyhow::Result<()> {
    let mut pod: Pod = serde_saphyr::from_str(manifest).context("the manifest of the static pod")?;
    assert_eq!(pod.metadata.namespace.as_deref(), Some(NAMESPACE));
    let name = format!("{}-{node}", pod.metadata.name.take().context("a name")?);
    pod.metadata.name = Some(name.clone());
    pod.metadata.annotations.get_or_insert_default().insert(MIRROR.to_owned(), "0".to_owned());
    pod.spec.get_or_insert_default().node_name = Some(node.to_owned());
    stage.api::<Pod>().create(&PostParams::default(), &pod).await?;
    let status = json!({ "status": { "phase": "Running", "startTime": Timestamp::now(),
        "conditions": [{ "type": "Ready", "status": "True" }] } });
    stage.api::<Pod>().patch_status(&name, &PatchParams::default(), &Patch::Merge(status)).await?;
    Ok(())
}
