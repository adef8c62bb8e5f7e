//! Executes one step on one Node. Decides nothing; every write carries a precondition on the Node that was observed (SR-5).

use std::sync::Arc;

use bowline_cloud::{EventKind, NodeView, Proof};
use bowline_kube::informer::Object;
use bowline_kube::write::{Change, Deletion, Guard, WriteClass};
use k8s_openapi::api::core::v1::Node;
use serde_json::Value;
use tracing::{debug, info, warn};

use crate::controller::ControllerContext;
use crate::view::node_reference;

/// Edits the taints, with the resource version of this Node as precondition.
pub(super) async fn edit_taints(
    context: &ControllerContext,
    node: &Object<Arc<NodeView>>,
    operations: Vec<Value>,
) {
    let guard = Guard::ResourceVersion(node.resource_version.to_string());
    let written = context.writer.patch::<Node>(None, &node.name, &guard, Change::Json(operations)).await;
    let Err(error) = written else {
        info!(node = %node.name, "the taints say again what its machine is");
        return;
    };
    match error.class() {
        // The next pass observes the Node again.
        WriteClass::Conflict | WriteClass::NotFound | WriteClass::Fenced => {
            debug!(node = %node.name, %error, "the taints were not changed now");
        }
        _ => warn!(node = %node.name, %error, "could not change the taints, will be tried again"),
    }
}

/// The result of a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// The Node is deleted.
    Deleted,
    /// The Node was certainly not deleted.
    NotDeleted,
    /// The request may have been executed: the deletion stays counted in the budget.
    Unsure,
}

/// Deletes a node whose machine is proven gone.
pub(super) async fn delete(context: &ControllerContext, node: &NodeView, proof: &Proof) -> Ended {
    if context.fence.check().is_err() {
        return Ended::NotDeleted;
    }
    let (about, name) = (node_reference(node), &node.name);
    info!(node = %name, uid = %node.uid, %proof, "deleting a node whose machine is gone");
    let message = format!("Deleting node {name} because it does not exist in the cloud provider");
    context.events.event(&about, EventKind::Normal, "DeletingNode", &message);
    let error = match context.writer.delete_node(name, &node.uid).await {
        Ok(Deletion::Deleted | Deletion::AlreadyGone) => return Ended::Deleted,
        Err(error) => error,
    };
    match error.class() {
        WriteClass::Fenced | WriteClass::NotFound => {
            info!(node = %name, %error, "not deleted");
            return Ended::NotDeleted;
        }
        _ => warn!(node = %name, %error, "could not delete the node, will be tried again"),
    }
    let message = format!("Failed deleting node {name}: {error}");
    context.events.event(&about, EventKind::Warning, "DeletingNodeFailed", &message);
    if error.class() == WriteClass::Transient { Ended::Unsure } else { Ended::NotDeleted }
}
