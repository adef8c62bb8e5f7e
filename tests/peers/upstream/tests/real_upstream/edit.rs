//! What a script does to a cluster and its cloud, as data: so that both get the very same.

use anyhow::Context;
use k8s_openapi::api::core::v1::{Node, Service};
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

/// The namespace of all Services.
pub(crate) const NAMESPACE: &str = "default";

/// One edit.
#[derive(Debug, Clone)]
pub(crate) enum Edit {
    /// A change of what the cloud holds, as a JSON merge patch.
    Cloud(Value),
    /// A new Node or Service.
    Create(Kind, Value),
    /// A JSON merge patch by a user.
    Patch(Kind, &'static str, Value),
    /// The Ready condition, as a kubelet or the node lifecycle controller writes it.
    Ready(&'static str, &'static str),
    /// A deletion.
    Delete(Kind, &'static str),
    /// The manager is started.
    Start,
    /// The manager is killed.
    Kill,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Node,
    Service,
}

impl Kind {
    fn api(self, client: &Client) -> Api<DynamicObject> {
        match self {
            Self::Node => Api::all_with(client.clone(), &ApiResource::erase::<Node>(&())),
            Self::Service => {
                Api::namespaced_with(client.clone(), NAMESPACE, &ApiResource::erase::<Service>(&()))
            }
        }
    }
}

/// Performs an edit of the cluster; those of the cloud and the manager are the side's.
pub(crate) async fn perform(client: &Client, edit: &Edit) -> anyhow::Result<()> {
    match edit {
        Edit::Cloud(_) | Edit::Start | Edit::Kill => {}
        Edit::Create(kind, object) => {
            let object: DynamicObject = serde_json::from_value(object.clone())?;
            kind.api(client).create(&PostParams::default(), &object).await.context("create")?;
        }
        Edit::Patch(kind, name, patch) => {
            let patch = Patch::Merge(patch);
            kind.api(client)
                .patch(name, &PatchParams::default(), &patch)
                .await
                .with_context(|| format!("patch {name}"))?;
        }
        Edit::Ready(node, status) => {
            let patch = json!({"status": {"conditions": [{"type": "Ready", "status": status}]}});
            let api = Kind::Node.api(client);
            api.patch_status(node, &PatchParams::default(), &Patch::Strategic(patch)).await?;
        }
        Edit::Delete(kind, name) => {
            kind.api(client)
                .delete(name, &DeleteParams::default())
                .await
                .with_context(|| format!("delete {name}"))?;
        }
    }
    Ok(())
}

/// Applies a JSON merge patch.
pub(crate) fn merge(document: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *document = patch.clone();
        return;
    };
    if !document.is_object() {
        *document = json!({});
    }
    let Value::Object(fields) = document else { return };
    for (key, change) in changes {
        if change.is_null() {
            fields.remove(key);
        } else {
            merge(fields.entry(key).or_insert(Value::Null), change);
        }
    }
}
