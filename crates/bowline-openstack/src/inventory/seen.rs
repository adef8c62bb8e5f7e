//! What is kept of servers and ports: what a Node is told of them, and nothing else. A project has thousands, and they are kept between looks.

use std::net::IpAddr;

use bowline_cloud::Power;
use openstack_client::ServerId;
use openstack_client::compute::{AddressType, Server, ServerFlavor};
use openstack_client::network::{FixedIp, PortAddresses};

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
    /// Its flavor.
    pub flavor: ServerFlavor,
    /// How its host calls itself, if somebody wrote that down.
    pub hostname: Option<Box<str>>,
    /// The addresses that somebody wrote down as those to reach it by.
    pub access: Box<[IpAddr]>,
    /// Its addresses, by the names of their networks.
    pub addresses: Box<[SeenAddress]>,
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

impl From<Server> for SeenServer {
    fn from(mut server: Server) -> Self {
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
            flavor: server.flavor,
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
