//! The definition of the resource: structural, and strict.

use bowline_operator::api::CloudControllerManager;
use bowline_operator::install;
use bowline_operator::render::Object;
use bowline_testkit::eventually;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::harness::{apply, client};

/// Applies the definition, and waits until it is served.
async fn defined() -> anyhow::Result<Client> {
    let client = client().await?;
    apply(&client, &Object::cluster(&install::definition())?, false).await?;
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    eventually("the definition is established", async || {
        let found = definitions.get("cloudcontrollermanagers.bowline.dev").await?;
        let conditions = found.status.and_then(|status| status.conditions).unwrap_or_default();
        let has = |kind: &str| conditions.iter().any(|one| one.type_ == kind && one.status == "True");
        anyhow::ensure!(!has("NonStructuralSchema"), "{conditions:?}");
        Ok(has("Established").then_some(()))
    })
    .await?;
    let resources: Api<CloudControllerManager> = Api::all(client.clone());
    eventually("the resource is served", async || Ok(resources.list(&Default::default()).await.ok())).await?;
    Ok(client)
}

fn resource(name: &str, fields: &Value) -> Value {
    let mut spec = json!({ "platform": "OpenStack", "clusterName": "prod-1" });
    spec.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    json!({ "apiVersion": "bowline.dev/v1alpha1", "kind": "CloudControllerManager", "metadata": { "name": name }, "spec": spec })
}

/// What the API server says to a resource that is created; nothing if it accepts it.
async fn refusal(client: &Client, body: &Value) -> anyhow::Result<String> {
    let request = kube::core::Request::new("/apis/bowline.dev/v1alpha1/cloudcontrollermanagers");
    let params = PostParams { dry_run: true, ..PostParams::default() };
    let request = request.create(&params, serde_json::to_vec(body)?)?;
    match client.request::<Value>(request).await {
        Ok(_) => Ok(String::new()),
        Err(kube::Error::Api(status)) => Ok(status.message.clone()),
        Err(other) => Err(other.into()),
    }
}

#[tokio::test]
async fn the_definition_is_structural_and_its_defaults_are_those_of_the_types() -> anyhow::Result<()> {
    let client = defined().await?;
    let resources: Api<CloudControllerManager> = Api::all(client);
    let asked: CloudControllerManager = serde_json::from_value(resource("defaults", &json!({})))?;
    let stored = resources.create(&PostParams::default(), &asked).await?;
    assert_eq!(stored.spec, asked.spec);
    Ok(())
}

#[tokio::test]
async fn resources_that_make_no_sense_are_refused_in_our_words() -> anyhow::Result<()> {
    let client = defined().await?;
    let cases = [
        (json!({ "manager": "Bowline", "platform": "AWS" }), "manager Bowline is for the platform OpenStack"),
        (json!({ "form": "DaemonSet", "replicas": 2 }), "replicas is for the form Deployment"),
        (json!({ "cloudConfig": {} }), "exactly one of inline, configMap and secret"),
        (
            json!({ "cloudConfig": { "inline": "x", "secret": { "name": "y" } } }),
            "exactly one of inline, configMap and secret",
        ),
        (json!({ "apiServer": "fd00::1:6443" }), "apiServer is host:port"),
        (json!({ "apiServer": "https://host:6443" }), "apiServer is host:port"),
        (json!({ "clusterName": "has space" }), "clusterName consists of letters"),
        (json!({ "clusterName": "-x" }), "clusterName consists of letters"),
        (json!({ "clusterName": "" }), "clusterName"),
        (json!({ "platform": "Mainframe" }), "Unsupported value"),
        (json!({ "replicas": 0 }), "spec.replicas"),
        (json!({ "image": "" }), "spec.image"),
        (json!({ "migration": { "keepPreviousHours": 10_000 } }), "keepPreviousHours"),
    ];
    for (fields, words) in cases {
        let said = refusal(&client, &resource("bad", &fields)).await?;
        assert!(said.contains(words), "{fields}: {said:?}");
    }
    let said = refusal(&client, &resource(&"n".repeat(41), &json!({}))).await?;
    assert!(said.contains("at most 40 characters"), "{said}");
    for fields in [
        json!({}),
        json!({ "apiServer": "[fd00::1]:6443" }),
        json!({ "replicas": 3 }),
        json!({ "platform": "AWS", "manager": "Upstream" }),
    ] {
        assert_eq!(refusal(&client, &resource("good", &fields)).await?, "", "{fields}");
    }
    Ok(())
}

#[tokio::test]
async fn what_can_never_change_cannot_be_changed() -> anyhow::Result<()> {
    let client = defined().await?;
    let resources: Api<CloudControllerManager> = Api::all(client);
    let asked: CloudControllerManager = serde_json::from_value(resource("fixed", &json!({})))?;
    resources.create(&PostParams::default(), &asked).await?;
    for (patch, words) in [
        (json!({ "spec": { "clusterName": "other" } }), "clusterName cannot be changed"),
        (json!({ "spec": { "platform": "AWS", "manager": "Upstream" } }), "platform cannot be changed"),
    ] {
        let error =
            resources.patch("fixed", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    let patch = json!({ "spec": { "replicas": 2 } });
    resources.patch("fixed", &PatchParams::default(), &Patch::Merge(&patch)).await?;
    Ok(())
}
