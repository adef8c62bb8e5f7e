//! The objects of every platform through their life: made, left alone, drifted and repaired, changed, removed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use bowline_cloud::Unfenced;
use bowline_kube::write::Writer;
use bowline_operator::apply::{Applier, Target};
use bowline_operator::render::{ManagerMode, Object, plain};
use bowline_testkit::apiserver::{Cluster, Identity};
use kube::Client;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use super::harness::{OPENSHIFT, PLATFORMS, api, facts, namespace, openshift_objects, spec};

/// What is done for them, in words.
async fn done(applier: &Applier, owner: &str, objects: &[Object]) -> anyhow::Result<Vec<String>> {
    let target = Target { owner, namespace: "cloud-system", adopt: false };
    let applied = applier.apply(target, objects.to_vec(), &BTreeSet::new()).await?;
    Ok(applied.done.iter().map(|done| format!("{} {} {}", done.what, done.id.kind, done.id.name)).collect())
}

async fn lives(client: &Client, owner: &str, objects: Vec<Object>) -> anyhow::Result<()> {
    let places: BTreeSet<&str> = objects.iter().filter_map(|object| object.namespace.as_deref()).collect();
    for place in places {
        namespace(client, place, &json!({})).await?;
    }
    let writer = Writer::new(client.clone(), Arc::new(Unfenced), Duration::from_secs(10));
    let applier = Applier::new(client.clone(), writer);
    let made = done(&applier, owner, &objects).await?;
    ensure!(made.iter().any(|done| done.starts_with("created Deployment")), "{owner}: {made:?}");
    ensure!(done(&applier, owner, &objects).await?.is_empty(), "{owner}: not left alone");

    let workload = objects.iter().find(|object| object.kind == "Deployment").context("a Deployment")?;
    let lost = objects.iter().find(|object| !["Deployment", "Namespace"].contains(&object.kind.as_str()));
    let lost = lost.context("something else")?;
    let edit = Patch::Merge(json!({ "spec": { "replicas": 7 } }));
    api(client, workload).await?.patch(&workload.name, &PatchParams::default(), &edit).await?;
    api(client, lost).await?.delete(&lost.name, &DeleteParams::default()).await?;
    let mut repaired = done(&applier, owner, &objects).await?;
    repaired.sort();
    let wanted =
        [format!("created {} {}", lost.kind, lost.name), format!("updated Deployment {}", workload.name)];
    ensure!(repaired == wanted, "{owner}: {repaired:?}");

    let mut changed = objects.clone();
    changed.retain(|object| object.kind != "PodDisruptionBudget");
    let other = changed.iter_mut().find(|object| object.name == workload.name && object.kind == "Deployment");
    other.context("a Deployment")?.body["spec"]["template"]["spec"]["containers"][0]["image"] =
        json!("registry.example/next:v2");
    let mut told = done(&applier, owner, &changed).await?;
    told.retain(|done| !done.starts_with("deleted PodDisruptionBudget"));
    ensure!(told == [format!("updated Deployment {}", workload.name)], "{owner}: {told:?}");
    let gone = done(&applier, owner, &[]).await?;
    ensure!(gone.iter().all(|done| done.starts_with("deleted ")), "{owner}: {gone:?}");
    for object in &objects {
        let left = api(client, object).await?.get_opt(&object.name).await?;
        let going = left.is_none_or(|left| left.metadata.deletion_timestamp.is_some());
        ensure!(going || object.kind == "Namespace", "{owner}: {} {} is left", object.kind, object.name);
    }
    Ok(())
}

#[tokio::test]
async fn the_objects_of_every_platform_are_made_repaired_changed_and_removed() -> anyhow::Result<()> {
    // A cluster of its own: the other tests make objects of the same names.
    let cluster = Cluster::start().await?;
    let client = cluster.client(&Identity::Admin).await?;
    namespace(&client, "cloud-system", &json!({})).await?;
    for (platform, manager) in PLATFORMS {
        let name = format!("{}-{}-life", platform.to_lowercase(), manager.to_lowercase());
        lives(
            &client,
            &name,
            plain(&spec(platform, manager, "Deployment"), &name, ManagerMode::Full, &facts())?,
        )
        .await?;
    }
    for (platform, cloud) in OPENSHIFT {
        lives(
            &client,
            &format!("openshift-{}-life", platform.to_lowercase()),
            openshift_objects(platform, cloud)?,
        )
        .await?;
    }
    Ok(())
}
