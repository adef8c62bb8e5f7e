//! The first form of fingerprints, of version 0.1: a hash of what Rust's `Debug` printed for a wish. It is written out here, so that types can be renamed
//! and a new leader still recognises it. To be removed in version 0.3.

use std::collections::BTreeSet;
use std::fmt::{self, Debug, Formatter, Write as _};

use openstack_client::load_balancer::LoadBalancer;

use super::Fnv1a;
use crate::loadbalancer::group::{WantedGroup, WantedRule};
use crate::loadbalancer::intent::{MonitorValues, Timeouts};
use crate::loadbalancer::wanted::{
    FloatingPlace, ListenerKey, Wanted, WantedAddress, WantedListener, WantedMonitor, WantedPool,
};

/// The fingerprint that such a version made.
pub(super) fn fingerprint(wanted: &Wanted, on: &LoadBalancer) -> Option<String> {
    let changed = on.updated_at.as_ref().or(on.created_at.as_ref())?;
    let (address, serial, tag) = (First(&wanted.address), wanted.serial, wanted.names.tag());
    let mut text = format!("{} {changed} {address:?} {serial} {tag}", on.id);
    let request = serde_json::to_string(&wanted.frame()).ok()?;
    write!(text, " {request} {:?}", wanted.group.as_ref().map(First)).ok()?;
    for members in wanted.listeners.iter().map(|listener| &listener.pool.members) {
        write!(text, " {members:?}").ok()?;
    }
    for member in wanted.draining() {
        write!(text, " {} {}", member.address, member.protocol_port).ok()?;
    }
    if wanted.serial {
        write!(text, " {:?}", wanted.listeners.iter().map(First).collect::<Vec<_>>()).ok()?;
    }
    let mut hash = Fnv1a::default();
    hash.add(text.as_bytes());
    Some(format!("{:016x}", hash.0))
}

/// As it was called then.
struct First<'a, T>(&'a T);

impl Debug for First<'_, WantedAddress> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            WantedAddress::Own { keep_floating_ip } => {
                f.debug_struct("Own").field("keep_floating_ip", keep_floating_ip).finish()
            }
            WantedAddress::Floating { place, asked, insist, keep_floating_ip } => f
                .debug_struct("Floating")
                .field("place", &place.as_ref().map(First))
                .field("asked", asked)
                .field("insist", insist)
                .field("keep_floating_ip", keep_floating_ip)
                .finish(),
        }
    }
}

impl Debug for First<'_, FloatingPlace> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let FloatingPlace { network, subnets } = self.0;
        f.debug_struct("FloatingPlace").field("network", network).field("subnets", subnets).finish()
    }
}

impl Debug for First<'_, WantedGroup> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let WantedGroup { name, description, rules, ports } = self.0;
        f.debug_struct("WantedGroup")
            .field("name", name)
            .field("description", description)
            .field("rules", &First(rules))
            .field("ports", ports)
            .finish()
    }
}

impl Debug for First<'_, BTreeSet<WantedRule>> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.iter().map(First)).finish()
    }
}

impl Debug for First<'_, WantedRule> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let WantedRule { ethertype, protocol, port, from } = self.0;
        f.debug_struct("WantedRule")
            .field("ethertype", ethertype)
            .field("protocol", protocol)
            .field("port", port)
            .field("from", from)
            .finish()
    }
}

impl Debug for First<'_, WantedListener> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let of = self.0;
        f.debug_struct("WantedListener")
            .field("key", &First(&of.key))
            .field("name", &of.name)
            .field("connection_limit", &of.connection_limit)
            .field("timeouts", &of.timeouts.as_ref().map(First))
            .field("allowed_cidrs", &of.allowed_cidrs)
            .field("insert_headers", &of.insert_headers)
            .field("certificate", &of.certificate)
            .field("pool", &First(&of.pool))
            .finish()
    }
}

impl Debug for First<'_, ListenerKey> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let ListenerKey { protocol, port } = self.0;
        f.debug_struct("ListenerKey").field("protocol", protocol).field("port", port).finish()
    }
}

impl Debug for First<'_, Timeouts> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Timeouts { client_data, member_connect, member_data, tcp_inspect } = self.0;
        f.debug_struct("Timeouts")
            .field("client_data", client_data)
            .field("member_connect", member_connect)
            .field("member_data", member_data)
            .field("tcp_inspect", tcp_inspect)
            .finish()
    }
}

impl Debug for First<'_, WantedPool> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let of = self.0;
        f.debug_struct("WantedPool")
            .field("name", &of.name)
            .field("protocol", &of.protocol)
            .field("algorithm", &of.algorithm)
            .field("session_persistence", &of.session_persistence)
            .field("members", &of.members)
            .field("leaving", &of.leaving)
            .field("monitor", &of.monitor.as_ref().map(First))
            .finish()
    }
}

impl Debug for First<'_, WantedMonitor> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let WantedMonitor { name, kind, values } = self.0;
        f.debug_struct("WantedMonitor")
            .field("name", name)
            .field("kind", kind)
            .field("values", &First(values))
            .finish()
    }
}

impl Debug for First<'_, MonitorValues> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let MonitorValues { delay, timeout, max_retries, max_retries_down } = self.0;
        f.debug_struct("MonitorValues")
            .field("delay", delay)
            .field("timeout", timeout)
            .field("max_retries", max_retries)
            .field("max_retries_down", max_retries_down)
            .finish()
    }
}
