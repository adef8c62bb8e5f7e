//! The floating IP that a Service wants, as references that are not resolved yet.

use std::net::IpAddr;

use openstack_client::network::TagFilter;
use openstack_client::{NetworkId, SubnetId};

use super::Surroundings;
use super::placement::Class;
use crate::loadbalancer::annotations::{self, Reader};
use crate::loadbalancer::subnet_choice::{NamePattern, tags};

/// A floating IP. It is wanted for an IPv4 address only, which shows when the load balancer is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Floating {
    /// Its network; none: one has to be found.
    pub network: Option<NetworkId>,
    /// Its subnet.
    pub subnet: FloatingSubnet,
    /// Its address, if the Service names one.
    pub address: Option<IpAddr>,
    /// Whether it is this address also if another one is there already.
    pub insist: bool,
}

/// The subnet of a floating IP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FloatingSubnet {
    /// Any.
    Any,
    /// This one.
    Id(SubnetId),
    /// One that fits, tried one after the other.
    Matching {
        /// By its name.
        name: Option<NamePattern>,
        /// By its tags.
        tags: Option<TagFilter>,
    },
}

/// Three texts of one place that name a subnet.
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

/// An internal Service has none; what its annotations say about one is read all the same, so that what is wrong is told.
pub(super) fn check(reader: &mut Reader<'_>) {
    let _network: Option<NetworkId> = reader.id(&annotations::FLOATING_NETWORK_ID);
    let _subnet = annotated(reader);
}

/// The class goes before the annotation. An annotation that is empty asks for a search.
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

/// The first place that says anything: the class, the annotations, the configuration.
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
