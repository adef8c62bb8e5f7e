//! A load balancer as a picture for people: what listens, what is behind it, and how each part fares, in words of no cloud in particular.
//!
//! Values only, made by a provider of what it observed ([`crate::LoadBalancers::picture`]). Nothing is decided by a picture, and nothing in
//! it is guessed: what was not read is not there, and [`Detail`] says so.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// A load balancer of one Service, with all that hangs on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BalancerPicture {
    /// Its id in the cloud.
    pub id: String,
    /// Its name in the cloud.
    pub name: String,
    /// The driver that makes it, if the cloud has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// How it fares, as the cloud says it.
    pub status: Status,
    /// Its own addresses.
    pub addresses: Vec<IpAddr>,
    /// Public addresses that lead to it.
    pub public_addresses: Vec<IpAddr>,
    /// What the cloud knows it by: labels or tags, as they are.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Whose it is, in words.
    pub owner: Owner,
    /// How the parts below came to be known.
    pub detail: Detail,
    /// What listens, by port. Those of other Services are among them.
    pub frontends: Vec<Frontend>,
    /// Pools that no listener uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unused_pools: Vec<Pool>,
}

/// How a part of a load balancer fares, in the cloud's own words. What was not read is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Whether the cloud is at work on it: `ACTIVE`, `PENDING_UPDATE`, `ERROR`, …
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub provisioning: String,
    /// Whether it serves: `ONLINE`, `DEGRADED`, `OFFLINE`, … As of when it was read.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub operating: String,
}

/// Whose a load balancer is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    /// Whether it is this Service's own. Otherwise it is shared from another, or somebody else's.
    pub own: bool,
    /// The UIDs of the clusters that say it is theirs.
    #[serde(default)]
    pub clusters: Vec<String>,
    /// Other Services on it, by what the cloud calls them.
    #[serde(default)]
    pub sharers: Vec<String>,
}

/// How the parts of a load balancer came to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Detail {
    /// They were read, or nobody has changed them since they were.
    Read,
    /// They were not read: nothing has changed since they were seen to be exactly as the Service wants them. What is shown is the wish,
    /// without ids and without how it fares, and without what belongs to others.
    AsWanted,
    /// They were not read, because the cloud is at work on the load balancer. Nothing is shown.
    Busy,
}

/// A port on which a load balancer listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Frontend {
    /// Its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its name.
    pub name: String,
    /// What it speaks.
    pub protocol: String,
    /// Its port.
    pub port: u16,
    /// How it fares.
    #[serde(default)]
    pub status: Status,
    /// Who may connect; empty is everybody.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<String>,
    /// Where connections go.
    pub pools: Vec<Pool>,
}

/// Machines that share the connections of a listener.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pool {
    /// Its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its name.
    pub name: String,
    /// What members are spoken to with.
    pub protocol: String,
    /// How a member is chosen.
    pub algorithm: String,
    /// How it fares.
    #[serde(default)]
    pub status: Status,
    /// How members are asked whether they are well; not at all if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitor: Option<String>,
    /// Its members.
    pub members: Vec<Member>,
}

/// One machine behind a load balancer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// Its name; mostly that of the Node.
    pub name: String,
    /// Its address.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
    /// Its share of the connections; 0 gets no new ones. None is the cloud's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<i64>,
    /// How it fares.
    #[serde(default)]
    pub status: Status,
}

impl BalancerPicture {
    /// All members of all pools, each once for each port.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        let pools = self.frontends.iter().flat_map(|frontend| &frontend.pools).chain(&self.unused_pools);
        pools.flat_map(|pool| &pool.members)
    }
}
