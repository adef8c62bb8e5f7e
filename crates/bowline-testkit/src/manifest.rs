//! Applies manifests as `kubectl apply` would.

use anyhow::Context;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::discovery::Scope;
use kube::{Api, Client};

/// Applies all documents of a manifest.
///
/// # Errors
/// When a document is no object, or the API server refuses it.
pub async fn apply_manifest(client: &Client, manifest: &str) -> anyhow::Result<()> {
    for object in objects(manifest)? {
        apply(client, &object).await?;
    }
    Ok(())
}

/// The objects of a manifest, in their order.
///
/// # Errors
/// When a document is no object.
pub fn objects(manifest: &str) -> anyhow::Result<Vec<DynamicObject>> {
    let documents = manifest.split("---\n").filter(|document| document.contains("kind:"));
    documents.map(|document| serde_saphyr::from_str(document).context("an object of a manifest")).collect()
}

/// Applies one object (server-side), whatever it was before.
///
/// # Errors
/// When the object has no kind or name, or the API server refuses it.
pub async fn apply(client: &Client, object: &DynamicObject) -> anyhow::Result<()> {
    let kind = object.types.as_ref().context("an object without a kind")?;
    let name = object.metadata.name.as_ref().context("an object without a name")?;
    let gvk = kube::core::GroupVersionKind::try_from(kind)?;
    let (resource, capabilities) = kube::discovery::pinned_kind(client, &gvk).await?;
    let api: Api<DynamicObject> = match (capabilities.scope, &object.metadata.namespace) {
        (Scope::Namespaced, Some(namespace)) => Api::namespaced_with(client.clone(), namespace, &resource),
        _cluster_wide => Api::all_with(client.clone(), &resource),
    };
    api.patch(name, &PatchParams::apply("test").force(), &Patch::Apply(object))
        .await
        .with_context(|| format!("apply {} {name}", kind.kind))?;
    Ok(())
}
