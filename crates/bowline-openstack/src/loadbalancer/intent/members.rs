//! The members of a pool: their Nodes, addresses and ports. [`super::super::wanted`] adds the subnets.

use std::net::IpAddr;
use std::sync::Arc;

use bowline_cloud::{AddressKind, IpFamily, NodeSet, NodeView, Text};

use super::{Intent, Notice, PortIntent};
use crate::loadbalancer::annotations::NODE_SELECTOR;

/// A wanted member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberIntent {
    /// Its name: that of the Node.
    pub name: Text,
    /// The Node's address.
    pub address: IpAddr,
    /// The node port that receives the traffic.
    pub port: u16,
    /// The port of the health checks, if it is not `port`.
    pub monitor_port: Option<u16>,
}

impl Intent {
    /// The members of a port's pool, in the order of the Node names: one for each Node that the Service selects and that has an address of
    /// its IP family.
    #[must_use]
    pub fn members(&self, port: &PortIntent, nodes: &NodeSet) -> Vec<MemberIntent> {
        self.among(port, nodes.iter())
    }

    /// The members of leaving Nodes, selected in the same way.
    #[must_use]
    pub fn leaving(&self, port: &PortIntent, nodes: &NodeSet) -> Vec<MemberIntent> {
        self.among(port, nodes.leaving.values())
    }

    fn among<'n>(
        &self,
        port: &PortIntent,
        nodes: impl Iterator<Item = &'n Arc<NodeView>>,
    ) -> Vec<MemberIntent> {
        let Some(node_port) = port.node_port else { return Vec::new() };
        let selected = nodes.filter(|node| self.nodes.fits(node));
        let member = |node: &NodeView| {
            let address = member_address(node, self.family)?;
            Some(MemberIntent {
                name: node.name.clone(),
                address,
                port: node_port,
                monitor_port: port.monitor_port,
            })
        };
        selected.filter_map(|node| member(node)).collect()
    }

    /// The event for a Service if there are Nodes but none becomes a member. The framework reports that there are no Nodes at all.
    #[must_use]
    pub fn without_members(&self, nodes: &NodeSet) -> Option<Notice> {
        if nodes.nodes.is_empty() {
            return None;
        }
        let mut selected = nodes.iter().filter(|node| self.nodes.fits(node)).peekable();
        let message = if selected.peek().is_none() {
            let (labels, key) = (self.nodes.to_string(), NODE_SELECTOR.key);
            format!(
                "no Node has the labels {labels:?}, so nobody gets traffic; correct annotation {key} or {} in cloud.conf, or \
                 label Nodes",
                NODE_SELECTOR.config_key()
            )
        } else if selected.all(|node| member_address(node, self.family).is_none()) {
            "no Node has an address of the Service's IP family, so nobody gets traffic; see spec.ipFamilies and the addresses \
             in the status of the Nodes"
                .to_owned()
        } else {
            return None;
        };
        Some(Notice { reason: "LoadBalancerWithoutMembers", message })
    }
}

/// The member address of a Node: its first internal one of the family, else its first external one; `None` if it has neither.
#[must_use]
pub fn member_address(node: &NodeView, family: Option<IpFamily>) -> Option<IpAddr> {
    let fits = |address: &IpAddr| match family {
        Some(IpFamily::V4) => address.is_ipv4(),
        Some(IpFamily::V6) => address.is_ipv6(),
        Some(IpFamily::Unknown) | None => true,
    };
    let first = |kind: AddressKind| {
        let of_kind = node.addresses.iter().filter(|address| address.kind == kind);
        of_kind.filter_map(|address| address.address.parse().ok()).find(fits)
    };
    first(AddressKind::InternalIP).or_else(|| first(AddressKind::ExternalIP))
}
