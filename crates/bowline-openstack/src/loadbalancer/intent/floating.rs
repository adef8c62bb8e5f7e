//! The floating IP that a Service requests, as unresolved references.

use std::net::IpAddr;

use openstack_client::network::TagFilter;
use openstack_client::{NetworkId, SubnetId};

use super::Surroundings;
use super::placement::Class;
use crate::loadbalancer::annotations::{self, Reader};
use crate::loadbalancer::subnet_choice::{NamePattern, tags};

/// A requested floating IP. It is used only if the load balancer has an IPv4 address, which is known once the load balancer exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Floating {
    /// Its external network; `None`: the network has to be looked up.
    pub network: Option<NetworkId>,
    /// Its subnet.
    pub subnet: FloatingSubnet,
    /// Its address, if the Service requests one.
    pub address: Option<IpAddr>,
    /// Whether the requested address replaces another floating IP that is already attached.
    pub insist: bool,
}

/// The subnet of a floating IP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FloatingSubnet {
    /// Any subnet.
    Any,
    /// The subnet with this id.
    Id(SubnetId),
    /// Matching subnets, tried in order.
    Matching {
        /// By its name.
        name: Option<NamePattern>,
        /// By its tags.
        tags: Option<TagFilter>,
    },
}

/// The subnet id, name and tags of one section of cloud.conf, unparsed.
struct Written<'a> {
    place: String,
    id: &'a str,
    name: &'a str,
    tags: &'a str,
}

/// The floating IP of a Service that is not internal.
pub(super) fn floating(
    reader: &mut Reader<'_>,
    around: &Surroundings<'_>,
    class: Option<Class<'_>>,
    address: Option<IpAddr>,
) -> Floating {
    let (network, subnet) = (network(reader, around, class), subnet(reader, around, class));
    Floating { network, subnet, address, insist: false }
}

/// Parses the annotations about floating IPs of an internal Service, which has none, so that errors in them are reported.
pub(super) fn check(reader: &mut Reader<'_>) {
    let _network: Option<NetworkId> = reader.id(&annotations::FLOATING_NETWORK_ID);
    let _subnet = annotated(reader);
}

/// The class takes precedence over the annotation. An empty annotation overrides cloud.conf, and the network is looked up.
fn network(
    reader: &mut Reader<'_>,
    around: &Surroundings<'_>,
    class: Option<Class<'_>>,
) -> Option<NetworkId> {
    let row = &annotations::FLOATING_NETWORK_ID;
    let annotated = reader.id(row);
    let of_class = class.and_then(|class| {
        reader.configured(&class.section(), row, &class.keys.floating_network_id, |text| text.parse().ok())
    });
    let said = reader.raw(row).is_some();
    of_class.or(annotated).or_else(|| {
        let configured = Some(&around.config.floating_network_id).filter(|_id| !said)?;
        reader.configured("LoadBalancer", row, configured, |text| text.parse().ok())
    })
}

/// The first source with any value: the class, the annotations, cloud.conf.
fn subnet(reader: &mut Reader<'_>, around: &Surroundings<'_>, class: Option<Class<'_>>) -> FloatingSubnet {
    let annotated = annotated(reader);
    let of_class = class.and_then(|class| {
        let keys = class.keys;
        let (id, name, tags) = (&keys.floating_subnet_id, &keys.floating_subnet, &keys.floating_subnet_tags);
        configured(reader, &Written { place: class.section(), id, name, tags })
    });
    let config = around.config;
    of_class.or(annotated).unwrap_or_else(|| {
        let (id, name, tags) =
            (&config.floating_subnet_id, &config.floating_subnet, &config.floating_subnet_tags);
        configured(reader, &Written { place: "LoadBalancer".to_owned(), id, name, tags })
            .unwrap_or(FloatingSubnet::Any)
    })
}

fn annotated(reader: &mut Reader<'_>) -> Option<FloatingSubnet> {
    let id = reader.id(&annotations::FLOATING_SUBNET_ID);
    let name = reader.parsed(&annotations::FLOATING_SUBNET, NamePattern::parse);
    let tags = reader.parsed(&annotations::FLOATING_SUBNET_TAGS, tags);
    chosen(id, name, tags)
}

fn configured(reader: &mut Reader<'_>, written: &Written<'_>) -> Option<FloatingSubnet> {
    let Written { place, id, name, tags: tags_text } = written;
    let id = reader.configured(place, &annotations::FLOATING_SUBNET_ID, id, |text| text.parse().ok());
    let name = reader.configured(place, &annotations::FLOATING_SUBNET, name, NamePattern::parse);
    let tags = reader.configured(place, &annotations::FLOATING_SUBNET_TAGS, tags_text, tags);
    chosen(id, name, tags)
}

fn chosen(
    id: Option<SubnetId>,
    name: Option<NamePattern>,
    tags: Option<TagFilter>,
) -> Option<FloatingSubnet> {
    match (id, name, tags) {
        (Some(id), ..) => Some(FloatingSubnet::Id(id)),
        (None, None, None) => None,
        (None, name, tags) => Some(FloatingSubnet::Matching { name, tags }),
    }
}
