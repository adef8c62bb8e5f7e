//! A short text that is the same for the same wish: noted on the Service, so that a new leader need not read every load balancer.

use std::fmt::Write as _;

use openstack_client::load_balancer::{BatchMember, LoadBalancer};

use super::Wanted;

impl Wanted {
    /// The fingerprint of this wish on a load balancer as it is now. It changes with every change of the load balancer or of
    /// what hangs on it, for Octavia then writes another time on it. None if Octavia tells no time.
    #[must_use]
    pub fn fingerprint(&self, on: &LoadBalancer) -> Option<String> {
        let changed = on.updated_at.as_ref().or(on.created_at.as_ref())?;
        let mut text = format!("{} {changed} {:?} {} {}", on.id, self.address, self.serial, self.names.tag());
        // All that is compared is in the request that would make it.
        let request = serde_json::to_string(&self.new_balancer()).ok()?;
        write!(text, " {request} {:?}", self.group).ok()?;
        for member in self.draining() {
            write!(text, " {} {}", member.address, member.protocol_port).ok()?;
        }
        if self.serial {
            write!(text, " {:?}", self.listeners).ok()?;
        }
        Some(format!("{:016x}", fnv1a(text.as_bytes())))
    }

    /// The members of Nodes that leave. They are in no request that makes a load balancer.
    pub fn draining(&self) -> impl Iterator<Item = &BatchMember> {
        self.listeners.iter().filter_map(|listener| listener.pool.leaving.as_ref()).flatten()
    }
}

/// FNV-1a: the same in every build, and nobody gains by a collision.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
