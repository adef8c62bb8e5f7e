//! A Node as providers and planners see it: the fields they use, nothing else.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ipnet::IpNet;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Pairs, Text};

/// The projection of a Kubernetes Node that is kept in memory. It leaves out the resourceVersion, which grows with every
/// heartbeat: a Node whose view is the same has not changed for us.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeView {
    /// The Node's name.
    pub name: Text,
    /// The Node's UID: a re-created namesake is another Node.
    pub uid: Text,
    /// `spec.providerID`, once set immutable.
    pub provider_id: Option<Text>,
    /// All labels.
    pub labels: Pairs,
    /// The annotations a provider may look at (the whole map would hold kilobytes of other people's state).
    pub annotations: Pairs,
    /// The taints.
    pub taints: Vec<Taint>,
    /// `status.addresses`, in order: the first InternalIP is the node's primary one.
    pub addresses: Vec<NodeAddress>,
    /// `spec.podCIDRs`.
    pub pod_cidrs: Vec<IpNet>,
    /// Whether the Ready condition is True; `None` if it was never reported.
    pub ready: Option<bool>,
    /// The NetworkUnavailable condition; `None` if nobody ever set it.
    pub network_unavailable: Option<ConditionView>,
    /// `spec.unschedulable`.
    pub unschedulable: bool,
    /// `status.nodeInfo.systemUUID`: some clouds find their machine by it.
    pub system_uuid: Option<Text>,
    /// When the Node was registered.
    pub created_at: Option<Timestamp>,
    /// When its deletion was asked for.
    pub deleted_at: Option<Timestamp>,
}

/// What a condition says and why. Its times are left out: they grow when nothing else does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConditionView {
    /// `True`, `False` or `Unknown`.
    pub status: Text,
    /// One word, by which its author is known.
    pub reason: Text,
}

/// A taint of a Node; two taints are the same if key and effect are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Taint {
    /// The key.
    pub key: Text,
    /// The value, often empty.
    pub value: Option<Text>,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: Text,
}

/// What kind of address a [`NodeAddress`] is; the text is the one on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum AddressKind {
    /// The host name.
    Hostname,
    /// An address inside the cloud's network.
    InternalIP,
    /// An address reachable from outside.
    ExternalIP,
    /// A name that resolves inside.
    InternalDNS,
    /// A name that resolves outside.
    ExternalDNS,
}

impl fmt::Display for AddressKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// One entry of a Node's addresses. The cloud's spelling of the address is kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeAddress {
    /// What kind of address it is.
    #[serde(rename = "type")]
    pub kind: AddressKind,
    /// The address or name.
    pub address: Text,
}

impl NodeAddress {
    /// An address of some kind.
    #[must_use]
    pub fn new(kind: AddressKind, address: impl Into<Text>) -> Self {
        Self { kind, address: address.into() }
    }
}

/// The nodes behind a load balancer: one immutable snapshot shared by all Services.
#[derive(Debug, Clone, Default)]
pub struct NodeSet {
    /// Grows with every change of the set: equal epochs mean equal sets.
    pub epoch: u64,
    /// The eligible nodes, by name.
    pub nodes: Arc<BTreeMap<Text, Arc<NodeView>>>,
    /// Nodes whose removal is announced: they get no new connections, and those that they have may end. There are none for a
    /// Service whose provider does not drain it. They do not count for the epoch.
    pub leaving: BTreeMap<Text, Arc<NodeView>>,
}

impl NodeSet {
    /// The nodes, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<NodeView>> {
        self.nodes.values()
    }

    /// The nodes, and after them those that leave: all that have connections.
    pub fn with_leaving(&self) -> impl Iterator<Item = &Arc<NodeView>> {
        self.nodes.values().chain(self.leaving.values())
    }
}
