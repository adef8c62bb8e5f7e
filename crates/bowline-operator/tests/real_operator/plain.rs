//! Plain Kubernetes: a manager is installed, configured, repaired and changed as its resource says.

use anyhow::Context;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Secret, ServiceAccount};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::harness::{Harness, NAMESPACE};

/// What the objects of resource `main` are called.
const OURS: &str = "bowline-ccm-main";
const GOOD: &str = "[Global]\nauth-url = https://keystone.example.org/v3\nregion = one\n";
const BETTER: &str = "[Global]\nauth-url = https://keystone.example.org/v3\nregion = two\n";
const BROKEN: &str =
    "[Global]\nauth-url = https://keystone.example.org/v3\n[LoadBalancer]\nmax-shared-lb = many\n";

fn from_secret() -> serde_json::Value {
    json!({ "cloudConfig": { "secret": { "name": "cloud-config" } } })
}

async fn configs(stage: &Harness) -> anyhow::Result<Vec<String>> {
    let secrets = stage.api::<Secret>().list(&ListParams::default()).await?;
    let names = secrets.iter().map(ResourceExt::name_any);
    Ok(names.filter(|name| name.starts_with("bowline-ccm-main-config-")).collect())
}

/// What the Deployment mounts and says of its configuration.
async fn deployed(stage: &Harness) -> anyhow::Result<(Deployment, String)> {
    let deployment = stage.api::<Deployment>().get(OURS).await?;
    let template = deployment.spec.clone().context("spec")?.template;
    let annotations = template.metadata.and_then(|meta| meta.annotations).unwrap_or_default();
    Ok((deployment, annotations.get("bowline.dev/config-hash").cloned().unwrap_or_default()))
}

