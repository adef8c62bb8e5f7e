//! A node in the few facts that decisions need. Pure.

use std::time::Duration;

use bowline_kube::objects::{Node, NodeStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use serde_json::Value;

use crate::migration::{NodeFacts, Readiness};

const PROVIDED_IP: &str = "alpha.kubernetes.io/provided-node-ip";
const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
const MACHINE: &str = "cluster.x-k8s.io/machine";
const NODE_ARGS: [&str; 2] = ["k3s.io/node-args", "rke2.io/node-args"];
const CONTROL_PLANE: [&str; 2] = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];

/// What is known of a node. For how long its addresses have been the same is another's to say.
#[must_use]
pub fn node_facts(node: Node) -> NodeFacts {
    let Node { metadata, spec, status } = node;
    let (spec, status) = (spec.unwrap_or_default(), status.unwrap_or_default());
    let annotation = |key: &str| metadata.annotations.as_ref().and_then(|all| all.get(key)).cloned();
    let has_label = |key: &str| metadata.labels.as_ref().is_some_and(|all| all.contains_key(key));
    let tainted_at = annotation(NodeFacts::TAINTED_BY);
    NodeFacts {
        created_at: metadata.creation_timestamp.as_ref().map(|time| time.0),
        provider_id: spec.provider_id.filter(|id| !id.is_empty()),
        uninitialized: spec.taints.iter().flatten().any(|taint| taint.key == NodeFacts::TAINT),
        tainted_at: tainted_at.and_then(|text| text.parse().ok()),
        provided_node_ip: annotation(PROVIDED_IP),
        provider_id_writer: writer_of(&metadata, "/f:spec/f:providerID"),
        addresses_writer: writer_of(&metadata, "/f:status/f:addresses"),
        addresses: addresses(&status),
        addresses_unchanged_for: Duration::ZERO,
        readiness: readiness(&status),
        control_plane: CONTROL_PLANE.into_iter().any(has_label),
        kubelet_version: status
            .node_info
            .as_ref()
            .map(|info| info.kubelet_version.clone())
            .unwrap_or_default(),
        os_image: status.node_info.as_ref().map(|info| info.os_image.clone()).unwrap_or_default(),
        instance_type: metadata.labels.as_ref().and_then(|all| all.get(INSTANCE_TYPE)).cloned(),
        cluster_api: annotation(MACHINE).is_some(),
        node_args: NODE_ARGS
            .into_iter()
            .find_map(annotation)
            .and_then(|text| serde_json::from_str(&text).ok()),
        declared: annotation(NodeFacts::DECLARED),
        name: metadata.name.unwrap_or_default(),
        uid: metadata.uid.unwrap_or_default(),
    }
}

fn addresses(status: &NodeStatus) -> Vec<String> {
    let all = status.addresses.iter().flatten();
    let mut all: Vec<String> = all.map(|address| format!("{}={}", address.type_, address.address)).collect();
    all.sort();
    all
}

fn readiness(status: &NodeStatus) -> Readiness {
    let mut conditions = status.conditions.iter().flatten();
    match conditions.find(|condition| condition.type_ == "Ready").map(|condition| condition.status.as_str()) {
        Some("True") => Readiness::Ready,
        Some("False") => Readiness::NotReady,
        _ => Readiness::Unknown,
    }
}

/// Who wrote a field, by what the server keeps of it; of several, the last.
fn writer_of(metadata: &ObjectMeta, pointer: &str) -> Option<String> {
    let wrote = |entry: &&ManagedFieldsEntry| {
        let fields: Option<&Value> = entry.fields_v1.as_ref().map(|fields| &fields.0);
        fields.is_some_and(|fields| fields.pointer(pointer).is_some())
    };
    let entries = metadata.managed_fields.iter().flatten().filter(wrote);
    let last = entries.max_by_key(|entry| entry.time.as_ref().map(|time| time.0))?;
    last.manager.clone()
}
