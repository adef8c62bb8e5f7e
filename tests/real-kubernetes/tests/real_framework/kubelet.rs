//! What kubelets do, as far as a cloud-controller-manager sees it: register a Node, and say whether it is ready.

use std::collections::BTreeMap;

use bowline_cloud::{AddressKind, NodeAddress};
use bowline_testkit::nodes::{UNINITIALIZED, taints};
use k8s_openapi::api::core::v1::{Node, NodeCondition, NodeSpec, NodeStatus, Taint};
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use real_kubernetes_tests::framework::protocol::Machine;

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
    let ready =
        NodeCondition { type_: "Ready".to_owned(), status: "True".to_owned(), ..NodeCondition::default() };
    Node {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        spec: Some(NodeSpec { taints: Some(vec![taint]), provider_id, ..NodeSpec::default() }),
        status: Some(NodeStatus { conditions: Some(vec![ready]), ..NodeStatus::default() }),
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

pub(crate) fn has_taint(node: &Node, key: &str) -> bool {
    taints(node).iter().any(|taint| taint == key)
}

pub(crate) fn label<'a>(node: &'a Node, key: &str) -> Option<&'a str> {
    Some(node.metadata.labels.as_ref()?.get(key)?.as_str())
}
