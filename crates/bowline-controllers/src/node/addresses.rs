//! The addresses of a Node: the annotation `alpha.kubernetes.io/provided-node-ip`, and how it filters the list of the cloud. Pure.
//!
//! IP addresses are parsed as leniently as by Go (leading zeros are allowed and decimal), since kubelet and other managers parse the same
//! annotation that way. The cloud's spelling is kept.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bowline_cloud::{AddressKind, NodeAddress, NodeView};

/// Kubelet writes its `--node-ip` into this annotation: one IP, or two of different families.
pub const PROVIDED_NODE_IP: &str = "alpha.kubernetes.io/provided-node-ip";

/// Why the addresses of a Node cannot be chosen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The annotation cannot be parsed.
    #[error(
        "annotation {PROVIDED_NODE_IP} is {value:?}, but must be one IP or two of different families as \"ip1,ip2\" \
         ({why}); check kubelet's --node-ip"
    )]
    Unreadable {
        /// The value of the annotation.
        value: String,
        /// What is wrong with it.
        why: String,
    },
    /// The annotation has an IP that the machine does not have.
    #[error(
        "annotation {PROVIDED_NODE_IP} asks for {ip}, but the cloud gives this machine only [{found}]; \
         check kubelet's --node-ip and the machine's networks"
    )]
    NotOfThisMachine {
        /// The requested IP.
        ip: IpAddr,
        /// The addresses from the cloud.
        found: String,
    },
}

/// Parses an IP as leniently as Go does; an IPv4-mapped IPv6 address becomes that IPv4 address.
#[must_use]
pub fn parse_ip(text: &str) -> Option<IpAddr> {
    if text.contains(':') {
        parse_v6(text).map(|ip| ip.to_canonical())
    } else {
        parse_v4(text).map(IpAddr::V4)
    }
}

fn parse_v4(text: &str) -> Option<Ipv4Addr> {
    let octets: Option<Vec<u8>> = text.split('.').map(octet).collect();
    <[u8; 4]>::try_from(octets?).ok().map(Ipv4Addr::from)
}

fn octet(text: &str) -> Option<u8> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// Rust's parser rejects groups of more than four digits, so leading zeros are removed first.
fn parse_v6(text: &str) -> Option<IpAddr> {
    let group = |piece: &str| -> Option<String> {
        if piece.contains('.') {
            return parse_v4(piece).map(|ip| ip.to_string());
        }
        let short = piece.trim_start_matches('0');
        Some(if short.is_empty() && !piece.is_empty() { "0".to_owned() } else { short.to_owned() })
    };
    let groups: Option<Vec<String>> = text.split(':').map(group).collect();
    groups?.join(":").parse::<Ipv6Addr>().ok().map(IpAddr::V6)
}

/// Parses the annotation. Strict: whitespace is not trimmed, and two IPs must be of different families and not unspecified.
///
/// # Errors
///
/// [`AddressError::Unreadable`] if the value is invalid.
pub fn parse_provided_node_ip(value: &str) -> Result<Vec<IpAddr>, AddressError> {
    let unreadable = |why: String| AddressError::Unreadable { value: value.to_owned(), why };
    let parsed = |piece: &str| parse_ip(piece).ok_or_else(|| unreadable(format!("{piece:?} is no IP")));
    let ips: Vec<IpAddr> = value.split(',').map(parsed).collect::<Result<_, _>>()?;
    match ips.as_slice() {
        [_one] => Ok(ips),
        [first, second] if first.is_ipv4() == second.is_ipv4() => {
            Err(unreadable("both are of one family".to_owned()))
        }
        [first, second] if first.is_unspecified() || second.is_unspecified() => {
            Err(unreadable("a pair must not hold an unspecified address".to_owned()))
        }
        [_first, _second] => Ok(ips),
        _more => Err(unreadable(format!("it holds {} IPs", ips.len()))),
    }
}

/// Filters the cloud's addresses by the annotation: its IPs come first, in its order. Other addresses of the same kinds as these IPs are
/// dropped; addresses of other kinds follow unchanged.
///
/// # Errors
///
/// [`AddressError`] if the annotation cannot be parsed, or has an IP that the cloud does not report.
pub fn select_addresses(value: &str, cloud: &[NodeAddress]) -> Result<Vec<NodeAddress>, AddressError> {
    let mut selected = Vec::with_capacity(cloud.len());
    let mut kinds = BTreeSet::new();
    for ip in parse_provided_node_ip(value)? {
        let matching: Vec<_> =
            cloud.iter().filter(|address| parse_ip(&address.address) == Some(ip)).collect();
        if matching.is_empty() {
            let found = cloud.iter().map(|address| address.address.as_str()).collect::<Vec<_>>().join(", ");
            return Err(AddressError::NotOfThisMachine { ip, found });
        }
        kinds.extend(matching.iter().map(|address| address.kind));
        selected.extend(matching.into_iter().cloned());
    }
    selected.extend(cloud.iter().filter(|address| !kinds.contains(&address.kind)).cloned());
    Ok(selected)
}

/// Appends the addresses that the list does not have yet with the same kind.
pub fn add_addresses(addresses: &mut Vec<NodeAddress>, more: impl IntoIterator<Item = NodeAddress>) {
    for address in more {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
}

/// The addresses to write to `node`; `None` if it has them already, in this order, or if the cloud reports none: an unknown list never
/// clears the present one.
///
/// # Errors
///
/// [`AddressError`] if the Node has the annotation and it does not match the cloud's addresses.
pub fn plan_addresses(
    node: &NodeView,
    cloud: &[NodeAddress],
) -> Result<Option<Vec<NodeAddress>>, AddressError> {
    if cloud.is_empty() {
        return Ok(None);
    }
    let mut wanted = cloud.to_vec();
    // The first address is the primary one, so the order of the lists matters.
    if !cloud.iter().any(|address| address.kind == AddressKind::Hostname) {
        let hostnames = node.addresses.iter().filter(|address| address.kind == AddressKind::Hostname);
        wanted.extend(hostnames.cloned());
    }
    if let Some(value) = node.annotations.get(PROVIDED_NODE_IP) {
        wanted = select_addresses(value, &wanted)?;
    }
    Ok((wanted != node.addresses).then_some(wanted))
}

#[cfg(test)]
mod tests;