#[tokio::test]
async fn a_manager_is_installed_repaired_changed_and_keeps_its_last_good_configuration() -> anyhow::Result<()>
{
    let stage = Harness::start().await?;
    let operator = stage.operator().await?;
    stage.configure(GOOD).await?;
    stage.ask("main", from_secret()).await?;

    // Installed.
    let status = stage.steady("main").await?;
    assert_eq!((status.version.as_deref(), status.ready.as_deref()), (Some("1.0.0"), Some("2/2")));
    assert_eq!(
        (status.platform.as_deref(), status.cluster_name.as_deref()),
        (Some("OpenStack"), Some("test"))
    );
    stage.condition("main", "Available", "True", "AsExpected").await?;
    stage.condition("main", "Degraded", "False", "AsExpected").await?;
    stage.condition("main", "Upgradeable", "True", "AsExpected").await?;
    stage.api::<ServiceAccount>().get(OURS).await?;
    stage.api::<PodDisruptionBudget>().get(OURS).await?;
    let roles: Api<ClusterRole> = Api::all(stage.client.clone());
    assert_eq!(roles.get("bowline:main").await?.labels()["bowline.dev/managed-by"], "main");
    let first = configs(&stage).await?;
    assert_eq!(first.len(), 1, "{first:?}");
    let leftovers = stage.api::<Deployment>().get_opt("bowline-ccm-main-shadow").await?;
    assert!(leftovers.is_none(), "what only looked is gone");

    // Nothing is written when nothing has changed, for longer than everything is looked at again.
    let seen = parking_lot::Mutex::new((None, tokio::time::Instant::now()));
    stage
        .eventually("nothing is written any more", async || {
            let versions = (
                stage.resources().get("main").await?.resource_version(),
                deployed(&stage).await?.0.resource_version(),
            );
            let mut seen = seen.lock();
            if seen.0.as_ref() != Some(&versions) {
                *seen = (Some(versions), tokio::time::Instant::now());
            }
            Ok((seen.1.elapsed() > std::time::Duration::from_secs(6)).then_some(()))
        })
        .await?;

    // Repaired.
    let edit = json!({ "metadata": { "labels": { "team": "blue" } }, "spec": { "replicas": 0 } });
    stage.api::<Deployment>().patch(OURS, &PatchParams::default(), &Patch::Merge(edit)).await?;
    roles.delete("bowline:main", &DeleteParams::default()).await?;
    stage
        .eventually("drift is repaired", async || {
            let deployment = stage.api::<Deployment>().get(OURS).await?;
            let replicas = deployment.spec.as_ref().and_then(|spec| spec.replicas);
            let has_label = deployment.labels().get("team").is_some_and(|team| team == "blue");
            let is_back = roles.get_opt("bowline:main").await?.is_some();
            Ok((replicas == Some(2) && has_label && is_back).then_some(()))
        })
        .await?;

    // Changed by the resource.
    stage.change("main", json!({ "replicas": 3, "extraFlags": ["--v=4"] })).await?;
    stage
        .eventually("the change is applied", async || {
            let spec = deployed(&stage).await?.0.spec.context("spec")?;
            let words = spec.template.spec.context("pod")?.containers.into_iter().flat_map(|each| {
                each.args.unwrap_or_default().into_iter().chain(each.command.unwrap_or_default())
            });
            let has_flag = words.into_iter().any(|word| word == "--v=4");
            Ok((spec.replicas == Some(3) && has_flag).then_some(()))
        })
        .await?;
    stage
        .eventually("three pods are ready", async || {
            Ok((stage.status("main").await?.ready.as_deref() == Some("3/3")).then_some(()))
        })
        .await?;

    // Changed by its configuration.
    let (_, hash) = deployed(&stage).await?;
    stage.configure(BETTER).await?;
    let new_hash = stage
        .eventually("the pods are rolled", async || {
            Ok(Some(deployed(&stage).await?.1).filter(|now| *now != hash))
        })
        .await?;
    stage
        .eventually("the old configuration goes when no pod has it", async || {
            let names = configs(&stage).await?;
            Ok((names.len() == 1 && names != first).then_some(()))
        })
        .await?;
    stage
        .eventually("the hash is told", async || {
            let told = stage.status("main").await?.config_hash;
            Ok(told.filter(|told| new_hash.starts_with(told.as_str())))
        })
        .await?;

    // What cannot be read is told, and what runs is left alone.
    stage.configure(BROKEN).await?;
    let message = stage.condition("main", "Degraded", "True", "ConfigInvalid").await?;
    assert!(message.contains("line 4") && message.contains("max-shared-lb"), "{message}");
    stage.condition("main", "ActionRequired", "True", "ConfigInvalid").await?;
    stage.condition("main", "Available", "True", "AsExpected").await?;
    assert_eq!(deployed(&stage).await?.1, new_hash);
    stage.api::<PodDisruptionBudget>().delete(OURS, &DeleteParams::default()).await?;
    stage
        .eventually("drift is repaired with the last good configuration", async || {
            Ok(stage.api::<PodDisruptionBudget>().get_opt(OURS).await?.map(drop))
        })
        .await?;
    assert_eq!(deployed(&stage).await?.1, new_hash);
    stage.api::<Secret>().delete("cloud-config", &DeleteParams::default()).await?;
    let message = stage.condition("main", "Degraded", "True", "ConfigMissing").await?;
    assert!(
        message.contains(&format!("Secret {NAMESPACE}/cloud-config")) && message.contains("cloud.conf"),
        "{message}"
    );
    assert_eq!(configs(&stage).await?.len(), 1, "the last good one is kept");
    stage.configure(BETTER).await?;
    stage.condition("main", "Degraded", "False", "AsExpected").await?;

    let events: Api<Event> = Api::all(stage.client.clone());
    let events = events.list(&ListParams::default()).await?;
    let reasons: Vec<&str> = events.iter().filter_map(|event| event.reason.as_deref()).collect();
    for wanted in ["Applied", "Preflight", "Full", "Steady", "ConfigInvalid", "LeaderElection"] {
        assert!(reasons.contains(&wanted), "{wanted} is not among {reasons:?}");
    }
    operator.end();
    Ok(())
}

