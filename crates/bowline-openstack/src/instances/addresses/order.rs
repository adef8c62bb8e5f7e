//! `address-sort-order`: which addresses come first. Pure but for a warning about what is no CIDR.

use std::cmp::Reverse;
use std::net::IpAddr;

use bowline_cloud::NodeAddress;
use ipnet::IpNet;

/// Networks, the most wanted first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SortOrder(Vec<IpNet>);

/// Where an address belongs: wanted ones by network and then by address, all others behind them as they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(Reverse<usize>, Option<[u8; 16]>);

impl SortOrder {
    /// Reads CIDRs between commas and spaces.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let items = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|item| !item.is_empty());
        let networks = items.filter_map(|item| {
            let network = item.parse().ok();
            if network.is_none() {
                tracing::warn!(item, "address-sort-order has a part that is no CIDR; it is left out");
            }
            network
        });
        Self(networks.collect())
    }

    /// Puts addresses in order. Those of equal place keep theirs.
    pub(super) fn apply(&self, addresses: &mut [NodeAddress]) {
        if !self.0.is_empty() {
            addresses.sort_by_key(|entry| self.place(&entry.address));
        }
    }

    /// How much an address is wanted: the more the earlier its network is named; 0 if in none, or no address at all.
    pub(super) fn priority(&self, address: &str) -> usize {
        let Ok(address) = address.parse::<IpAddr>() else { return 0 };
        let address = address.to_canonical();
        let index = self.0.iter().position(|network| network.contains(&address));
        index.map_or(0, |index| self.0.len() - index)
    }

    fn place(&self, text: &str) -> Place {
        let priority = self.priority(text);
        let address = text.parse().ok().filter(|_| priority > 0).map(|address: IpAddr| match address {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
            IpAddr::V6(v6) => v6.octets(),
        });
        Place(Reverse(priority), address)
    }

    #[cfg(test)]
    pub(super) fn networks(&self) -> Vec<String> {
        self.0.iter().map(ToString::to_string).collect()
    }
}
