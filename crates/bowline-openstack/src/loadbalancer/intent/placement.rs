//! The placement of a load balancer, and the subnet through which it reaches the Nodes.

use std::str::FromStr;

use openstack_client::{NetworkId, PortId, SubnetId};

use super::Surroundings;
use crate::config::{LoadBalancer, LoadBalancerClass};
use crate::loadbalancer::annotations::{self, Annotation, Reader, clipped};

/// Where a load balancer is placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VipPlace {
    /// On this Neutron port.
    Port(PortId),
    /// In this subnet, in this network, or both.
    Given {
        /// The subnet.
        subnet: Option<SubnetId>,
        /// The network.
        network: Option<NetworkId>,
    },
    /// In the subnet of the Nodes, which needs a lookup.
    OfNodes,
}

/// The subnet through which the Nodes are reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberSubnet {
    /// This subnet.
    Given(SubnetId),
    /// The subnet of the Nodes, which needs a lookup.
    OfNodes,
    /// Not set: Octavia uses the subnet of the load balancer.
    Unsaid,
}

/// A `[LoadBalancerClass]` with its name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Class<'a> {
    name: &'a str,
    pub(super) keys: &'a LoadBalancerClass,
}

impl Class<'_> {
    pub(super) fn section(&self) -> String {
        format!("LoadBalancerClass {:?}", self.name)
    }
}

/// A key that exists in a class, in `[LoadBalancer]` and as an annotation.
struct Twin {
    row: Annotation,
    of_class: fn(&LoadBalancerClass) -> &str,
    of_config: fn(&LoadBalancer) -> &str,
}

const SUBNET: Twin = Twin {
    row: annotations::SUBNET_ID,
    of_class: |class| &class.subnet_id,
    of_config: |conf| &conf.subnet_id,
};
const NETWORK: Twin = Twin {
    row: annotations::NETWORK_ID,
    of_class: |class| &class.network_id,
    of_config: |conf| &conf.network_id,
};
const MEMBER_SUBNET: Twin = Twin {
    row: annotations::MEMBER_SUBNET_ID,
    of_class: |class| &class.member_subnet_id,
    of_config: |conf| &conf.member_subnet_id,
};

impl Twin {
    fn in_class<T: FromStr>(&self, reader: &mut Reader<'_>, class: Option<Class<'_>>) -> Option<T> {
        let class = class?;
        reader.configured(&class.section(), &self.row, (self.of_class)(class.keys), |text| text.parse().ok())
    }

    fn in_config<T: FromStr>(&self, reader: &mut Reader<'_>, config: &LoadBalancer) -> Option<T> {
        reader.configured("LoadBalancer", &self.row, (self.of_config)(config), |text| text.parse().ok())
    }

    /// The value of the annotation, else of the class, else of `[LoadBalancer]`.
    fn chosen<T: FromStr>(
        &self,
        reader: &mut Reader<'_>,
        class: Option<Class<'_>>,
        config: &LoadBalancer,
    ) -> Option<T> {
        let annotated = reader.id(&self.row);
        annotated.or_else(|| self.in_class(reader, class)).or_else(|| self.in_config(reader, config))
    }
}

/// The class that the annotation names. An unknown class is a problem.
pub(super) fn class<'a>(reader: &mut Reader<'a>, around: &Surroundings<'a>) -> Option<Class<'a>> {
    let name = reader.text(&annotations::CLASS)?;
    let class = around.classes.get_key_value(name).map(|(name, keys)| Class { name, keys });
    if class.is_none() {
        let names: Vec<_> =
            around.classes.keys().filter(|name| !name.is_empty()).map(String::as_str).collect();
        let known = if names.is_empty() { "there is none".to_owned() } else { names.join(", ") };
        let key = annotations::CLASS.key;
        reader.problem(format!(
            "annotation {key} is {:?}; accepted: the name of a [LoadBalancerClass] of cloud.conf ({known})",
            clipped(name)
        ));
    }
    class
}

/// The placement of the load balancer and the subnet of its members.
///
/// The precedence is that of OCCM. For the load balancer of a Service with a floating IP, the class precedes the annotation; for its
/// members, the annotation precedes the class. For an internal Service, the annotation precedes the class for both. A class without a name
/// precedes the annotation for the load balancers of Services that name no class, and of all internal Services.
pub(super) fn place(
    reader: &mut Reader<'_>,
    around: &Surroundings<'_>,
    class: Option<Class<'_>>,
    internal: bool,
) -> (VipPlace, MemberSubnet) {
    let config = around.config;
    let port: Option<PortId> = reader.id(&annotations::PORT_ID);
    let subnet: Option<SubnetId> = SUBNET.chosen(reader, class, config);
    let network: Option<NetworkId> = NETWORK.chosen(reader, class, config);
    let of_members: Option<SubnetId> = MEMBER_SUBNET.chosen(reader, class, config);
    let configured: Option<SubnetId> = SUBNET.in_config(reader, config);

    let nothing_said = subnet.is_none() && network.is_none();
    let members = match of_members.or(configured).or_else(|| subnet.clone()) {
        Some(subnet) => MemberSubnet::Given(subnet),
        None if nothing_said => MemberSubnet::OfNodes,
        None => MemberSubnet::Unsaid,
    };
    let unnamed = around.classes.get("").map(|keys| Class { name: "", keys });
    let before = class.filter(|_class| !internal).or(unnamed);
    let subnet = SUBNET.in_class(reader, before).or(subnet);
    let network = NETWORK.in_class(reader, before).or(network);
    let vip = match (port, subnet, network) {
        (Some(port), ..) => VipPlace::Port(port),
        (None, None, None) => VipPlace::OfNodes,
        (None, subnet, network) => VipPlace::Given { subnet, network },
    };
    (vip, members)
}
