//! Writes what was planned for a Node, with a precondition on that Node. Decides nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use bowline_cloud::{NodeAddress, NodeView};
use bowline_kube::informer::Object;
use bowline_kube::write::{Change, Guard, WriteError, Writer, Written};
use k8s_openapi::api::core::v1::Node;
use serde_json::json;

use super::plan::Initialization;
use super::progress::Progress;

/// Writes the addresses, and then provider ID, labels and taints in one patch. Each write has the previous resource version as
/// precondition, so no concurrent change is lost, and no Node becomes schedulable before its addresses are written.
pub(super) async fn initialize(
    writer: &Writer,
    progress: &Progress,
    node: &Object<Arc<NodeView>>,
    plan: &Initialization,
) -> Result<(), WriteError> {
    let mut version = node.resource_version.to_string();
    if let Some(addresses) = &plan.addresses {
        let guard = Guard::ResourceVersion(version.clone());
        let written = write_addresses(writer, node, &guard, addresses).await?;
        // Without a version in the response the old one is used, and the next write fails with a conflict.
        version = progress.noted(&node.key, written).unwrap_or(version);
    }
    let guard = Guard::ResourceVersion(version);
    let operations = Change::Json(plan.operations(&node.view));
    let written = writer.patch::<Node>(None, &node.view.name, &guard, operations).await?;
    progress.noted(&node.key, written);
    Ok(())
}

/// Writes the list of addresses. A merge patch replaces the whole list; a strategic merge patch would merge by kind, although several
/// addresses can have the same kind.
pub(super) async fn write_addresses(
    writer: &Writer,
    node: &Object<Arc<NodeView>>,
    guard: &Guard,
    addresses: &[NodeAddress],
) -> Result<Written, WriteError> {
    let change = Change::Merge(json!({"status": {"addresses": addresses}}));
    writer.patch_status::<Node>(None, &node.view.name, guard, change).await
}

/// Writes labels, with only the UID as precondition.
pub(super) async fn write_labels(
    writer: &Writer,
    node: &Object<Arc<NodeView>>,
    labels: &BTreeMap<String, String>,
) -> Result<Written, WriteError> {
    let change = Change::Merge(json!({"metadata": {"labels": labels}}));
    writer.patch::<Node>(None, &node.view.name, &Guard::Uid(node.uid.to_string()), change).await
}
