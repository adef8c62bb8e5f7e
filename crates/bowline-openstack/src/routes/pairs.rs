//! The ranges that a port may send from besides its own addresses: what it has, and what it is to have. Pure.

use std::collections::BTreeSet;

use ipnet::IpNet;
use openstack_client::network::{AllowedAddressPair, Port};

/// What is to be changed of the pairs of a port.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) add: BTreeSet<IpNet>,
    /// What is in both stays.
    pub(super) drop: BTreeSet<IpNet>,
}

/// Whether Neutron looks at what the port sends. Where it does not tell, it does.
pub(super) fn is_guarded(port: &Port) -> bool {
    port.port_security_enabled != Some(false)
}

/// Whether a port is seen to lack a pair.
pub(super) fn lacks(port: &Port, range: &IpNet) -> bool {
    let pairs = port.allowed_address_pairs.as_ref();
    is_guarded(port) && pairs.is_some_and(|pairs| !pairs.iter().any(|pair| is_pair(port, pair, range)))
}

/// The pairs that the port is to have; none if it has them already. Those of others, and their order, stay.
pub(super) fn after(port: &Port, change: &Change) -> Option<Vec<AllowedAddressPair>> {
    let before = port.allowed_address_pairs.as_ref().filter(|_| is_guarded(port))?;
    let dropped = |pair: &AllowedAddressPair| {
        change.drop.difference(&change.add).any(|range| is_pair(port, pair, range))
    };
    let mut after: Vec<_> = before.iter().filter(|pair| !dropped(pair)).cloned().collect();
    for range in change.add.iter().filter(|range| lacks(port, range)) {
        after.push(AllowedAddressPair { ip_address: range.to_string(), mac_address: None });
    }
    (after != *before).then_some(after)
}

/// Whether it is the pair for `range`. One with another hardware address lets other packets through than the Node's.
fn is_pair(port: &Port, pair: &AllowedAddressPair, range: &IpNet) -> bool {
    let own = pair
        .mac_address
        .as_ref()
        .is_none_or(|mac| mac.is_empty() || mac.eq_ignore_ascii_case(&port.mac_address));
    own && pair.ip_address.parse::<IpNet>().is_ok_and(|net| net.trunc() == *range)
}
