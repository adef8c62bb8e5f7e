//! Which addresses a Node gets of its server, in which order. Pure.
//!
//! The order is on the wire: the first InternalIP is what a kubelet and a load balancer's members use. A change here moves
//! traffic, so it follows OCCM step by step.

mod order;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::IpAddr;

use bowline_cloud::{AddressKind, NodeAddress, Text};
use openstack_client::compute::AddressType;

pub use self::order::SortOrder;
use crate::config::Networking;
use crate::inventory::{SeenPort, SeenServer};

/// The options of `[Networking]`, read once.
#[derive(Debug, Clone, Default)]
pub struct AddressRules {
    ipv6_disabled: bool,
    public: Vec<String>,
    internal: Vec<String>,
    order: SortOrder,
}

impl AddressRules {
    /// The rules that cloud.conf gives. Parts of the sort order that are no CIDRs are told in the log and left out.
    #[must_use]
    pub fn new(networking: &Networking) -> Self {
        Self {
            ipv6_disabled: networking.ipv6_support_disabled,
            public: networking.public_network_names.clone(),
            internal: networking.internal_network_names.clone(),
            order: SortOrder::parse(&networking.address_sort_order),
        }
    }

    /// The addresses of `server`, whose own ports are `ports`; `carried` are the sub-ports of their trunks, each with the
    /// name of its network.
    #[must_use]
    pub fn addresses(
        &self,
        server: &SeenServer,
        ports: &[&SeenPort],
        carried: &[(&str, &SeenPort)],
    ) -> Vec<NodeAddress> {
        let mut found = Found { ipv6_disabled: self.ipv6_disabled, list: Vec::new() };
        for port in ports.iter().filter(|port| port.is_active) {
            port.fixed_ips.iter().for_each(|fixed| found.add(AddressKind::InternalIP, fixed.ip_address));
        }
        server.access.iter().for_each(|address| found.add(AddressKind::ExternalIP, *address));
        if let Some(hostname) = &server.hostname {
            found.push(NodeAddress::new(AddressKind::Hostname, &**hostname));
        }
        for (network, addresses) in by_network(server, carried) {
            for (kind, address) in addresses {
                self.sort_in(&mut found, network, &kind, address);
            }
        }
        self.order.apply(&mut found.list);
        found.list
    }

    /// One address that Nova lists, or that a trunk carries, by the network it is in.
    fn sort_in(&self, found: &mut Found, network: &str, kind: &AddressType, address: IpAddr) {
        let named = |names: &[String]| names.iter().any(|name| name == network);
        if *kind == AddressType::Floating {
            found.add(AddressKind::ExternalIP, address);
        } else if named(&self.public) {
            found.remove(address);
            found.add(AddressKind::ExternalIP, address);
        } else if self.internal.is_empty() || named(&self.internal) {
            found.add(AddressKind::InternalIP, address);
        } else {
            found.remove(address);
        }
    }
}

/// The addresses that Nova lists by network, with those that trunks carry behind them; networks in the order of their
/// names, byte by byte.
fn by_network<'a>(
    server: &'a SeenServer,
    carried: &[(&'a str, &SeenPort)],
) -> BTreeMap<&'a str, Vec<(AddressType, IpAddr)>> {
    let mut networks: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for each in &server.addresses {
        networks.entry(&each.network).or_default().push((each.kind.clone(), each.address));
    }
    for (network, port) in carried {
        let entries = port.fixed_ips.iter().map(|fixed| (AddressType::Fixed, fixed.ip_address));
        networks.entry(network).or_default().extend(entries);
    }
    networks
}

/// The addresses so far.
struct Found {
    ipv6_disabled: bool,
    list: Vec<NodeAddress>,
}

impl Found {
    /// Adds an address, unless it is of IPv6 and that is not wanted.
    fn add(&mut self, kind: AddressKind, address: IpAddr) {
        // An IPv4 address in the clothes of IPv6 is an IPv4 address.
        if !(self.ipv6_disabled && address.to_canonical().is_ipv6()) {
            self.push(NodeAddress::new(kind, text(address)));
        }
    }

    /// One address may be there as several kinds, but as each only once.
    fn push(&mut self, entry: NodeAddress) {
        if !self.list.contains(&entry) {
            self.list.push(entry);
        }
    }

    /// Takes an address out, whatever it was put in as.
    fn remove(&mut self, address: IpAddr) {
        let address = text(address);
        self.list.retain(|entry| entry.address != address);
    }
}

fn text(address: IpAddr) -> Text {
    Text::from(address.to_string())
}
