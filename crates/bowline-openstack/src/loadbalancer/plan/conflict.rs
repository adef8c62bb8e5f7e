//! Finds the listeners that already use a port. Octavia allows one listener per port and transport protocol: one over TCP, whatever its
//! protocol, one over UDP and one over SCTP.

use openstack_client::load_balancer::{Listener, Protocol, ProvisioningStatus};

use super::claim::{Claim, Holder};
use super::order::by_id;
use crate::loadbalancer::found::Tree;
use crate::loadbalancer::wanted::ListenerKey;

/// The listeners at a wanted port.
#[derive(Default)]
pub(super) struct AtPort<'t> {
    /// The listener that already has the wanted protocol, to be kept.
    pub(super) same: Option<&'t Listener>,
    /// Listeners of this Service that have to be deleted first, with the reason.
    pub(super) first_goes: Vec<(&'t Listener, String)>,
    /// Why the port is not available.
    pub(super) problems: Vec<String>,
}

pub(super) fn at_port<'t>(key: &ListenerKey, claim: &Claim<'_>, tree: &'t Tree) -> AtPort<'t> {
    let mut at = AtPort::default();
    let here = |listener: &&Listener| {
        listener.protocol_port == key.port && transport(&listener.protocol) == transport(&key.protocol)
    };
    for listener in by_id(tree.listeners.iter().filter(here), |listener| &listener.id) {
        let same = listener.protocol == key.protocol;
        match claim.holder(listener) {
            Holder::Us => match spoilt(key, listener) {
                Some(reason) => at.first_goes.push((listener, reason)),
                // Of two identical listeners the second one is not wanted; it is deleted later.
                None => at.same = at.same.or(Some(listener)),
            },
            // On its own load balancer, a Service takes over a listener with the wanted protocol if no tag assigns it to another Service.
            Holder::Unknown if same && claim.owner => at.same = at.same.or(Some(listener)),
            Holder::Unknown => {
                at.problems.push(taken(key, listener, "does not bear the tag of this Service"));
            }
            Holder::Service(tag) => at.problems.push(taken(key, listener, &format!("belongs to {tag}"))),
        }
    }
    at
}

/// Why a listener of this Service has to be deleted and created again.
fn spoilt(key: &ListenerKey, listener: &Listener) -> Option<String> {
    let (at, id, speaks) = (port(key), &listener.id, &listener.protocol);
    if listener.provisioning_status == ProvisioningStatus::Error {
        return Some(format!("{at}: Octavia gave listener {id} up (ERROR)"));
    }
    (*speaks != key.protocol).then(|| format!("{at}: listener {id} speaks {speaks}"))
}

fn taken(key: &ListenerKey, listener: &Listener, whose: &str) -> String {
    let (id, protocol) = (&listener.id, &listener.protocol);
    format!(
        "{} is taken: listener {id} ({protocol}) {whose}; use another port or another load balancer",
        port(key)
    )
}

/// The port and protocol, for messages.
pub(super) fn port(key: &ListenerKey) -> String {
    format!("port {}/{}", key.port, key.protocol)
}

fn transport(protocol: &Protocol) -> &Protocol {
    match protocol {
        Protocol::Udp | Protocol::Sctp => protocol,
        _ => &Protocol::Tcp,
    }
}
