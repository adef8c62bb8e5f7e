//! A short text that is the same for the same wish: noted on the Service, so that a new leader need not read every load balancer.
//!
//! What is hashed grows with the ports of a Service and not with its Nodes: members count by the digest of their list, which is made
//! once for all Services.

use std::fmt::Write as _;

use openstack_client::load_balancer::{BatchMember, LoadBalancer, LoadBalancerCreate};

use super::Wanted;
use crate::loadbalancer::members::{Digest, Members};

impl Wanted {
    /// The fingerprint of this wish on a load balancer as it is now. It changes with every change of the load balancer or of
    /// what hangs on it, for Octavia then writes another time on it. None if Octavia tells no time.
    #[must_use]
    pub fn fingerprint(&self, on: &LoadBalancer) -> Option<String> {
        let changed = on.updated_at.as_ref().or(on.created_at.as_ref())?;
        let mut text = format!("{} {changed} {:?} {} {}", on.id, self.address, self.serial, self.names.tag());
        // All that is compared is in the request that would make it.
        let request = serde_json::to_string(&self.frame()).ok()?;
        write!(text, " {request} {:?}", self.group).ok()?;
        for members in self.listeners.iter().map(|listener| &listener.pool.members) {
            write!(text, " {members:?}").ok()?;
        }
        for member in self.draining() {
            write!(text, " {} {}", member.address, member.protocol_port).ok()?;
        }
        if self.serial {
            write!(text, " {:?}", self.listeners).ok()?;
        }
        Some(format!("{:016x}", fnv1a(text.as_bytes())))
    }

    /// A number that is the same for requests that make the same, wherever it stands; see [`request_digest`].
    #[must_use]
    pub fn request_digest(&self) -> Option<u128> {
        request_digest(self.frame(), self.listeners.iter().map(|listener| &listener.pool.members))
    }

    /// The members of Nodes that leave. They are in no request that makes a load balancer.
    pub fn draining(&self) -> impl Iterator<Item = &BatchMember> {
        self.listeners.iter().filter_map(|listener| listener.pool.leaving.as_ref()).flatten()
    }
}

/// A number for what a request makes, wherever it stands: of the request without its members, and of these, in the order of the
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

/// FNV-1a: the same in every build, and nobody gains by a collision.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
