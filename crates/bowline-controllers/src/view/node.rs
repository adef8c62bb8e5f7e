//! Projects a Node to [`NodeView`]. Unused fields (images, capacity, managed fields) are not parsed.

use std::collections::BTreeMap;

use bowline_cloud::{AddressKind, ConditionView, NodeAddress, NodeView, Pairs, Taint, Text, lenient_cidr};
use k8s_openapi::api::core::v1::Node;
use kube::api::ObjectMeta;
use serde::Deserialize;

use super::{exactly, metadata};

/// The maximum length of a cached annotation value, in bytes. Longer ones are state of other components, not options.
pub const LONGEST_ANNOTATION_BYTES: usize = 1024;

/// Prefixes of annotations in which kubelets, volume drivers and networks store state. Every Node has them, and no provider reads them.
const STATE_OF_OTHERS: [&str; 7] = [
    "csi.volume.kubernetes.io/",
    "flannel.alpha.coreos.com/",
    "kubeadm.alpha.kubernetes.io/",
    "node.alpha.kubernetes.io/",
    "projectcalico.org/",
    "network.cilium.io/",
    "volumes.kubernetes.io/",
];

/// A Node with the fields that [`NodeView`] needs.
#[derive(Debug, Clone, Default, Deserialize, kube::Resource)]
#[resource(inherit = Node)]
pub struct SlimNode {
    #[serde(deserialize_with = "metadata::slim")]
    metadata: ObjectMeta,
    #[serde(default)]
    spec: SlimSpec,
    #[serde(default)]
    status: SlimStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SlimSpec {
    #[serde(rename = "providerID")]
    provider_id: Option<Text>,
    #[serde(rename = "podCIDRs")]
    pod_cidrs: Vec<String>,
    taints: Vec<SlimTaint>,
    unschedulable: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct SlimTaint {
    key: Text,
    value: Option<Text>,
    effect: Text,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SlimStatus {
    addresses: Vec<SlimAddress>,
    conditions: Vec<SlimCondition>,
    node_info: SlimNodeInfo,
}

#[derive(Debug, Clone, Deserialize)]
struct SlimAddress {
    r#type: Text,
    address: Text,
}

#[derive(Debug, Clone, Deserialize)]
struct SlimCondition {
    r#type: Text,
    status: Text,
    #[serde(default)]
    reason: Option<Text>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct SlimNodeInfo {
    #[serde(rename = "systemUUID")]
    system_uuid: Option<Text>,
}

/// Projects a Node. Never fails: an address of unknown type or an invalid CIDR is dropped.
#[must_use]
pub fn node_view(node: SlimNode) -> NodeView {
    let SlimNode { metadata, spec, status } = node;
    NodeView {
        name: metadata.name.unwrap_or_default().into(),
        uid: metadata.uid.unwrap_or_default().into(),
        provider_id: spec.provider_id.filter(|id| !id.is_empty()),
        labels: metadata.labels.unwrap_or_default().into(),
        annotations: kept_annotations(metadata.annotations),
        taints: exactly(spec.taints.into_iter().map(taint)),
        addresses: exactly(status.addresses.into_iter().filter_map(address)),
        pod_cidrs: exactly(spec.pod_cidrs.iter().filter_map(|cidr| lenient_cidr(cidr))),
        ready: status.conditions.iter().find(|c| c.r#type == "Ready").map(|c| c.status == "True"),
        network_unavailable: network_unavailable(&status.conditions),
        unschedulable: spec.unschedulable,
        system_uuid: status.node_info.system_uuid.filter(|uuid| !uuid.is_empty()),
        created_at: metadata.creation_timestamp.map(|time| time.0),
        deleted_at: metadata.deletion_timestamp.map(|time| time.0),
    }
}

fn kept_annotations(annotations: Option<BTreeMap<String, String>>) -> Pairs {
    let mut annotations = annotations.unwrap_or_default();
    annotations.retain(|key, value| keeps_node_annotation(key, value));
    annotations.into()
}

/// Whether [`NodeView`] has an annotation of a Node.
#[must_use]
pub fn keeps_node_annotation(key: &str, value: &str) -> bool {
    value.len() <= LONGEST_ANNOTATION_BYTES && !STATE_OF_OTHERS.iter().any(|prefix| key.starts_with(prefix))
}

fn network_unavailable(conditions: &[SlimCondition]) -> Option<ConditionView> {
    let condition = conditions.iter().find(|c| c.r#type == "NetworkUnavailable")?;
    let reason = condition.reason.clone().unwrap_or_default();
    Some(ConditionView { status: condition.status.clone(), reason })
}

fn taint(taint: SlimTaint) -> Taint {
    Taint { key: taint.key, value: taint.value.filter(|value| !value.is_empty()), effect: taint.effect }
}

fn address(address: SlimAddress) -> Option<NodeAddress> {
    let kind = match address.r#type.as_str() {
        "Hostname" => AddressKind::Hostname,
        "InternalIP" => AddressKind::InternalIP,
        "ExternalIP" => AddressKind::ExternalIP,
        "InternalDNS" => AddressKind::InternalDNS,
        "ExternalDNS" => AddressKind::ExternalDNS,
        _unknown => return None,
    };
    Some(NodeAddress { kind, address: address.address })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_of_a_real_cluster_is_projected_to_what_controllers_read() {
        let long = "x".repeat(LONGEST_ANNOTATION_BYTES + 1);
        let node: SlimNode = serde_json::from_value(serde_json::json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {
                "name": "worker-1", "uid": "u-1", "resourceVersion": "42", "creationTimestamp": "2026-11-01T08:00:00Z",
                "labels": {"kubernetes.io/os": "linux"},
                "annotations": {"alpha.kubernetes.io/provided-node-ip": "10.0.0.4", "somebody/state": long},
                "managedFields": [{"manager": "kubelet", "operation": "Update"}]
            },
            "spec": {
                "providerID": "openstack:///8f1", "podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24", "fd00::/64"],
                "taints": [{"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true",
                            "effect": "NoSchedule"}]
            },
            "status": {
                "addresses": [{"type": "InternalIP", "address": "10.0.0.4"}, {"type": "Hostname", "address": "worker-1"}],
                "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"},
                               {"type": "NetworkUnavailable", "status": "False", "reason": "RouteCreated"}],
                "nodeInfo": {"systemUUID": "8F1", "kubeletVersion": "v1.36.3"},
                "images": [{"names": ["big"], "sizeBytes": 1}], "capacity": {"cpu": "2"}
            }
        }))
        .unwrap();
        let view = node_view(node);
        assert_eq!((view.name.as_str(), view.uid.as_str()), ("worker-1", "u-1"));
        assert_eq!(view.provider_id.as_deref(), Some("openstack:///8f1"));
        assert_eq!(view.pod_cidrs.len(), 2);
        assert_eq!(view.ready, Some(true));
        let network = ConditionView { status: "False".into(), reason: "RouteCreated".into() };
        assert_eq!(view.network_unavailable, Some(network));
        assert_eq!(view.addresses[0], NodeAddress::new(AddressKind::InternalIP, "10.0.0.4"));
        assert_eq!(view.taints[0].effect, "NoSchedule");
        assert_eq!(view.annotations.len(), 1, "long annotations are not kept");
        assert_eq!(view.created_at.map(|t| t.to_string()).as_deref(), Some("2026-11-01T08:00:00Z"));
    }

    #[test]
    fn a_node_that_just_registered_has_nothing_yet() {
        let node: SlimNode = serde_json::from_str(r#"{"metadata": {"name": "new"}}"#).unwrap();
        assert_eq!(node_view(node), NodeView { name: "new".into(), ..NodeView::default() });
    }
}
