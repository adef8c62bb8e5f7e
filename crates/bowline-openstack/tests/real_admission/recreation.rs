//! Who changes what counts only when a load balancer is created is warned, and not refused.

use anyhow::{Context, bail};
use bowline_testkit::eventually;
use http::Request;
use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt;
use kube::api::{GetParams, Patch, PatchParams, PostParams};
use kube::client::Body;
use serde_json::{Value, json};

use crate::harness::{Annotations, Harness, one, service};

/// Changes a Service; the warnings of the answer. The API server judges a change against its cache first, and keeps the warnings when it
/// repeats that against etcd: so the next change waits until the cache shows this one.
async fn change(site: &Harness, name: &str, change: &Value) -> anyhow::Result<Vec<String>> {
    let url = format!("{}/{name}", site.services.resource_url());
    let request = Request::patch(url)
        .header("content-type", "application/merge-patch+json")
        .body(Body::from(serde_json::to_vec(change)?))?;
    let answer = site.client.send(request).await?;
    if !answer.status().is_success() {
        bail!("the change should be admitted: {}", answer.status());
    }
    let (head, body) = answer.into_parts();
    let changed: Service = serde_json::from_slice(&body.collect_bytes().await?)?;
    eventually("the cache shows the change", async || {
        let cached = site.services.get_with(name, &GetParams::any()).await?;
        Ok((cached.resource_version() == changed.resource_version()).then_some(()))
    })
    .await?;
    let warnings = head.headers.get_all("warning").iter();
    warnings.map(|value| Ok(value.to_str()?.to_owned())).collect()
}

fn annotations(annotations: &Annotations) -> Value {
    json!({"metadata": {"annotations": annotations}})
}

async fn create(site: &Harness, kind: &str, said: &Annotations) -> anyhow::Result<String> {
    let made = site.services.create(&PostParams::default(), &service(kind, said)?).await?;
    Ok(made.name_any())
}

async fn serve(site: &Harness, name: &str) -> anyhow::Result<()> {
    let status = json!({"status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.7"}]}}});
    site.services.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await?;
    Ok(())
}

#[tokio::test]
async fn a_change_of_what_counts_at_creation_is_admitted_with_a_warning_and_only_for_a_served_service()
-> anyhow::Result<()> {
    let site = Harness::new().await?;
    let web = create(&site, "LoadBalancer", &one("flavor-id", "f-1")).await?;
    assert_eq!(
        change(&site, &web, &annotations(&one("flavor-id", "f-2"))).await?,
        [""; 0],
        "it has none yet"
    );
    serve(&site, &web).await?;
    // The policy may be in force a moment later than the other one.
    let mut number = 2;
    let warnings = eventually("the policy is in force", async || {
        number += 1;
        let other = one("flavor-id", &format!("f-{number}"));
        let warnings = change(&site, &web, &annotations(&other)).await?;
        Ok((!warnings.is_empty()).then_some(warnings))
    });
    let warnings = warnings.await?;
    let warning = warnings.first().context("a warning")?;
    for part in ["flavor-id", "counts only when a load balancer is created", "ClusterIP"] {
        assert!(warning.contains(part), "{part}: {warning}");
    }
    assert!(!warning.contains("subnet-id"), "only what was changed: {warning}");
    let removed = json!({"metadata": {"annotations": {"loadbalancer.openstack.org/flavor-id": null}}});
    assert_eq!(change(&site, &web, &removed).await?.len(), 1);
    for quiet in [
        annotations(&one("flavor-id", "")),
        annotations(&one("connection-limit", "5")),
        json!({"metadata": {"labels": {"team": "blue"}}}),
        json!({"spec": {"type": "ClusterIP"}, "metadata": {"annotations": one("subnet-id", "s-1")}}),
    ] {
        assert_eq!(change(&site, &web, &quiet).await?, [""; 0], "{quiet}");
    }
    Ok(())
}
