//! What the cluster says, put into the fields of a configuration. Total: whatever is missing on either side is taken as empty.

use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::{Map, Value, json};

use super::Read;
use crate::config::problem::{Change, ChangeKind, Problem};
use crate::infrastructure::{ClusterNetwork, VSphereSpec, VSphereStatus};

/// OVN-Kubernetes gives this address to nodes for itself.
const OVN_INTERNAL: &str = "fd69::2/128";

pub(super) struct Editor {
    fields: Map<String, Value>,
    changes: Vec<Change>,
    warnings: Vec<Problem>,
}

impl Editor {
    pub(super) fn new(read: Read) -> Self {
        Self { fields: read.fields, changes: read.changes, warnings: Vec::new() }
    }

    pub(super) fn done(mut self) -> (Map<String, Value>, Vec<Change>, Vec<Problem>) {
        self.fields
            .retain(|name, value| name != "nodes" || value.as_object().is_none_or(|nodes| !nodes.is_empty()));
        (self.fields, self.changes, self.warnings)
    }

    /// Gives a key of a section a value, or removes it.
    fn put(&mut self, section: &str, key: &str, value: Option<Value>) {
        let fields = self.fields.entry(section).or_insert_with(|| json!({}));
        if !fields.is_object() {
            *fields = json!({});
        }
        let Value::Object(fields) = fields else { return };
        if fields.get(key) == value.as_ref() {
            return;
        }
        let kind = match value {
            Some(value) => {
                let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                fields.insert(key.to_owned(), value);
                ChangeKind::Set(shown)
            }
            None => {
                fields.remove(key);
                ChangeKind::Removed
            }
        };
        self.changes.push(Change { line: None, key: format!("{section}.{key}"), kind });
    }

    /// Which families of addresses nodes have, as Services have them.
    pub(super) fn families(&mut self, network: &ClusterNetwork) {
        let families = match network.service_network.as_slice() {
            [only] if is_v6(only) => json!(["ipv6"]),
            [first, _] if is_v6(first) => json!(["ipv6", "ipv4"]),
            [_, _] => json!(["ipv4", "ipv6"]),
            _ => return,
        };
        self.put("global", "ipFamily", Some(families));
    }

    /// Which networks nodes take their addresses from.
    pub(super) fn nodes(
        &mut self,
        spec: &VSphereSpec,
        status: Option<&VSphereStatus>,
        network: &ClusterNetwork,
    ) {
        let never = self.never_of_nodes(status, network);
        let networking = &spec.node_networking;
        for (place, of) in [("Internal", &networking.internal), ("External", &networking.external)] {
            let lower = place.to_ascii_lowercase();
            let excluded: Vec<&str> =
                of.exclude_network_subnet_cidr.iter().chain(&never).map(String::as_str).collect();
            let values = [
                (format!("{lower}VmNetworkName"), of.network.clone()),
                (format!("{lower}NetworkSubnetCidr"), of.network_subnet_cidr.join(",")),
                (format!("exclude{place}NetworkSubnetCidr"), excluded.join(",")),
            ];
            for (key, value) in values {
                self.put("nodes", &key, (!value.is_empty()).then(|| json!(value)));
            }
        }
    }

    /// Addresses that machines have but that are not theirs. Clusters with IPv4 only are left as they always were.
    fn never_of_nodes(&mut self, status: Option<&VSphereStatus>, network: &ClusterNetwork) -> Vec<String> {
        if !network.service_network.iter().any(|range| is_v6(range)) {
            return Vec::new();
        }
        let mut never = Vec::new();
        let shared = status.into_iter().flat_map(|s| s.api_server_internal_ips.iter().chain(&s.ingress_ips));
        for address in shared {
            match address.parse::<IpAddr>() {
                Ok(IpAddr::V4(_)) => never.push(format!("{address}/32")),
                Ok(IpAddr::V6(_)) => never.push(format!("{address}/128")),
                Err(_) => self.warnings.push(Problem {
                    line: None,
                    key: Some("status.platformStatus.vsphere".to_owned()),
                    what: format!("{address:?} is not an address; it is left out"),
                }),
            }
        }
        never.push(OVN_INTERNAL.to_owned());
        never
    }

    /// The vCenters that the cluster names, with what the configuration says of them beyond that. A cluster that names none
    /// has no opinion.
    pub(super) fn vcenters(&mut self, spec: &VSphereSpec) {
        if spec.vcenters.is_empty() && spec.failure_domains.is_empty() {
            return;
        }
        let before = self.fields.remove("vcenter");
        let before = before.as_ref().and_then(Value::as_object);
        let mut after = Map::new();
        for named in &spec.vcenters {
            let mut vcenter = known(before, &named.server);
            vcenter.insert("server".to_owned(), json!(named.server));
            if named.port != 0 {
                vcenter.insert("port".to_owned(), json!(named.port));
            }
            vcenter.insert("datacenters".to_owned(), json!(named.datacenters));
            after.insert(named.server.clone(), Value::Object(vcenter));
        }
        for domain in &spec.failure_domains {
            let fresh = || {
                let mut vcenter = known(before, &domain.server);
                vcenter.insert("server".to_owned(), json!(domain.server));
                vcenter.insert("datacenters".to_owned(), json!([]));
                Value::Object(vcenter)
            };
            let vcenter = after.entry(domain.server.clone()).or_insert_with(fresh);
            let datacenter = json!(domain.topology.datacenter);
            if let Some(list) = vcenter.get_mut("datacenters").and_then(Value::as_array_mut)
                && !domain.topology.datacenter.is_empty()
                && !list.contains(&datacenter)
            {
                list.push(datacenter);
            }
        }
        self.tell_vcenters(before, &after);
        self.fields.insert("vcenter".to_owned(), Value::Object(after));
    }

    fn tell_vcenters(&mut self, before: Option<&Map<String, Value>>, after: &Map<String, Value>) {
        let change = |name: &str, kind| Change { line: None, key: format!("vcenter.{name}"), kind };
        for name in before.into_iter().flat_map(Map::keys).filter(|name| !after.contains_key(*name)) {
            self.changes.push(change(name, ChangeKind::Removed));
        }
        for (name, vcenter) in after {
            if before.and_then(|before| before.get(name)) != Some(vcenter) {
                let datacenters = vcenter.get("datacenters").map(Value::to_string).unwrap_or_default();
                self.changes.push(change(name, ChangeKind::Set(format!("with datacenters {datacenters}"))));
            }
        }
    }

    /// The tags of zones, if there is more than one.
    pub(super) fn labels(&mut self, spec: &VSphereSpec) {
        if spec.failure_domains.len() > 1 {
            self.put("labels", "zone", Some(json!("openshift-zone")));
            self.put("labels", "region", Some(json!("openshift-region")));
        }
    }
}

/// What a configuration says of a server, under its name or another.
fn known(before: Option<&Map<String, Value>>, server: &str) -> Map<String, Value> {
    let Some(before) = before else { return Map::new() };
    let is_it = |vcenter: &&Value| vcenter.get("server").and_then(Value::as_str) == Some(server);
    let found = before.get(server).or_else(|| before.values().find(is_it));
    found.and_then(Value::as_object).cloned().unwrap_or_default()
}

fn is_v6(range: &str) -> bool {
    matches!(range.parse(), Ok(IpNet::V6(_)))
}
