//! What Neutron knows. Members have the names they have in the API.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::quotas::NetworkQuota;
use crate::table::{Row, Table};

/// What all of Neutron's objects share.
pub(super) trait Standard: Row {
    /// The tags.
    fn tags(&self) -> &[String];
    /// The tags, to change them.
    fn tags_mut(&mut self) -> &mut Vec<String>;
    /// The number of the present revision.
    fn revision(&self) -> u64;
    /// It was changed at this time.
    fn touch(&mut self, time: &str);
}

macro_rules! standard {
    ($type:ty, |$row:ident| $index:expr) => {
        impl Row for $type {
            fn id(&self) -> &str {
                &self.id
            }
            fn project_id(&self) -> &str {
                &self.project_id
            }
            fn index_keys(&self) -> Vec<(&'static str, String)> {
                let $row = self;
                $index
            }
        }
        impl Standard for $type {
            fn tags(&self) -> &[String] {
                &self.tags
            }
            fn tags_mut(&mut self) -> &mut Vec<String> {
                &mut self.tags
            }
            fn revision(&self) -> u64 {
                self.revision_number
            }
            fn touch(&mut self, time: &str) {
                self.revision_number += 1;
                time.clone_into(&mut self.updated_at);
            }
        }
    };
}

/// A network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names of the API")]
pub struct Network {
    pub id: String,
    pub name: String,
    pub project_id: String,
    pub description: String,
    pub admin_state_up: bool,
    pub mtu: u32,
    pub status: String,
    pub shared: bool,
    #[serde(rename = "router:external")]
    pub external: bool,
    pub port_security_enabled: bool,
    pub dns_domain: String,
    pub is_default: bool,
    pub tags: Vec<String>,
    pub created_at: String,
    pub updated_at: String,
    pub revision_number: u64,
}
standard!(Network, |_row| Vec::new());

/// A range of addresses to choose from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names of the API")]
pub struct AllocationPool {
    pub start: String,
    pub end: String,
}

/// A subnet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names of the API")]
pub struct Subnet {
    pub id: String,
    pub name: String,
    pub project_id: String,
    pub network_id: String,
    pub ip_version: u8,
    pub subnetpool_id: Option<String>,
    pub enable_dhcp: bool,
    pub ipv6_ra_mode: Option<String>,
    pub ipv6_address_mode: Option<String>,
    pub gateway_ip: Option<String>,
    pub cidr: String,
    pub allocation_pools: Vec<AllocationPool>,
    pub host_routes: Vec<Route>,
    pub dns_nameservers: Vec<String>,
    pub description: String,
    pub service_types: Vec<String>,
    pub tags: Vec<String>,
    pub created_at: String,
    pub updated_at: String,
    pub revision_number: u64,
}
standard!(Subnet, |row| vec![("network_id", row.network_id.clone())]);

/// An address of a port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names of the API")]
pub struct FixedIp {
    pub subnet_id: String,
    pub ip_address: String,
}

/// A range a port may send from besides its own addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names of the API")]
pub struct AddressPair {
    pub ip_address: String,
    #[serde(default)]
    pub mac_address: String,
}

/// A port.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names of the API")]
pub struct Port {
    pub id: String,
    pub name: String,
    pub network_id: String,
    pub project_id: String,
    pub mac_address: String,
    pub admin_state_up: bool,
    pub status: String,
    pub device_id: String,
    pub device_owner: String,
    pub fixed_ips: Vec<FixedIp>,
    pub allowed_address_pairs: Vec<AddressPair>,
    pub security_groups: Vec<String>,
    pub description: String,
    #[serde(rename = "binding:vnic_type")]
    pub vnic_type: String,
    pub port_security_enabled: bool,
    pub dns_name: String,
    pub tags: Vec<String>,
    pub created_at: String,
    pub updated_at: String,
    pub revision_number: u64,
}
standard!(Port, |row| {
    let mut keys = vec![("network_id", row.network_id.clone())];
    if !row.device_id.is_empty() {
        keys.push(("device_id", row.device_id.clone()));
    }
    keys.extend(row.security_groups.iter().map(|group| ("security_groups", group.clone())));
    keys.extend(row.fixed_ips.iter().map(|fixed| ("ip_address", fixed.ip_address.clone())));
    keys
});

/// A security group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names of the API")]
pub struct SecurityGroup {
    pub id: String,
    pub name: String,
    pub project_id: String,
    pub description: String,
    pub stateful: bool,
    pub shared: bool,
    pub tags: Vec<String>,
    pub created_at: String,
    pub updated_at: String,
    pub revision_number: u64,
}
standard!(SecurityGroup, |row| vec![("project_name", format!("{}/{}", row.project_id, row.name))]);

