//! What is not judged: other Services, and values that were there before.

use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::harness::{Harness, Verdict, bad, one, service};

/// Changes a Service of those that were there before the policy.
async fn change(site: &Harness, name: &str, change: &Value) -> anyhow::Result<Verdict> {
    Verdict::of(site.old.patch(name, &PatchParams::default(), &Patch::Merge(change)).await)
}

#[tokio::test]
async fn a_bad_value_from_before_survives_every_change_that_does_not_touch_it() -> anyhow::Result<()> {
    let site = Harness::new().await?;
    let others = [
        json!({"metadata": {"labels": {"team": "blue"}}}),
        json!({"metadata": {"finalizers": ["service.kubernetes.io/load-balancer-cleanup"]}}),
        json!({"metadata": {"annotations": {"loadbalancer.openstack.org/load-balancer-id": "lb-1"}}}),
        json!({"spec": {"ports": [{"name": "http", "port": 80}, {"name": "https", "port": 443}]}}),
        json!({"metadata": {"finalizers": null}}),
    ];
    for other in others {
        assert_eq!(change(&site, "balanced", &other).await?, Verdict::Admitted, "{other}");
    }
    let status = json!({"status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.7"}]}}});
    site.old.patch_status("balanced", &PatchParams::default(), &Patch::Merge(status)).await?;
    let kept = site.old.get("balanced").await?.metadata.annotations.unwrap_or_default();
    assert!(bad().iter().all(|(key, value)| kept.get(key) == Some(value)), "{kept:?}");
    Ok(())
}

#[tokio::test]
async fn a_bad_value_is_judged_when_it_is_touched_and_only_that_one() -> anyhow::Result<()> {
    let site = Harness::new().await?;
    let said = |key: &str, value: &str| json!({"metadata": {"annotations": one(key, value)}});
    let Verdict::Policy(message) = change(&site, "replaced", &said("connection-limit", "eleven")).await?
    else {
        anyhow::bail!("another bad value should be refused");
    };
    assert!(
        message.contains("connection-limit is \"eleven\"") && !message.contains("keep-floatingip"),
        "{message}"
    );
    assert_eq!(change(&site, "replaced", &said("connection-limit", "11")).await?, Verdict::Admitted);
    let Verdict::Policy(message) = change(&site, "replaced", &said("connection-limit", "ten")).await? else {
        anyhow::bail!("a bad value should not come back");
    };
    assert!(message.contains("connection-limit is \"ten\""), "{message}");
    let gone = json!({"metadata": {"annotations": {"loadbalancer.openstack.org/keep-floatingip": null}}});
    assert_eq!(change(&site, "replaced", &gone).await?, Verdict::Admitted);
    Ok(())
}

#[tokio::test]
async fn only_load_balancers_of_the_controller_are_judged() -> anyhow::Result<()> {
    let site = Harness::new().await?;
    let try_out = PostParams { dry_run: true, ..PostParams::default() };
    for kind in ["ClusterIP", "NodePort"] {
        let inside = service(kind, &bad())?;
        assert_eq!(Verdict::of(site.services.create(&try_out, &inside).await)?, Verdict::Admitted, "{kind}");
    }
    let mut foreign = service("LoadBalancer", &bad())?;
    if let Some(spec) = foreign.spec.as_mut() {
        spec.load_balancer_class = Some("example.org/other".to_owned());
    }
    assert_eq!(Verdict::of(site.services.create(&try_out, &foreign).await)?, Verdict::Admitted);
    assert!(matches!(site.verdict(&bad()).await?, Verdict::Policy(_)));
    Ok(())
}

#[tokio::test]
async fn a_service_that_becomes_a_load_balancer_is_judged_like_a_new_one() -> anyhow::Result<()> {
    let site = Harness::new().await?;
    assert_eq!(
        change(&site, "inside", &json!({"metadata": {"labels": {"a": "b"}}})).await?,
        Verdict::Admitted
    );
    let Verdict::Policy(message) =
        change(&site, "inside", &json!({"spec": {"type": "LoadBalancer"}})).await?
    else {
        anyhow::bail!("only now do its annotations count");
    };
    assert!(message.contains("connection-limit") && message.contains("keep-floatingip"), "{message}");
    Ok(())
}
