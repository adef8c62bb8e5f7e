//! The projection of a Node that providers and planners use.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ipnet::IpNet;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Pairs, Text};

/// The fields of a Kubernetes Node that the informer keeps in memory. The resourceVersion is not one of them, because it changes with every
/// heartbeat: a Node with an equal view counts as unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeView {
    /// The Node's name.
    pub name: Text,
    /// The Node's UID: a Node that was deleted and created again with the same name has another one.
    pub uid: Text,
    /// `spec.providerID`, immutable once set; `None` if it is not set.
    pub provider_id: Option<Text>,
    /// All labels.
    pub labels: Pairs,
    /// The annotations without long values and without the state of other components (such as CSI drivers and CNI plugins), which would
    /// take kilobytes per Node.
    pub annotations: Pairs,
    /// The taints.
    pub taints: Vec<Taint>,
    /// `status.addresses`, in order. The first InternalIP is the primary address of the node.
    pub addresses: Vec<NodeAddress>,
    /// `spec.podCIDRs`.
    pub pod_cidrs: Vec<IpNet>,
    /// Whether the Ready condition is True; `None` if it was never reported.
    pub ready: Option<bool>,
    /// The NetworkUnavailable condition; `None` if it was never set.
    pub network_unavailable: Option<ConditionView>,
    /// `spec.unschedulable`.
    pub unschedulable: bool,
    /// `status.nodeInfo.systemUUID`, by which some clouds find the instance of a Node.
    pub system_uuid: Option<Text>,
    /// The `creationTimestamp`.
    pub created_at: Option<Timestamp>,
    /// The `deletionTimestamp`.
    pub deleted_at: Option<Timestamp>,
}

/// Status and reason of a condition. Its times are left out, because heartbeats change them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConditionView {
    /// `True`, `False` or `Unknown`.
    pub status: Text,
    /// The CamelCase reason, which shows which component wrote the condition.
    pub reason: Text,
}

/// A taint of a Node. In Kubernetes, key and effect identify a taint.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Taint {
    /// The key.
    pub key: Text,
    /// The value, often empty.
    pub value: Option<Text>,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: Text,
}

/// The type of a [`NodeAddress`]; `Display` gives the value of the Kubernetes API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum AddressKind {
    /// The host name.
    Hostname,
    /// An address in the network of the cloud.
    InternalIP,
    /// An address that is reachable from outside.
    ExternalIP,
    /// A name that resolves to an internal address.
    InternalDNS,
    /// A name that resolves to an external address.
    ExternalDNS,
}

impl fmt::Display for AddressKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// One entry of a Node's addresses. The address is spelled as the cloud spells it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeAddress {
    /// The type of the address.
    #[serde(rename = "type")]
    pub kind: AddressKind,
    /// The address or name.
    pub address: Text,
}

impl NodeAddress {
    /// An address of this type.
    #[must_use]
    pub fn new(kind: AddressKind, address: impl Into<Text>) -> Self {
        Self { kind, address: address.into() }
    }
}

/// The nodes that get the traffic of load balancers. The map of eligible nodes is one immutable snapshot that all Services share.
#[derive(Debug, Clone, Default)]
pub struct NodeSet {
    /// Increases when a node is added or removed, or when the provider ID or an address of a node changes. Other fields of the nodes, such
    /// as labels, may differ between sets with the same epoch.
    pub epoch: u64,
    /// The eligible nodes by name.
    pub nodes: Arc<BTreeMap<Text, Arc<NodeView>>>,
    /// Nodes that are about to be removed. They get no new connections, but existing ones may end. Empty for a Service whose provider does
    /// not drain nodes. They do not affect the epoch.
    pub leaving: BTreeMap<Text, Arc<NodeView>>,
}

impl NodeSet {
    /// The eligible nodes, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<NodeView>> {
        self.nodes.values()
    }

    /// The eligible nodes, followed by those that are about to be removed: all that may have connections.
    pub fn with_leaving(&self) -> impl Iterator<Item = &Arc<NodeView>> {
        self.nodes.values().chain(self.leaving.values())
    }
}
