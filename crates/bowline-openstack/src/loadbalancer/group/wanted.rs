//! The security group that a Service wants: from where its Nodes are reached, on which ports. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use bowline_cloud::{NodeSet, NodeView, Text};
use ipnet::IpNet;
use openstack_client::load_balancer::Protocol;
use openstack_client::network::{EtherType, FixedIp, Port};
use openstack_client::{ServerId, SubnetId};

use super::index::Index;
use super::{GroupError, WantedGroup, WantedRule};
use crate::instances::provider_id::ProviderId;
use crate::loadbalancer::intent::{Intent, PortIntent, member_address};
use crate::loadbalancer::wanted::MemberSubnets;

/// How the owner of every port of a server begins.
const OWNED_BY_SERVER: &str = "compute:";

/// The Nodes that a load balancer sends traffic to, and where it reaches them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Targets {
    /// The Nodes that the Service selects and that have an address of its family.
    pub nodes: Vec<Target>,
    /// The subnet of the members. Its range counts also while there is no Node, so that the rules do not come and go with the Nodes.
    pub subnet: Option<SubnetId>,
}

/// One Node, where it is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The Node's name.
    pub node: Text,
    /// Its server, if it says which.
    pub server: Option<ServerId>,
    /// Its address.
    pub address: IpAddr,
    /// The subnet by which it is reached, if it is known.
    pub subnet: Option<SubnetId>,
}

impl Targets {
    /// The Nodes of a Service and where they are reached: the same as its members, with those that drain.
    #[must_use]
    pub fn of(intent: &Intent, nodes: &NodeSet, members: &MemberSubnets) -> Self {
        let selected = nodes.with_leaving().filter(|node| intent.nodes.fits(node));
        let target = |node: &NodeView| {
            let first = member_address(node, intent.family)?;
            let address = members.address_of(&node.name, first);
            let named = node.provider_id.as_deref().and_then(|id| ProviderId::parse(id).ok());
            Some(Target {
                node: node.name.clone(),
                server: named.map(|id| id.server),
                address,
                subnet: members.of(address).cloned(),
            })
        };
        Self { nodes: selected.filter_map(|node| target(node)).collect(), subnet: members.all.clone() }
    }

    /// The subnets whose ranges count for the rules. A Node whose subnet is not known is reached in that of its own port.
    #[must_use]
    pub fn subnets(&self, ports: &[Port]) -> BTreeSet<SubnetId> {
        let index = Index::of(ports);
        let reached = self.nodes.iter().filter_map(|target| target.reached_in(&index));
        let reached: BTreeSet<SubnetId> = reached.cloned().collect();
        if reached.is_empty() { self.subnet.iter().cloned().collect() } else { reached }
    }
}

impl Target {
    /// Whether this is the Node's port at which it is reached. A Node that does not say which server it is is known by its
    /// address, which nobody else has in its subnet.
    #[must_use]
    pub fn owns(&self, port: &Port) -> bool {
        let of_node = match &self.server {
            Some(server) => port.device_id == server.as_str(),
            None => self.subnet.is_some() && port.device_owner.starts_with(OWNED_BY_SERVER),
        };
        of_node && self.fixed_ip(port).is_some()
    }

    fn fixed_ip<'p>(&self, port: &'p Port) -> Option<&'p FixedIp> {
        let in_subnet = |fixed: &FixedIp| self.subnet.as_ref().is_none_or(|id| *id == fixed.subnet_id);
        port.fixed_ips.iter().find(|fixed| fixed.ip_address == self.address && in_subnet(fixed))
    }

    fn reached_in<'a>(&'a self, ports: &Index<'a>) -> Option<&'a SubnetId> {
        let own = || self.fixed_ip(ports.owned_by(self).next()?).map(|fixed| &fixed.subnet_id);
        self.subnet.as_ref().or_else(own)
    }
}

impl WantedGroup {
    /// The group that a Service wants. `ports` are those that were read for the targets, `ranges` those of [`Targets::subnets`].
    /// With OVN clients reach the Nodes by their own addresses, so the ranges that the Service allows count instead.
    ///
    /// # Errors
    ///
    /// [`GroupError::NoRange`] when a range is missing: rules that are not whole would close what is open.
    pub fn of(
        intent: &Intent,
        targets: &Targets,
        ports: &[Port],
        ranges: &BTreeMap<SubnetId, IpNet>,
        ovn: bool,
    ) -> Result<Self, GroupError> {
        let mut from = BTreeSet::new();
        for subnet in targets.subnets(ports) {
            match ranges.get(&subnet) {
                Some(range) => drop(from.insert(*range)),
                None => return Err(GroupError::NoRange { subnet, why: "it was not read".to_owned() }),
            }
        }
        let index = Index::of(ports);
        let owned = targets.nodes.iter().flat_map(|target| index.owned_by(target));
        Ok(Self {
            name: intent.names.security_group(),
            description: intent.names.security_group_description(),
            rules: rules(intent, &from, ovn),
            ports: owned.filter(|port| is_guarded(port)).map(|port| port.id.clone()).collect(),
        })
    }
}

/// Whether security groups count for a port. Where the cloud does not tell, they do.
fn is_guarded(port: &Port) -> bool {
    port.port_security_enabled != Some(false)
}

fn rules(intent: &Intent, subnets: &BTreeSet<IpNet>, ovn: bool) -> BTreeSet<WantedRule> {
    let clients: BTreeSet<IpNet> = intent.source_ranges.iter().copied().collect();
    let senders = if ovn { &clients } else { subnets };
    let node_ports = intent.ports.iter().filter_map(|port| Some((protocol(port), port.node_port?)));
    let traffic =
        node_ports.flat_map(|(protocol, port)| senders.iter().map(move |range| rule(protocol, port, *range)));
    let health = intent.health_check_node_port.into_iter();
    let asked = health.flat_map(|port| subnets.iter().map(move |range| rule("tcp", port, *range)));
    traffic.chain(asked).collect()
}

/// What the Nodes get: whatever else the listener speaks, it is over TCP.
fn protocol(port: &PortIntent) -> &'static str {
    match port.listener_protocol {
        Protocol::Udp => "udp",
        Protocol::Sctp => "sctp",
        _ => "tcp",
    }
}

fn rule(protocol: &str, port: u16, from: IpNet) -> WantedRule {
    let ethertype = match from {
        IpNet::V4(_) => EtherType::Ipv4,
        IpNet::V6(_) => EtherType::Ipv6,
    };
    WantedRule { ethertype, protocol: protocol.to_owned(), port, from: from.trunc().to_string() }
}
