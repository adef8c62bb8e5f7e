//! Annotations that take effect only when a load balancer is created. Pure.
//!
//! Values from a class or from cloud.conf are not included: the owner of the Service cannot know that a default has changed. Neither are
//! values without effect, because another value takes precedence or the cloud does not support them.

use super::Surroundings;
use super::placement::VipPlace;
use crate::loadbalancer::annotations::{self, Annotation, Reader};

/// An annotation that takes effect when a load balancer is created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreationOption {
    /// The annotation.
    pub row: Annotation,
    /// Its value; empty means none.
    pub value: String,
}

/// The annotations of this Service that a new load balancer would be created with.
pub(super) fn options(reader: &Reader<'_>, vip: &VipPlace, around: &Surroundings<'_>) -> Vec<CreationOption> {
    let features = around.features;
    let is_given = |row: &Annotation, used: Option<&str>| used.is_some() && reader.text(row) == used;
    let (port, subnet, network) = match vip {
        VipPlace::Port(port) => (Some(port.as_str()), None, None),
        // Octavia derives the network from the subnet.
        VipPlace::Given { subnet: Some(subnet), .. } => (None, Some(subnet.as_str()), None),
        VipPlace::Given { subnet: None, network } => {
            (None, None, network.as_ref().map(openstack_client::NetworkId::as_str))
        }
        VipPlace::OfNodes => (None, None, None),
    };
    let rows = [
        (annotations::PORT_ID, is_given(&annotations::PORT_ID, port)),
        (annotations::SUBNET_ID, is_given(&annotations::SUBNET_ID, subnet)),
        (annotations::NETWORK_ID, is_given(&annotations::NETWORK_ID, network)),
        (annotations::FLAVOR_ID, features.flavors),
        (annotations::AVAILABILITY_ZONE, features.zones),
        // A given port already has its address.
        (annotations::VIP_ADDRESS, port.is_none() && reader.text(&annotations::VIP_ADDRESS).is_some()),
    ];
    let counts = rows.into_iter().filter(|(_row, counts)| *counts);
    counts
        .filter_map(|(row, _counts)| Some(CreationOption { row, value: reader.raw(&row)?.to_owned() }))
        .collect()
}
