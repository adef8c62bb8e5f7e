//! The topology of a load balancer for people: listeners, pools and members, and the status of each, in terms that fit every cloud.
//!
//! Values only, created by a provider from its observation ([`ObservedLoadBalancer::picture`](crate::ObservedLoadBalancer::picture)). They
//! influence no decision. Nothing is guessed: what was not read is missing, and [`Detail`] says so.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// The load balancer of one Service with everything that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BalancerPicture {
    /// The id in the cloud.
    pub id: String,
    /// The name in the cloud.
    pub name: String,
    /// The driver of the load balancer; `None` if it is unknown or the cloud has only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// The status reported by the cloud.
    pub status: Status,
    /// The addresses of the load balancer itself.
    pub addresses: Vec<IpAddr>,
    /// The public addresses that lead to it.
    pub public_addresses: Vec<IpAddr>,
    /// Its labels or tags in the cloud, unchanged.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The owner.
    pub owner: Owner,
    /// How the parts below were obtained.
    pub detail: Detail,
    /// The listeners, sorted by port, including those of other Services.
    pub frontends: Vec<Frontend>,
    /// Pools that no listener uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unused_pools: Vec<Pool>,
}

/// The status of a part of a load balancer, in the terms of the cloud. Empty if it was not read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Whether the cloud is changing it: `ACTIVE`, `PENDING_UPDATE`, `ERROR`, …
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub provisioning: String,
    /// Whether it serves traffic: `ONLINE`, `DEGRADED`, `OFFLINE`, … As of the time when it was read.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub operating: String,
}

/// The owner of a load balancer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    /// Whether it belongs to this Service. If not, it is shared from another Service, or belongs to another owner.
    pub own: bool,
    /// The UIDs of the clusters that claim it, according to its tags.
    #[serde(default)]
    pub clusters: Vec<String>,
    /// The other Services that use it, by their tags in the cloud.
    #[serde(default)]
    pub sharers: Vec<String>,
}

/// How the parts of a load balancer were obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Detail {
    /// They were read from the cloud, now or earlier, and have not changed since.
    Read,
    /// They were not read: nothing has changed since they were observed to match the Service exactly. The desired state is shown, without
    /// ids, without status, and without parts that belong to others.
    AsWanted,
    /// They were not read, because the cloud is changing the load balancer. No parts are shown.
    Busy,
}

/// A listener of a load balancer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Frontend {
    /// The id; `None` if it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The name.
    pub name: String,
    /// The protocol.
    pub protocol: String,
    /// The port.
    pub port: u16,
    /// The status.
    #[serde(default)]
    pub status: Status,
    /// The networks that may connect; empty means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<String>,
    /// The pools that connections go to.
    pub pools: Vec<Pool>,
}

/// The members that share the connections of a listener.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pool {
    /// The id; `None` if it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The name.
    pub name: String,
    /// The protocol between the load balancer and the members.
    pub protocol: String,
    /// The algorithm that chooses a member.
    pub algorithm: String,
    /// The status.
    #[serde(default)]
    pub status: Status,
    /// The health monitor; `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitor: Option<String>,
    /// The members.
    pub members: Vec<Member>,
}

/// A member of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// The name, usually that of the Node.
    pub name: String,
    /// The address.
    pub address: IpAddr,
    /// The port.
    pub port: u16,
    /// The share of the connections; 0 means no new connections. `None` is the default of the cloud.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<i64>,
    /// The status.
    #[serde(default)]
    pub status: Status,
}

impl BalancerPicture {
    /// All members of all pools, once for each port.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        let pools = self.frontends.iter().flat_map(|frontend| &frontend.pools).chain(&self.unused_pools);
        pools.flat_map(|pool| &pool.members)
    }
}
