//! What is at a port already. Octavia has one listener for TCP at a port, whatever it speaks, one for UDP and one for SCTP.

use openstack_client::load_balancer::{Listener, Protocol, ProvisioningStatus};

use super::claim::{Claim, Holder};
use crate::loadbalancer::found::Tree;
use crate::loadbalancer::wanted::ListenerKey;

/// What is at a port that is wanted.
#[derive(Default)]
pub(super) struct AtPort<'t> {
    /// The listener that is wanted.
    pub(super) same: Option<&'t Listener>,
    /// Our listeners that must go first, and why.
    pub(super) first_goes: Vec<(&'t Listener, String)>,
    /// Why the port cannot be had.
    pub(super) problems: Vec<String>,
}

pub(super) fn at_port<'t>(key: &ListenerKey, claim: &Claim<'_>, tree: &'t Tree) -> AtPort<'t> {
    let mut at = AtPort::default();
    let here = |listener: &&Listener| {
        listener.protocol_port == key.port && transport(&listener.protocol) == transport(&key.protocol)
    };
    for listener in tree.listeners.iter().filter(here) {
        let (same, failed) =
            (listener.protocol == key.protocol, listener.provisioning_status == ProvisioningStatus::Error);
        match claim.holder(listener) {
            Holder::Us if failed => at
                .first_goes
                .push((listener, format!("{}: Octavia gave listener {} up (ERROR)", port(key), listener.id))),
            Holder::Us if !same => {
                let reason = format!("{}: listener {} speaks {}", port(key), listener.id, listener.protocol);
                at.first_goes.push((listener, reason));
            }
            // On our own load balancer we may take over what is as we want it, if no other Service says it is its own.
            Holder::Us => at.same = Some(listener),
            Holder::Unknown if same && claim.owner => at.same = Some(listener),
            Holder::Service(tag) => at.problems.push(taken(key, listener, &format!("belongs to {tag}"))),
            Holder::Unknown => {
                at.problems.push(taken(key, listener, "does not bear the tag of this Service"))
            }
        }
    }
    at
}

fn taken(key: &ListenerKey, listener: &Listener, whose: &str) -> String {
    let (id, protocol) = (&listener.id, &listener.protocol);
    format!(
        "{} is taken: listener {id} ({protocol}) {whose}; use another port or another load balancer",
        port(key)
    )
}

/// A port in words.
pub(super) fn port(key: &ListenerKey) -> String {
    format!("port {}/{}", key.port, key.protocol)
}

fn transport(protocol: &Protocol) -> &Protocol {
    match protocol {
        Protocol::Udp | Protocol::Sctp => protocol,
        _ => &Protocol::Tcp,
    }
}
