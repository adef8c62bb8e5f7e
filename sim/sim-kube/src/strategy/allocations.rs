//! Which cluster IPs and node ports are taken. Follows every commit; decides nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::object::{list, texts};
use crate::resource::BucketKey;

/// Taken addresses and ports with how often each is used.
#[derive(Debug, Default)]
pub(crate) struct Allocations {
    ips: BTreeMap<String, usize>,
    /// By number, whatever the protocol, as the real allocator.
    ports: BTreeMap<u16, usize>,
}

impl Allocations {
    /// Follows a change of any object.
    pub(crate) fn note(&mut self, bucket: &BucketKey, old: Option<&Value>, new: Option<&Value>) {
        if !bucket.0.is_empty() || bucket.1 != "services" {
            return;
        }
        if let Some(old) = old {
            ips(old).into_iter().for_each(|ip| release(&mut self.ips, &ip));
            node_ports(old).into_iter().for_each(|port| release(&mut self.ports, &port));
        }
        if let Some(new) = new {
            ips(new).into_iter().for_each(|ip| *self.ips.entry(ip).or_default() += 1);
            node_ports(new).into_iter().for_each(|port| *self.ports.entry(port).or_default() += 1);
        }
    }

    pub(crate) fn has_ip(&self, ip: &str) -> bool {
        self.ips.contains_key(ip)
    }

    pub(crate) fn has_port(&self, port: u16) -> bool {
        self.ports.contains_key(&port)
    }
}

fn release<K: Ord>(taken: &mut BTreeMap<K, usize>, key: &K) {
    if let Some(count) = taken.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            taken.remove(key);
        }
    }
}

/// The cluster IPs of a Service.
pub(crate) fn ips(service: &Value) -> Vec<String> {
    let mut ips = texts(service, &["spec", "clusterIPs"]);
    ips.retain(|ip| !ip.is_empty() && ip != "None");
    ips
}

/// The node ports of a Service, the health check's too.
fn node_ports(service: &Value) -> BTreeSet<u16> {
    let of_ports = list(service, &["spec", "ports"]).iter().filter_map(|one| port(one.get("nodePort")));
    of_ports.chain(port(service.pointer("/spec/healthCheckNodePort"))).collect()
}

/// A port that is set.
pub(crate) fn port(value: Option<&Value>) -> Option<u16> {
    value.and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok()).filter(|port| *port != 0)
}
