//! The fingerprint of a wanted state: a short text that is stored on the Service, so that a new leader does not have to read every load
//! balancer.
//!
//! The hash input is an explicit encoding, [`Described`], which does not depend on the names of Rust types: if the encoding changes, a new
//! leader of another version has to read every load balancer. The encoding has a version number, and tests pin it. Its size grows with the
//! ports of a Service, not with its Nodes: a member list counts by its digest, which is computed once for all Services.

mod first_form;
#[cfg(test)]
mod tests;

use std::io;
use std::net::IpAddr;

use openstack_client::load_balancer::{BatchMember, LoadBalancer, LoadBalancerCreate};
use openstack_client::{LoadBalancerId, NetworkId, PortId, SubnetId};
use serde::Serialize;

use super::{Wanted, WantedAddress};
use crate::loadbalancer::group::{WantedGroup, WantedRule};
use crate::loadbalancer::members::{Digest, Members};

/// The prefix of a fingerprint in the present encoding. Fingerprints of the first encoding have no prefix.
const FORM: &str = "2-";

impl Wanted {
    /// The fingerprint of this wanted state on a load balancer in its present state. Octavia sets a new timestamp with every change of the
    /// load balancer or its children, so the fingerprint changes with it. `None` if Octavia returns no timestamp.
    #[must_use]
    pub fn fingerprint(&self, on: &LoadBalancer) -> Option<String> {
        let mut hash = Fnv1a::default();
        serde_json::to_writer(&mut hash, &Described::of(self, on)?).ok()?;
        Some(format!("{FORM}{:016x}", hash.0))
    }

    /// Whether one of the stored fingerprints, of any version, is that of this wanted state. `present` is its fingerprint in the present
    /// encoding.
    #[must_use]
    pub fn is_noted(&self, on: &LoadBalancer, present: &str, noted: &[&str]) -> bool {
        noted.contains(&present)
            || noted.iter().any(|one| !one.starts_with(FORM))
                && first_form::fingerprint(self, on).is_some_and(|first| noted.contains(&first.as_str()))
    }

    /// A digest that is equal for requests that create the same load balancer, wherever it is placed; see the function `request_digest`.
    #[must_use]
    pub fn request_digest(&self) -> Option<u128> {
        request_digest(self.frame(), self.listeners.iter().map(|listener| &listener.pool.members))
    }

    /// The members of leaving Nodes. No request that creates a load balancer contains them.
    pub fn draining(&self) -> impl Iterator<Item = &BatchMember> {
        self.listeners.iter().filter_map(|listener| listener.pool.leaving.as_ref()).flatten()
    }
}

/// The hash input of a fingerprint, as JSON. The names must never change within this version.
#[derive(Serialize)]
struct Described<'a> {
    load_balancer: &'a LoadBalancerId,
    changed: &'a str,
    tag: String,
    address: DescribedAddress<'a>,
    /// The request that would create the load balancer contains every value that is compared.
    request: LoadBalancerCreate,
    members: Vec<DescribedMembers>,
    draining: Vec<(IpAddr, u16)>,
    group: Option<DescribedGroup<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum DescribedAddress<'a> {
    Own {
        keep: bool,
    },
    Floating {
        place: Option<(&'a NetworkId, &'a [SubnetId])>,
        asked: Option<IpAddr>,
        insist: bool,
        keep: bool,
    },
}

/// The number of members, and the digest of their list.
#[derive(Serialize)]
struct DescribedMembers(usize, String);

#[derive(Serialize)]
struct DescribedGroup<'a> {
    name: &'a str,
    description: &'a str,
    /// Family, protocol, port and source range.
    rules: Vec<(&'a str, &'a str, u16, &'a str)>,
    ports: Vec<&'a PortId>,
}

impl<'a> Described<'a> {
    fn of(wanted: &'a Wanted, on: &'a LoadBalancer) -> Option<Self> {
        let members =
            |members: &Members| DescribedMembers(members.len(), format!("{:032x}", members.digest()));
        Some(Self {
            load_balancer: &on.id,
            changed: on.updated_at.as_ref().or(on.created_at.as_ref())?,
            tag: wanted.names.tag(),
            address: DescribedAddress::of(&wanted.address),
            request: wanted.whole_frame(),
            members: wanted.listeners.iter().map(|listener| members(&listener.pool.members)).collect(),
            draining: wanted.draining().map(|member| (member.address, member.protocol_port)).collect(),
            group: wanted.group.as_ref().map(DescribedGroup::of),
        })
    }
}

impl<'a> DescribedAddress<'a> {
    fn of(address: &'a WantedAddress) -> Self {
        match address {
            WantedAddress::Own { keep_floating_ip } => Self::Own { keep: *keep_floating_ip },
            WantedAddress::Floating { place, asked, insist, keep_floating_ip } => Self::Floating {
                place: place.as_ref().map(|place| (&place.network, place.subnets.as_slice())),
                asked: *asked,
                insist: *insist,
                keep: *keep_floating_ip,
            },
        }
    }
}

impl<'a> DescribedGroup<'a> {
    fn of(group: &'a WantedGroup) -> Self {
        let WantedGroup { name, description, rules, ports } = group;
        let rule = |rule: &'a WantedRule| {
            (rule.ethertype.as_str(), rule.protocol.as_str(), rule.port, rule.from.as_str())
        };
        Self { name, description, rules: rules.iter().map(rule).collect(), ports: ports.iter().collect() }
    }
}

/// A digest of what a request creates, without its placement: of the request without members, and of the member lists in the order of the
/// listeners.
pub(in crate::loadbalancer) fn request_digest<'m>(
    frame: LoadBalancerCreate,
    members: impl Iterator<Item = &'m Members>,
) -> Option<u128> {
    let anywhere = LoadBalancerCreate {
        vip_subnet_id: None,
        vip_network_id: None,
        vip_port_id: None,
        additional_vips: Vec::new(),
        ..frame
    };
    let text = serde_json::to_string(&anywhere).ok()?;
    let with = |digest: Digest, members: &Members| digest.bytes(&members.digest().to_be_bytes());
    Some(members.fold(Digest::default().text(&text), with).0)
}

/// FNV-1a: stable across builds. It need not resist deliberate collisions, because they give an attacker no advantage.
struct Fnv1a(u64);

impl Default for Fnv1a {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv1a {
    fn add(&mut self, bytes: &[u8]) {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        self.0 = bytes.iter().fold(self.0, step);
    }
}

impl io::Write for Fnv1a {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
