//! What kubelets do, as far as a cloud-controller-manager sees it: register a Node, and say whether it is ready.

use std::collections::BTreeMap;

use bowline_cloud::{AddressKind, NodeAddress};
use k8s_openapi::api::core::v1::{Node, NodeCondition, NodeSpec, NodeStatus, Taint};
use kube::Api;
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use real_kubernetes_tests::framework::protocol::Machine;
use serde_json::json;

pub(crate) const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";
pub(crate) const SHUTDOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";

/// A running machine with one address.
pub(crate) fn machine(id: &str, name: &str, ip: &str) -> Machine {
    Machine {
        id: id.to_owned(),
        name: name.to_owned(),
        kind: "small".to_owned(),
        zone: "here-a".to_owned(),
        addresses: vec![
            NodeAddress::new(AddressKind::InternalIP, ip),
            NodeAddress::new(AddressKind::Hostname, name),
        ],
        off: false,
    }
}

/// A Node as a kubelet with an external cloud provider registers it: ready, tainted, without addresses.
pub(crate) fn registration(name: &str, provider_id: Option<String>) -> Node {
    let taint = Taint {
        key: UNINITIALIZED.to_owned(),
        value: Some("true".to_owned()),
        effect: "NoSchedule".to_owned(),
        ..Taint::default()
    };
    Node {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        spec: Some(NodeSpec { taints: Some(vec![taint]), provider_id, ..NodeSpec::default() }),
        status: Some(NodeStatus { conditions: Some(vec![ready(true)]), ..NodeStatus::default() }),
    }
}

/// The same with an annotation.
pub(crate) fn annotated(mut node: Node, key: &str, value: &str) -> Node {
    node.metadata.annotations = Some(BTreeMap::from([(key.to_owned(), value.to_owned())]));
    node
}

pub(crate) async fn join(client: &kube::Client, node: &Node) -> anyhow::Result<Node> {
    Ok(Api::<Node>::all(client.clone()).create(&PostParams::default(), node).await?)
}

/// Kubelet, or what watches it, says whether the node is ready.
pub(crate) async fn says_ready(client: &kube::Client, name: &str, is_ready: bool) -> anyhow::Result<()> {
    let patch = Patch::Strategic(json!({"status": {"conditions": [ready(is_ready)]}}));
    Api::<Node>::all(client.clone()).patch_status(name, &PatchParams::default(), &patch).await?;
    Ok(())
}

fn ready(is_ready: bool) -> NodeCondition {
    let status = if is_ready { "True" } else { "False" };
    NodeCondition { type_: "Ready".to_owned(), status: status.to_owned(), ..NodeCondition::default() }
}

pub(crate) fn has_taint(node: &Node, key: &str) -> bool {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_deref()).unwrap_or_default();
    taints.iter().any(|taint| taint.key == key)
}

/// Its addresses, as kind and text.
pub(crate) fn addresses(node: &Node) -> Vec<(String, String)> {
    let addresses = node.status.as_ref().and_then(|status| status.addresses.as_deref()).unwrap_or_default();
    addresses.iter().map(|at| (at.type_.clone(), at.address.clone())).collect()
}

pub(crate) fn provider_id(node: &Node) -> Option<&str> {
    node.spec.as_ref()?.provider_id.as_deref()
}

pub(crate) fn label<'a>(node: &'a Node, key: &str) -> Option<&'a str> {
    Some(node.metadata.labels.as_ref()?.get(key)?.as_str())
}
