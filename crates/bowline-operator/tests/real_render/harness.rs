//! The cluster, and how objects get there.

use anyhow::Context;
use bowline_operator::api::CloudControllerManagerSpec;
use bowline_operator::feature_gates::FeatureGates;
use bowline_operator::images::Images;
use bowline_operator::infrastructure::Infrastructure;
use bowline_operator::proxy::ProxySettings;
use bowline_operator::render::{
    ClusterFacts, MANAGED_NAMESPACE, Object, OpenShiftInputs, RenderedConfig, openshift,
};
use bowline_operator::tls;
use bowline_testkit::apiserver::{Cluster, Identity};
use bowline_testkit::objects;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

/// Platforms of plain Kubernetes with their managers.
pub(crate) const PLATFORMS: [(&str, &str); 9] = [
    ("OpenStack", "Bowline"),
    ("OpenStack", "Upstream"),
    ("AWS", "Upstream"),
    ("Azure", "Upstream"),
    ("GCP", "Upstream"),
    ("IBMCloud", "Upstream"),
    ("Nutanix", "Upstream"),
    ("PowerVS", "Upstream"),
    ("VSphere", "Upstream"),
];

/// Platforms of OpenShift, with Azure's cloud.
pub(crate) const OPENSHIFT: [(&str, &str); 9] = [
    ("AWS", ""),
    ("Azure", ""),
    ("Azure", "AzureStackCloud"),
    ("GCP", ""),
    ("IBMCloud", ""),
    ("Nutanix", ""),
    ("OpenStack", ""),
    ("PowerVS", ""),
    ("VSphere", ""),
];

pub(crate) async fn client() -> anyhow::Result<Client> {
    Cluster::shared().await?.client(&Identity::Admin).await
}

pub(crate) async fn api(client: &Client, object: &Object) -> anyhow::Result<Api<DynamicObject>> {
    let (resource, _) = kube::discovery::pinned_kind(client, &object.gvk()).await?;
    Ok(match &object.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    })
}

/// Server-side apply as the operator does it; a field that the server does not know is an error.
pub(crate) async fn apply(client: &Client, object: &Object, is_dry_run: bool) -> anyhow::Result<()> {
    let mut params = PatchParams::apply("bowline-operator").force().validation_strict();
    params.dry_run = is_dry_run;
    let api = api(client, object).await.with_context(|| format!("find the API of {object}"))?;
    api.patch(&object.name, &params, &Patch::Apply(&object.body))
        .await
        .with_context(|| format!("apply {object}: {}", object.body))?;
    Ok(())
}

/// A namespace of this name, with a ServiceAccount for pods that name none.
pub(crate) async fn namespace(client: &Client, name: &str, labels: &Value) -> anyhow::Result<()> {
    let metadata = json!({ "name": name, "labels": labels });
    objects::apply(client, json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata })).await?;
    objects::create_service_account(client, name, "default").await
}

/// A resource with all that can be said.
pub(crate) fn spec(platform: &str, manager: &str, form: &str) -> CloudControllerManagerSpec {
    serde_json::from_value(json!({
        "platform": platform, "manager": manager, "form": form, "clusterName": "prod-1", "namespace": "cloud-system",
        "cloudConfig": { "secret": { "name": "cloud-config" } }, "credentials": { "name": "cloud-credentials" },
        "image": format!("registry.example/{}-cloud-controller-manager:v1", platform.to_lowercase()),
        "proxy": { "https": "http://proxy.example:3128" }, "trustedCa": { "name": "ca" }, "apiServer": "10.0.0.1:6443",
        "tls": { "minVersion": "VersionTLS12" }, "featureGates": { "A": true }, "extraFlags": ["--v=2"],
    }))
    .unwrap()
}

pub(crate) fn facts() -> ClusterFacts {
    ClusterFacts {
        control_plane_nodes: 3,
        config: Some(RenderedConfig::new("[Global]\n")),
        ..ClusterFacts::default()
    }
}

/// The objects of a platform on OpenShift.
pub(crate) fn openshift_objects(platform: &str, cloud: &str) -> anyhow::Result<Vec<Object>> {
    let infrastructure: Infrastructure = serde_json::from_value(json!({ "status": {
        "infrastructureName": "prod-1", "platformStatus": { "type": platform, "azure": { "cloudName": cloud } },
    }}))?;
    let keys = ["OpenStack", "AWS", "Azure", "GCP", "IBM", "Nutanix", "PowerVS", "VSphere", "Operator"];
    let mut images: Vec<String> = keys
        .iter()
        .map(|key| format!(r#""cloudControllerManager{key}": "registry.example/{key}""#))
        .collect();
    images.push(r#""cloudNodeManagerAzure": "registry.example/node""#.to_owned());
    let inputs = OpenShiftInputs {
        infrastructure: &infrastructure,
        proxy: &ProxySettings { http_proxy: "http://proxy.example".to_owned(), ..ProxySettings::default() },
        images: &Images::parse(&format!("{{{}}}", images.join(",")))?,
        gates: &FeatureGates::on(["VSphereMixedNodeEnv"]),
        tls: &tls::resolve("", &[], None)?,
        namespace: MANAGED_NAMESPACE,
    };
    Ok(openshift(&inputs)?)
}
