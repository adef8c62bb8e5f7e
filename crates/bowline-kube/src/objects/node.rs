//! Nodes. Only what is read.

use k8s_openapi::api::core::v1 as core;
use kube::api::ObjectMeta;
use serde::Deserialize;

/// A Node.
#[derive(Debug, Clone, Default, Deserialize, kube::Resource)]
#[resource(inherit = core::Node)]
#[serde(default)]
pub struct Node {
    /// Who it is.
    pub metadata: ObjectMeta,
    /// What it shall be.
    pub spec: Option<NodeSpec>,
    /// What its kubelet and its cloud say of it.
    pub status: Option<NodeStatus>,
}

/// What a Node shall be.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct NodeSpec {
    /// Which server it is.
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
    /// What keeps pods away. Whole, for this list can only be written as a whole.
    pub taints: Option<Vec<core::Taint>>,
}

/// What a kubelet and a cloud say of a Node.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeStatus {
    /// Where it is reached.
    pub addresses: Option<Vec<NodeAddress>>,
    /// How it is.
    pub conditions: Option<Vec<NodeCondition>>,
    /// What it runs.
    pub node_info: Option<NodeSystemInfo>,
}

/// Where a Node is reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct NodeAddress {
    /// `InternalIP`, `Hostname` …
    #[serde(rename = "type")]
    pub type_: String,
    /// The address.
    pub address: String,
}

/// How a Node is, in one respect.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct NodeCondition {
    /// In which.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
}

/// What a Node runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSystemInfo {
    /// The version of its kubelet.
    pub kubelet_version: String,
    /// The name of its operating system.
    pub os_image: String,
}
