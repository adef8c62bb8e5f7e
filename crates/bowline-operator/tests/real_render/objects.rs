//! Every object passes the API server's validation, and pods are as restricted as they can be.

use bowline_operator::install::{self, Installation};
use bowline_operator::render::{MANAGED_NAMESPACE, ManagerMode, Object, plain, static_pod};
use kube::api::{DynamicObject, PostParams};
use serde_json::{Value, json};

use super::harness::{OPENSHIFT, PLATFORMS, api, apply, client, facts, namespace, openshift_objects, spec};

#[tokio::test]
async fn every_object_on_plain_kubernetes_passes_a_dry_run() -> anyhow::Result<()> {
    let client = client().await?;
    namespace(&client, "cloud-system", &json!({})).await?;
    let mut count = 0;
    for (platform, manager) in PLATFORMS {
        for form in ["Deployment", "DaemonSet", "StaticPod"] {
            for mode in ManagerMode::ALL {
                // The managers of others have no shadow mode.
                let Ok(objects) = plain(&spec(platform, manager, form), "cloud", mode, &facts()) else {
                    assert_eq!((mode, manager), (ManagerMode::Shadow, "Upstream"));
                    continue;
                };
                for object in &objects {
                    apply(&client, object, true).await?;
                    count += 1;
                }
            }
        }
        if platform != "Azure" {
            let pod =
                static_pod(&spec(platform, manager, "StaticPod"), "cloud", ManagerMode::Full, &facts())?.pod;
            apply(&client, &pod, true).await?;
        }
    }
    assert!(count > 500, "{count}");
    Ok(())
}

#[tokio::test]
async fn every_object_on_openshift_passes_a_dry_run() -> anyhow::Result<()> {
    let client = client().await?;
    namespace(&client, MANAGED_NAMESPACE, &json!({})).await?;
    let mut count = 0;
    for (platform, cloud) in OPENSHIFT {
        for object in openshift_objects(platform, cloud)? {
            apply(&client, &object, true).await?;
            count += 1;
        }
    }
    assert_eq!(count, 55, "as many as upstream has");
    Ok(())
}

#[tokio::test]
async fn the_operator_itself_passes_a_dry_run() -> anyhow::Result<()> {
    let client = client().await?;
    namespace(&client, install::NAMESPACE, &json!({})).await?;
    for object in install::objects(&Installation::of_image("registry.example/bowline:v1"))? {
        apply(&client, &object, true).await?;
    }
    Ok(())
}

/// What the API server has against a pod in a namespace that accepts only restricted ones.
async fn violations(client: &kube::Client, pod: &Value) -> anyhow::Result<String> {
    let place = "restricted";
    namespace(client, place, &json!({ "pod-security.kubernetes.io/enforce": "restricted" })).await?;
    let mut spec = pod.clone();
    spec["serviceAccountName"] = json!("default");
    let body = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "pod", "namespace": place }, "spec": spec });
    let object = Object::untyped(body.clone())?;
    let pod: DynamicObject = serde_json::from_value(body)?;
    let params = PostParams { dry_run: true, ..PostParams::default() };
    match api(client, &object).await?.create(&params, &pod).await {
        Ok(_) => Ok(String::new()),
        Err(kube::Error::Api(status)) => Ok(status.message.clone()),
        Err(other) => Err(other.into()),
    }
}

#[tokio::test]
async fn pods_violate_the_restricted_standard_by_the_hosts_network_and_probes_on_its_loopback_only()
-> anyhow::Result<()> {
    let client = client().await?;
    let mut pods = Vec::new();
    for (platform, manager) in PLATFORMS {
        pods.extend(plain(&spec(platform, manager, "Deployment"), "cloud", ManagerMode::Full, &facts())?);
    }
    pods.extend(install::objects(&Installation::of_image("registry.example/bowline:v1"))?);
    pods.retain(|object| object.body.pointer("/spec/template/spec").is_some());
    assert_eq!(pods.len(), 11, "nine managers, Azure's agent, the operator");
    for object in pods {
        let message = violations(&client, &object.body["spec"]["template"]["spec"]).await?;
        let (_, found) =
            message.split_once("violates PodSecurity \"restricted:latest\": ").unwrap_or(("", &message));
        let kinds: Vec<&str> = found.split("), ").filter_map(|part| part.split(" (").next()).collect();
        // Azure's agent has no probes.
        let wanted = ["host namespaces", "hostPort", "probe or lifecycle host"];
        assert!(kinds == wanted || kinds == wanted[..2], "{object}: {message}");
    }
    Ok(())
}
