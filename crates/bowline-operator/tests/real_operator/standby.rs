//! Two operators: one works, the other takes over when it ends or dies.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::harness::{Harness, OPERATOR_NAMESPACE};

#[tokio::test]
async fn when_the_leader_dies_the_other_goes_on() -> anyhow::Result<()> {
    let stage = Harness::start().await?;
    let leases: Api<Lease> = Api::namespaced(stage.client.clone(), OPERATOR_NAMESPACE);
    let holder = async || -> anyhow::Result<Option<String>> {
        let lease = leases.get_opt("bowline-operator").await?;
        Ok(lease.and_then(|lease| lease.spec?.holder_identity).filter(|holder| !holder.is_empty()))
    };
    let first = stage.operator().await?;
    let leader = stage.eventually("there is a leader", &holder).await?;
    let second = stage.operator().await?;
    stage
        .ask(
            "main",
            json!({ "cloudConfig": { "inline": "[Global]\nauth-url = https://keystone.example.org/v3\n" } }),
        )
        .await?;
    stage.steady("main").await?;
    assert_eq!(holder().await?, Some(leader.clone()));

    first.crash();
    let drift = json!({ "spec": { "replicas": 0 } });
    stage
        .api::<Deployment>()
        .patch("bowline-ccm-main", &PatchParams::default(), &Patch::Merge(drift))
        .await?;
    stage
        .eventually("the other repairs what happened meanwhile", async || {
            let replicas =
                stage.api::<Deployment>().get("bowline-ccm-main").await?.spec.and_then(|spec| spec.replicas);
            Ok((replicas == Some(2)).then_some(()))
        })
        .await?;
    let next = stage
        .eventually("the other leads", async || Ok(holder().await?.filter(|now| *now != leader)))
        .await?;
    assert_ne!(next, leader);

    // An end in good order gives the Lease back.
    second.end();
    assert_eq!(holder().await?, None);
    Ok(())
}
