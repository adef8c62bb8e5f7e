//! The subnets of the Nodes: each Node's by its own address, told by the ports of its server.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{AddressKind, Doubt, ErrorClass, IpFamily, NodeView};
use ipnet::IpNet;
use openstack_client::SubnetId;

use super::ways::By;
use super::{Question, Resolver};
use crate::instances::provider_id::ProviderId;
use crate::inventory::Snapshot;
use crate::loadbalancer::intent::{MemberSubnet, VipPlace, member_address};
use crate::loadbalancer::trouble::Trouble;
use crate::loadbalancer::wanted::MemberSubnets;

/// How old a snapshot may be that does not show a Node's server: it may have joined just now.
const RECENT: Duration = Duration::from_secs(10);

impl Resolver {
    /// How the Nodes are reached, and the subnet of the first of them where the load balancer shall stand there.
    pub(super) async fn members(
        &self,
        question: Question<'_>,
    ) -> Result<(Arc<MemberSubnets>, Option<SubnetId>), Trouble> {
        let intent = question.intent;
        let vip_of_nodes = intent.vip == VipPlace::OfNodes && question.creates;
        let members_of_nodes = intent.member_subnet == MemberSubnet::OfNodes;
        let of_nodes = if vip_of_nodes || members_of_nodes { self.of_nodes(question).await? } else { None };
        if of_nodes.is_none() && vip_of_nodes {
            return Err(Trouble::refused(
                "there is no Node from which the subnet of the load balancer could be learned; wait for a Node, or set \
                 subnet-id or network-id in cloud.conf or as annotation",
            ));
        }
        let first = of_nodes.as_ref().and_then(|of| of.all.clone()).filter(|_first| vip_of_nodes);
        let members = match (&intent.member_subnet, of_nodes) {
            (MemberSubnet::Given(subnet), _) => self.in_subnet(subnet, question).await?,
            (MemberSubnet::OfNodes, Some(of)) => of,
            _ => Arc::default(),
        };
        Ok((members, first))
    }

    /// All Nodes in one subnet.
    async fn in_subnet(
        &self,
        subnet: &SubnetId,
        question: Question<'_>,
    ) -> Result<Arc<MemberSubnets>, Trouble> {
        let by = By::Subnet(subnet.clone());
        if let Some(known) = self.ways.get(question, &by) {
            return Ok(known);
        }
        let addresses = self.addresses_in(subnet, question).await?;
        let subnets =
            Arc::new(MemberSubnets { addresses, all: Some(subnet.clone()), ..MemberSubnets::default() });
        self.ways.keep(question, by, &subnets);
        Ok(subnets)
    }

    /// The subnets of all Nodes that have an address, that of the first of them for those of which it is not known; none if there
    /// is no such Node.
    async fn of_nodes(&self, question: Question<'_>) -> Result<Option<Arc<MemberSubnets>>, Trouble> {
        let family = question.intent.family;
        if !question.nodes.with_leaving().any(|node| member_address(node, family).is_some()) {
            return Ok(None);
        }
        let mut snapshot = self.inventory.snapshot().await?;
        if let Some(known) = self.ways.get(question, &By::Ports(Arc::downgrade(&snapshot))) {
            return Ok(Some(known));
        }
        let addresses: Vec<(&Arc<NodeView>, IpAddr)> = question
            .nodes
            .with_leaving()
            .filter_map(|node| Some((node, member_address(node, family)?)))
            .collect();
        let seen = |snapshot: &Snapshot| {
            addresses.iter().all(|(node, address)| subnet_of(snapshot, node, *address).is_some())
        };
        if !seen(&snapshot) {
            snapshot = self.inventory.snapshot_within(RECENT).await?;
        }
        let whole = seen(&snapshot);
        let mut by_address = BTreeMap::new();
        let mut first = None;
        for (node, address) in &addresses {
            // One that is not seen is taken to be where the first is, as it mostly is.
            if let Some(subnet) = subnet_of(&snapshot, node, *address) {
                first.get_or_insert_with(|| subnet.clone());
                by_address.insert(*address, subnet);
            }
        }
        match first {
            Some(first) => {
                let all = Some(first);
                let subnets = Arc::new(MemberSubnets { all, by_address, ..MemberSubnets::default() });
                if whole {
                    self.ways.keep(question, By::Ports(Arc::downgrade(&snapshot)), &subnets);
                }
                Ok(Some(subnets))
            }
            None => {
                let (node, address) = addresses.first().map(|(node, at)| (node.name.clone(), *at)).unzip();
                let why = format!(
                    "no port of a server in this project has the address of a Node, such as {} of {}; the subnet of the load \
                     balancer is not known. Set subnet-id in cloud.conf or as annotation",
                    address.map(|address| address.to_string()).unwrap_or_default(),
                    node.unwrap_or_default()
                );
                Err(Trouble::Unknown(Doubt { class: ErrorClass::Transient, why, retry_after: None }))
            }
        }
    }

    /// The addresses of Nodes that are in the members' subnet, where their first is not and another is.
    async fn addresses_in(
        &self,
        subnet: &SubnetId,
        question: Question<'_>,
    ) -> Result<BTreeMap<String, IpAddr>, Trouble> {
        let family = question.intent.family;
        let several: Vec<(&Arc<NodeView>, Vec<IpAddr>)> = question
            .nodes
            .with_leaving()
            .map(|node| (node, internal_addresses(node, family)))
            .filter(|(_node, addresses)| addresses.len() > 1)
            .collect();
        if several.is_empty() {
            return Ok(BTreeMap::new());
        }
        let Some(found) = self.subnet(subnet).await? else {
            return Err(Trouble::refused(format!(
                "subnet {subnet}, by which the Nodes shall be reached, is not there; correct subnet-id or member-subnet-id"
            )));
        };
        let Ok(range) = found.cidr.parse::<IpNet>() else { return Ok(BTreeMap::new()) };
        let inside = |(node, addresses): (&Arc<NodeView>, Vec<IpAddr>)| {
            let first = addresses.first().filter(|first| !range.contains(*first))?;
            let other = addresses.iter().find(|address| range.contains(*address))?;
            (first != other).then(|| (node.name.to_string(), *other))
        };
        Ok(several.into_iter().filter_map(inside).collect())
    }
}

fn internal_addresses(node: &NodeView, family: Option<IpFamily>) -> Vec<IpAddr> {
    let internal = node.addresses.iter().filter(|address| address.kind == AddressKind::InternalIP);
    let parsed = internal.filter_map(|address| address.address.parse().ok());
    parsed
        .filter(|address: &IpAddr| match family {
            Some(IpFamily::V4) => address.is_ipv4(),
            Some(IpFamily::V6) => address.is_ipv6(),
            Some(IpFamily::Unknown) | None => true,
        })
        .collect()
}

/// The subnet of an address of a Node, as the ports of its server tell it.
fn subnet_of(snapshot: &Snapshot, node: &NodeView, address: IpAddr) -> Option<SubnetId> {
    let id = node.provider_id.as_deref().and_then(|text| ProviderId::parse(text).ok());
    let machines = match id {
        Some(id) => snapshot.by_id(&id.server).into_iter().collect(),
        None => snapshot.by_name(&node.name),
    };
    let ports = machines
        .iter()
        .flat_map(|machine| machine.ports.iter().chain(machine.carried.iter().map(|(_network, port)| port)));
    let mut fixed = ports.flat_map(|port| &port.fixed_ips);
    fixed.find(|fixed| fixed.ip_address == address).map(|fixed| fixed.subnet_id.clone())
}
