//! What is kept of servers and ports: what a Node is told of them, and nothing else. A project has thousands, and they are kept between looks.

use std::net::IpAddr;
use std::sync::Arc;

use bowline_cloud::Power;
use openstack_client::ServerId;
use openstack_client::compute::{AddressType, Server, ServerFlavor};
use openstack_client::network::{FixedIp, PortAddresses};

use crate::instances::labels::{LabelRules, Labels};
use crate::instances::metadata;

/// The metadata of a server that tells how its host calls itself, as in OCCM.
const HOSTNAME: &str = "hostname";

/// The status of a port that is in use.
const ACTIVE: &str = "ACTIVE";

/// A server.
#[derive(Debug, Clone)]
pub struct SeenServer {
    /// Its id.
    pub id: ServerId,
    /// Its name.
    pub name: Box<str>,
    /// Whether it runs.
    pub power: Power,
    /// Its zone, as a label; none while it has none.
    pub zone: Option<Box<str>>,
    /// Its flavor. Servers that are listed together share it.
    pub flavor: Arc<ServerFlavor>,
    /// How its host calls itself, if somebody wrote that down.
    pub hostname: Option<Box<str>>,
    /// The addresses that somebody wrote down as those to reach it by.
    pub access: Box<[IpAddr]>,
    /// Its addresses, by the names of their networks.
    pub addresses: Box<[SeenAddress]>,
    /// What it gives its Node as additional labels.
    pub labels: Labels,
}

/// An address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenAddress {
    /// The name of its network.
    pub network: Box<str>,
    /// Whether it is the server's own.
    pub kind: AddressType,
    /// The address.
    pub address: IpAddr,
}

impl SeenServer {
    /// What is kept of a server, with the labels that these rules give it.
    #[must_use]
    pub fn new(mut server: Server, rules: &LabelRules) -> Self {
        let labels = rules.labels(&server);
        // The rest is not kept: some clouds have kilobytes of it in every flavor.
        server.flavor.extra_specs.clear();
        let addresses = server.addresses.iter().flat_map(|(network, addresses)| {
            let network: Box<str> = network.as_str().into();
            addresses.iter().map(move |each| SeenAddress {
                network: network.clone(),
                kind: each.kind.clone(),
                address: each.addr,
            })
        });
        Self {
            addresses: addresses.collect(),
            labels,
            power: metadata::power(&server),
            zone: metadata::zone(&server).map(String::into_boxed_str),
            hostname: server
                .metadata
                .remove(HOSTNAME)
                .filter(|name| !name.is_empty())
                .map(String::into_boxed_str),
            access: server.access_ipv4.into_iter().chain(server.access_ipv6).collect(),
            id: server.id,
            name: server.name.into_boxed_str(),
            flavor: Arc::new(server.flavor),
        }
    }
}

/// A port of a server.
#[derive(Debug, Clone)]
pub struct SeenPort {
    /// Whether it is in use.
    pub is_active: bool,
    /// Its addresses.
    pub fixed_ips: Box<[FixedIp]>,
}

impl From<&PortAddresses> for SeenPort {
    fn from(port: &PortAddresses) -> Self {
        Self { is_active: port.status == ACTIVE, fixed_ips: port.fixed_ips.as_slice().into() }
    }
}
