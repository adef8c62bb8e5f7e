//! Writes the ranges of a Node, with its UID as precondition (safety rail SR-5).

use bowline_cloud::NodeView;
use bowline_kube::write::{Change, Guard, WriteError, Writer, Written};
use ipnet::IpNet;
use k8s_openapi::api::core::v1::Node;

use super::plan::merge_patch;

/// Writes `ranges` to the Node.
///
/// # Errors
///
/// [`WriteError`] if the API server rejected the write, or its result is unknown.
pub(super) async fn write(writer: &Writer, node: &NodeView, ranges: &[IpNet]) -> Result<Written, WriteError> {
    let guard = Guard::Uid(node.uid.to_string());
    writer.patch::<Node>(None, &node.name, &guard, Change::Merge(merge_patch(ranges))).await
}
