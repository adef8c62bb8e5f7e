//! What Octavia knows. Members have the names they have in the API.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::lifecycle::Fate;
use crate::table::{OrderKey, Row, Table};

macro_rules! row {
    ($type:ty, |$row:ident| $index:expr) => {
        impl Row for $type {
            fn id(&self) -> &str {
                &self.id
            }
            fn project_id(&self) -> &str {
                &self.project_id
            }
            fn order_key(&self) -> OrderKey {
                (self.created_at.clone(), self.id.clone())
            }
            fn index_keys(&self) -> Vec<(&'static str, String)> {
                let $row = self;
                $index
            }
        }
    };
}

/// A further address of a load balancer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names of the API")]
pub struct AdditionalVip {
    pub subnet_id: String,
    pub ip_address: String,
    pub port_id: String,
}

/// A load balancer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names of the API")]
pub struct LoadBalancer {
    pub id: String,
    pub name: String,
    pub description: String,
    pub provisioning_status: String,
    pub operating_status: String,
    pub admin_state_up: bool,
    pub project_id: String,
    pub created_at: String,
    pub updated_at: Option<String>,
    pub vip_address: String,
    pub vip_port_id: String,
    pub vip_subnet_id: String,
    pub vip_network_id: String,
    pub vip_sg_ids: Vec<String>,
    pub additional_vips: Vec<AdditionalVip>,
    pub provider: String,
    pub flavor_id: Option<String>,
    pub vip_qos_policy_id: Option<String>,
    pub tags: Vec<String>,
    pub availability_zone: Option<String>,
    pub vip_vnic_type: String,
}
row!(LoadBalancer, |row| vec![("name", row.name.clone()), ("vip_port_id", row.vip_port_id.clone())]);

/// A listener.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names of the API")]
pub struct Listener {
    pub id: String,
    pub name: String,
    pub description: String,
    pub provisioning_status: String,
    pub operating_status: String,
    pub admin_state_up: bool,
    pub protocol: String,
    pub protocol_port: u16,
    pub connection_limit: i64,
    pub default_tls_container_ref: Option<String>,
    pub sni_container_refs: Vec<String>,
    pub project_id: String,
    pub default_pool_id: Option<String>,
    pub insert_headers: Map<String, Value>,
    pub created_at: String,
    pub updated_at: Option<String>,
    pub timeout_client_data: i64,
    pub timeout_member_connect: i64,
    pub timeout_member_data: i64,
    pub timeout_tcp_inspect: i64,
    pub tags: Vec<String>,
    pub client_ca_tls_container_ref: Option<String>,
    pub client_authentication: String,
    pub client_crl_container_ref: Option<String>,
    pub allowed_cidrs: Option<Vec<String>>,
    pub tls_ciphers: Option<String>,
    pub tls_versions: Option<Vec<String>>,
    pub alpn_protocols: Option<Vec<String>>,
    pub hsts_max_age: Option<i64>,
    pub hsts_include_subdomains: bool,
    pub hsts_preload: bool,
    pub loadbalancer_id: String,
}
row!(Listener, |row| {
    let mut keys = vec![("loadbalancer_id", row.loadbalancer_id.clone())];
    keys.extend(row.default_pool_id.iter().map(|pool| ("default_pool_id", pool.clone())));
    keys
});

/// How a pool keeps a client with its member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names of the API")]
pub struct SessionPersistence {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub cookie_name: Option<String>,
    #[serde(default)]
    pub persistence_timeout: Option<i64>,
    #[serde(default)]
    pub persistence_granularity: Option<String>,
}

/// A pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names of the API")]
pub struct Pool {
    pub id: String,
    pub name: String,
    pub description: String,
    pub provisioning_status: String,
    pub operating_status: String,
    pub admin_state_up: bool,
    pub protocol: String,
    pub lb_algorithm: String,
    pub session_persistence: Option<SessionPersistence>,
    pub project_id: String,
    pub created_at: String,
    pub updated_at: Option<String>,
    pub tags: Vec<String>,
    pub tls_container_ref: Option<String>,
    pub ca_tls_container_ref: Option<String>,
    pub crl_container_ref: Option<String>,
    pub tls_enabled: bool,
    pub tls_ciphers: Option<String>,
    pub tls_versions: Option<Vec<String>>,
    pub alpn_protocols: Option<Vec<String>>,
    pub loadbalancer_id: String,
}
row!(Pool, |row| vec![("loadbalancer_id", row.loadbalancer_id.clone())]);