#[tokio::test]
async fn what_is_missing_or_wrong_is_told_with_its_name_and_what_to_do() -> anyhow::Result<()> {
    let stage = Harness::start().await?;
    let _operator = stage.operator().await?;
    stage.configure(GOOD).await?;
    let mut spec = from_secret();
    spec["credentials"] = json!({ "name": "credentials" });
    stage.ask("main", spec).await?;
    let message = stage.condition("main", "Degraded", "True", "CredentialsMissing").await?;
    assert!(
        message.contains(&format!("Secret {NAMESPACE}/credentials")) && message.contains("clouds.yaml"),
        "{message}"
    );
    stage.condition("main", "Available", "False", "NotInstalled").await?;
    stage.secret("credentials", "wrong-key", "x").await?;
    stage
        .eventually("the key is told", async || {
            let message = stage.status("main").await?.message.unwrap_or_default();
            Ok(message.contains("has no key \"clouds.yaml\"").then_some(()))
        })
        .await?;
    stage.secret("credentials", "clouds.yaml", "clouds: {}").await?;
    stage.steady("main").await?;

    // A flag that is ours.
    stage.change("main", json!({ "extraFlags": ["--cluster-name=other"] })).await?;
    let message = stage.condition("main", "Degraded", "True", "SpecInvalid").await?;
    assert!(message.contains("--cluster-name"), "{message}");
    stage.change("main", json!({ "extraFlags": [] })).await?;
    stage.condition("main", "Degraded", "False", "AsExpected").await?;

    // A second one for the same cluster.
    stage.ask("second", json!({ "cloudConfig": { "inline": GOOD } })).await?;
    let message = stage.condition("second", "Degraded", "True", "Conflicting").await?;
    assert!(message.contains("main") && message.contains("Lease"), "{message}");
    assert!(stage.api::<Deployment>().get_opt("bowline-ccm-second").await?.is_none());

    // Paused.
    stage.change("main", json!({ "paused": true })).await?;
    stage.condition("main", "Progressing", "False", "Paused").await?;
    let edit = json!({ "spec": { "replicas": 1 } });
    stage.api::<Deployment>().patch(OURS, &PatchParams::default(), &Patch::Merge(edit)).await?;
    stage
        .eventually("the status is kept up to date", async || {
            Ok((stage.status("main").await?.ready.as_deref() == Some("1/1")).then_some(()))
        })
        .await?;
    stage.change("main", json!({ "paused": false })).await?;
    stage
        .eventually("work goes on", async || {
            Ok((stage.status("main").await?.ready.as_deref() == Some("2/2")).then_some(()))
        })
        .await?;
    Ok(())
}

#[tokio::test]
async fn what_the_server_can_refuse_is_refused_by_it() -> anyhow::Result<()> {
    let stage = Harness::start().await?;
    for (spec, wanted) in [
        (json!({ "platform": "Mars" }), "platform"),
        (json!({ "clusterName": "-" }), "clusterName"),
        (json!({ "cloudConfig": {} }), "exactly one"),
        (json!({ "platform": "AWS" }), "manager Bowline is for the platform OpenStack"),
    ] {
        let error = stage.ask("main", spec.clone()).await.err().context("it is refused")?;
        assert!(format!("{error:#}").contains(wanted), "{spec}: {error:#}");
    }
    stage.ask("main", json!({})).await?;
    let error =
        stage.change("main", json!({ "clusterName": "other" })).await.err().context("it is refused")?;
    assert!(format!("{error:#}").contains("cannot be changed"), "{error:#}");
    let left: Vec<ConfigMap> = stage.api::<ConfigMap>().list(&ListParams::default()).await?.items;
    assert!(left.iter().all(|each| each.name_any() == "kube-root-ca.crt"), "nothing was made");
    Ok(())
}
