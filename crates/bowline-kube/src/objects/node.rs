//! Nodes, with only the fields that are read.

use k8s_openapi::api::core::v1 as core;
use kube::api::ObjectMeta;
use serde::Deserialize;

/// A Node.
#[derive(Debug, Clone, Default, Deserialize, kube::Resource)]
#[resource(inherit = core::Node)]
#[serde(default)]
pub struct Node {
    /// The object metadata.
    pub metadata: ObjectMeta,
    /// The desired state.
    pub spec: Option<NodeSpec>,
    /// The status, as reported by the kubelet and the cloud provider.
    pub status: Option<NodeStatus>,
}

/// The desired state of a Node.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct NodeSpec {
    /// The provider ID of the server.
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
    /// The taints. Complete, because this list can only be written as a whole.
    pub taints: Option<Vec<core::Taint>>,
}

/// The status of a Node.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeStatus {
    /// The addresses of the Node.
    pub addresses: Option<Vec<NodeAddress>>,
    /// The conditions of the Node.
    pub conditions: Option<Vec<NodeCondition>>,
    /// The versions of the software on the Node.
    pub node_info: Option<NodeSystemInfo>,
}

/// One address of a Node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct NodeAddress {
    /// `InternalIP`, `Hostname` …
    #[serde(rename = "type")]
    pub type_: String,
    /// The address.
    pub address: String,
}

/// One condition of a Node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct NodeCondition {
    /// The type, such as `Ready`.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
}

/// The versions of the software on a Node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSystemInfo {
    /// The version of its kubelet.
    pub kubelet_version: String,
    /// The name of the operating system.
    pub os_image: String,
}