/// A rule of a security group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names of the API")]
pub struct SecurityGroupRule {
    pub id: String,
    pub project_id: String,
    pub security_group_id: String,
    pub ethertype: String,
    pub direction: String,
    pub protocol: Option<String>,
    pub port_range_min: Option<i64>,
    pub port_range_max: Option<i64>,
    pub remote_ip_prefix: Option<String>,
    pub remote_group_id: Option<String>,
    pub description: Option<String>,
    #[serde(skip)]
    pub tags: Vec<String>,
    #[serde(skip)]
    pub number: u64,
    pub created_at: String,
    pub updated_at: String,
    pub revision_number: u64,
}
standard!(SecurityGroupRule, |row| vec![("security_group_id", row.security_group_id.clone())]);

/// A floating IP.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names of the API")]
pub struct FloatingIp {
    pub id: String,
    pub project_id: String,
    pub floating_ip_address: String,
    pub floating_network_id: String,
    pub router_id: Option<String>,
    pub port_id: Option<String>,
    pub fixed_ip_address: Option<String>,
    pub status: String,
    pub description: String,
    pub dns_domain: String,
    pub dns_name: String,
    pub tags: Vec<String>,
    pub created_at: String,
    pub updated_at: String,
    pub revision_number: u64,
    /// The subnet its address is from; the API does not show it.
    #[serde(skip)]
    pub subnet_id: String,
}
standard!(FloatingIp, |row| {
    let mut keys = vec![("floating_ip_address", row.floating_ip_address.clone())];
    keys.extend(row.port_id.iter().map(|port| ("port_id", port.clone())));
    keys
});

/// A static route.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names of the API")]
pub struct Route {
    pub destination: String,
    pub nexthop: String,
}

/// The way out of a router.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names of the API")]
pub struct ExternalGateway {
    pub network_id: String,
    #[serde(default)]
    pub external_fixed_ips: Vec<FixedIp>,
    #[serde(default)]
    pub enable_snat: bool,
}

/// A router.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names of the API")]
pub struct Router {
    pub id: String,
    pub name: String,
    pub project_id: String,
    pub admin_state_up: bool,
    pub status: String,
    pub external_gateway_info: Option<ExternalGateway>,
    pub description: String,
    pub routes: Vec<Route>,
    pub tags: Vec<String>,
    pub created_at: String,
    pub updated_at: String,
    pub revision_number: u64,
    /// The port of the way out; the API shows it to administrators.
    #[serde(skip)]
    pub gateway_port_id: Option<String>,
}
standard!(Router, |_row| Vec::new());

/// A port inside a trunk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names of the API")]
pub struct SubPort {
    pub port_id: String,
    #[serde(default)]
    pub segmentation_id: i64,
    #[serde(default)]
    pub segmentation_type: String,
}

/// A trunk: one port that carries others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names of the API")]
pub struct Trunk {
    pub id: String,
    pub name: String,
    pub project_id: String,
    pub description: String,
    pub port_id: String,
    pub sub_ports: Vec<SubPort>,
    pub status: String,
    pub admin_state_up: bool,
    pub tags: Vec<String>,
    pub created_at: String,
    pub updated_at: String,
    pub revision_number: u64,
}
standard!(Trunk, |row| vec![("port_id", row.port_id.clone())]);

/// Everything Neutron knows.
#[derive(Clone, Debug, Default)]
pub struct NetworkState {
    /// Networks.
    pub networks: Table<Network>,
    /// Subnets.
    pub subnets: Table<Subnet>,
    /// Ports.
    pub ports: Table<Port>,
    /// Security groups.
    pub security_groups: Table<SecurityGroup>,
    /// Their rules.
    pub rules: Table<SecurityGroupRule>,
    /// Floating IPs.
    pub floating_ips: Table<FloatingIp>,
    /// Routers.
    pub routers: Table<Router>,
    /// Trunks.
    pub trunks: Table<Trunk>,
    /// Quotas of projects that differ from the defaults.
    pub quotas: BTreeMap<String, NetworkQuota>,
    /// The addresses that are taken, by subnet.
    pub(crate) taken: BTreeMap<String, BTreeSet<u128>>,
    /// Where the search for a free address starts, by subnet.
    pub(crate) cursor: BTreeMap<String, u128>,
    /// How many rules were ever made.
    pub(crate) rules_made: u64,
}