/// A member of a pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names of the API")]
pub struct Member {
    pub id: String,
    pub name: String,
    pub operating_status: String,
    pub provisioning_status: String,
    pub admin_state_up: bool,
    pub address: String,
    pub protocol_port: u16,
    pub weight: u16,
    pub backup: bool,
    pub subnet_id: Option<String>,
    pub project_id: String,
    pub created_at: String,
    pub updated_at: Option<String>,
    pub monitor_address: Option<String>,
    pub monitor_port: Option<u16>,
    pub tags: Vec<String>,
    pub vnic_type: String,
    pub pool_id: String,
}
row!(Member, |row| vec![("pool_id", row.pool_id.clone())]);

/// A health monitor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names of the API")]
pub struct HealthMonitor {
    pub id: String,
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub delay: i64,
    pub timeout: i64,
    pub max_retries: i64,
    pub max_retries_down: i64,
    pub http_method: Option<String>,
    pub url_path: Option<String>,
    pub expected_codes: Option<String>,
    pub admin_state_up: bool,
    pub project_id: String,
    pub provisioning_status: String,
    pub operating_status: String,
    pub created_at: String,
    pub updated_at: Option<String>,
    pub tags: Vec<String>,
    pub http_version: Option<f64>,
    pub domain_name: Option<String>,
    pub pool_id: String,
}
row!(HealthMonitor, |row| vec![("pool_id", row.pool_id.clone())]);

/// A flavor of load balancers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names of the API")]
pub struct Flavor {
    pub id: String,
    pub name: String,
    pub description: String,
    pub enabled: bool,
    pub flavor_profile_id: String,
}

/// What a flavor or zone means to a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the API")]
pub struct Profile {
    pub id: String,
    pub name: String,
    pub provider_name: String,
    pub data: String,
}

/// A zone for load balancers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names of the API")]
pub struct AvailabilityZone {
    pub name: String,
    pub description: String,
    pub enabled: bool,
    pub availability_zone_profile_id: String,
}

/// How many of each thing a project may have; -1: any number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the API")]
pub struct LoadBalancerQuota {
    pub load_balancer: i64,
    pub listener: i64,
    pub pool: i64,
    pub member: i64,
    pub health_monitor: i64,
}

impl Default for LoadBalancerQuota {
    /// Octavia has no limits unless somebody sets them.
    fn default() -> Self {
        Self { load_balancer: -1, listener: -1, pool: -1, member: -1, health_monitor: -1 }
    }
}

/// What is being done with a load balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// It is being made.
    Create,
    /// It or something below it is being changed.
    Change,
    /// It is being deleted with everything below it.
    Delete,
}

/// An operation that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What is being done.
    pub kind: OperationKind,
    /// When it ends.
    pub due: Timestamp,
    /// How it ends, if a fault says so.
    pub fate: Option<Fate>,
}

/// Everything Octavia knows.
#[derive(Clone, Debug, Default)]
pub struct LoadBalancerState {
    /// Load balancers.
    pub load_balancers: Table<LoadBalancer>,
    /// Listeners.
    pub listeners: Table<Listener>,
    /// Pools.
    pub pools: Table<Pool>,
    /// Members.
    pub members: Table<Member>,
    /// Health monitors.
    pub monitors: Table<HealthMonitor>,
    /// Flavors by identifier.
    pub flavors: BTreeMap<String, Flavor>,
    /// What flavors mean, by identifier.
    pub flavor_profiles: BTreeMap<String, Profile>,
    /// Zones by name.
    pub zones: BTreeMap<String, AvailabilityZone>,
    /// What zones mean, by identifier.
    pub zone_profiles: BTreeMap<String, Profile>,
    /// Quotas of projects that differ from the defaults.
    pub quotas: BTreeMap<String, LoadBalancerQuota>,
    /// What is being done, by load balancer.
    pub operations: BTreeMap<String, Operation>,
    /// Load balancers whose port was given by the user, and stays when they go.
    pub given_ports: BTreeSet<String>,
    /// Members that do not answer their monitor.
    pub down_members: BTreeSet<String>,
    /// Subnets that OVN checks members in, with the load balancers that need it.
    pub monitored_subnets: BTreeMap<String, BTreeSet<String>>,
}
