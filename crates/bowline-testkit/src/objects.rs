//! Objects of any kind in a cluster: created as a precondition of a test, and removed after it.

use std::fmt::Debug;

use anyhow::Context;
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{eventually, manifest};

/// Requests that are under way at once.
const CONCURRENCY_MAX: usize = 16;

/// The namespace of managers and their Lease, and the name of that Lease.
pub const SYSTEM: &str = "kube-system";
/// The name of the managers' Lease, and of the shipped ServiceAccount.
pub const MANAGER: &str = "cloud-controller-manager";

/// Creates or updates an object (server-side apply).
///
/// # Errors
/// When it has no kind or name, or the API server refuses it.
pub async fn apply(client: &Client, object: Value) -> anyhow::Result<()> {
    manifest::apply(client, &serde_json::from_value(object)?).await
}

/// Creates a namespace, if it is missing.
///
/// # Errors
/// When the API server refuses.
pub async fn create_namespace(client: &Client, name: &str) -> anyhow::Result<()> {
    apply(client, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})).await
}

/// Creates a ServiceAccount, if it is missing: the controller that creates `default` is not there.
///
/// # Errors
/// When the API server refuses.
pub async fn create_service_account(client: &Client, namespace: &str, name: &str) -> anyhow::Result<()> {
    let metadata = json!({"name": name, "namespace": namespace});
    apply(client, json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})).await
}

/// Creates a CustomResourceDefinition, and waits until its objects can be listed.
///
/// # Errors
/// When the API server refuses it.
pub async fn define(client: &Client, definition: &CustomResourceDefinition) -> anyhow::Result<()> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let created = definitions.create(&PostParams::default(), definition).await?;
    let version = created.spec.versions.first().context("a definition without versions")?;
    let kind = ApiResource {
        group: created.spec.group.clone(),
        version: version.name.clone(),
        api_version: format!("{}/{}", created.spec.group, version.name),
        kind: created.spec.names.kind.clone(),
        plural: created.spec.names.plural.clone(),
    };
    let objects: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
    eventually(format!("{} is defined", created.name_any()), async || {
        let found = definitions.get(&created.name_any()).await?;
        let conditions = found.status.and_then(|status| status.conditions).unwrap_or_default();
        let is_established =
            conditions.iter().any(|each| each.type_ == "Established" && each.status == "True");
        // Its storage is ready a little later.
        Ok((is_established && objects.list(&ListParams::default()).await.is_ok()).then_some(()))
    })
    .await
}

/// Who holds a Lease, if anybody does.
///
/// # Errors
/// When the API server does not answer.
pub async fn lease_holder(leases: &Api<Lease>, name: &str) -> anyhow::Result<Option<String>> {
    let holder = leases.get_opt(name).await?.and_then(|lease| lease.spec?.holder_identity);
    Ok(holder.filter(|holder| !holder.is_empty()))
}

/// Deletes all objects of a kind, even those with finalizers, but what the API server keeps there itself and what `keep` names.
///
/// # Errors
/// When the API server refuses.
pub async fn clear<K>(api: &Api<K>, keep: impl Fn(&str) -> bool) -> anyhow::Result<()>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let objects = api.list_metadata(&ListParams::default()).await?;
    let names = objects.iter().map(|object| (object.name_any(), !object.finalizers().is_empty()));
    let is_its_own = |name: &str| name == "kubernetes" || name.starts_with("apiserver-");
    let names: Vec<_> = names.filter(|(name, _)| !is_its_own(name) && !keep(name)).collect();
    concurrently(names, |(name, has_finalizers): (String, bool)| async move {
        if has_finalizers {
            let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
            if_found(api.patch(&name, &PatchParams::default(), &patch).await)?;
        }
        if_found(api.delete(&name, &DeleteParams::default().grace_period(0)).await).map(drop)
    })
    .await
}

/// Does something for each, several at once.
///
/// # Errors
/// With the first that fails.
pub async fn concurrently<T, F: Future<Output = anyhow::Result<()>>>(
    items: impl IntoIterator<Item = T>,
    perform: impl Fn(T) -> F,
) -> anyhow::Result<()> {
    stream::iter(items).map(perform).buffer_unordered(CONCURRENCY_MAX).try_collect().await
}

/// An answer about an object that may be gone already.
///
/// # Errors
/// As the answer, but for 404.
pub fn if_found<T>(answer: kube::Result<T>) -> anyhow::Result<Option<T>> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}
