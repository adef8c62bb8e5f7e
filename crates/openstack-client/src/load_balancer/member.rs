//! Members of pools, one by one and all at once.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::{LoadBalancing, OperatingStatus, ProvisioningStatus, below};
use crate::{
    Error, MemberId, Pages, PoolId, Service, SubnetId,
    call::{Below, Call, json},
    decode,
    paging::Listed,
};

/// A member of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Member {
    /// Its id.
    pub id: MemberId,
    /// Its name.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub name: String,
    /// Its address.
    pub address: IpAddr,
    /// Its port.
    pub protocol_port: u16,
    /// Its subnet.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub subnet_id: Option<SubnetId>,
    /// Its share.
    #[serde(default)]
    pub weight: Option<i64>,
    /// Where its health is asked, if not at its port.
    #[serde(default)]
    pub monitor_port: Option<u16>,
    /// Where its health is asked, if not at its address.
    #[serde(default, deserialize_with = "decode::address")]
    pub monitor_address: Option<IpAddr>,
    /// Whether it is only used when the others fail.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub backup: bool,
    /// Whether it is switched on.
    #[serde(default)]
    pub admin_state_up: Option<bool>,
    /// What Octavia is doing to it.
    #[serde(default)]
    pub provisioning_status: ProvisioningStatus,
    /// How it fares.
    #[serde(default)]
    pub operating_status: OperatingStatus,
    /// Its tags.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub tags: Vec<String>,
}

impl Listed for Member {
    const COLLECTION: &'static str = "members";
    fn marker(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// A member to be. In a batch it stands for the member with the same address and port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BatchMember {
    /// Its address.
    pub address: IpAddr,
    /// Its port.
    pub protocol_port: u16,
    /// Its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its subnet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subnet_id: Option<SubnetId>,
    /// Its share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<i64>,
    /// Where its health is asked, if not at its port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monitor_port: Option<u16>,
    /// Its tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

impl BatchMember {
    /// A member at this address and port.
    #[must_use]
    pub fn new(address: IpAddr, protocol_port: u16) -> Self {
        Self {
            address,
            protocol_port,
            name: String::new(),
            subnet_id: None,
            weight: None,
            monitor_port: None,
            tags: Vec::new(),
        }
    }
}

/// A member as a batch says it. Octavia leaves what is not mentioned of a member that is there as it was, so that it has no
/// port of its own for its health has to be said.
#[derive(Serialize)]
struct InBatch<'a> {
    #[serde(flatten)]
    member: &'a BatchMember,
    /// Said where the member itself says nothing.
    #[serde(skip_serializing_if = "Option::is_some")]
    monitor_port: Option<u16>,
}

/// A change to a member.
#[derive(Debug, Clone, Default, Serialize)]
pub struct MemberUpdate {
    /// Another name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<i64>,
    /// Whether it is switched on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admin_state_up: Option<bool>,
}

impl LoadBalancing {
    /// The members of a pool.
    pub fn members(&self, pool: &PoolId) -> Pages<Member> {
        self.0.pages(Self::get("loadbalancer_member_list", &["pools", pool.as_str(), "members"]))
    }

    /// A member.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn member(&self, pool: &PoolId, id: &MemberId) -> Result<Member, Error> {
        let path = ["pools", pool.as_str(), "members", id.as_str()];
        self.0.fetch(Self::get("loadbalancer_member_get", &path), "member").await
    }

    /// Gives a pool exactly these members; with `additive_only` the others stay. A member without a port of its own for its
    /// health loses the one it had. Even a batch that changes nothing makes the load balancer pending for a while.
    ///
    /// `members` is asked when the call is sent, and not while it waits for the budget.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Busy` while Octavia is at work on the load balancer.
    pub async fn batch_members(
        &self,
        pool: &PoolId,
        members: impl Fn() -> Vec<BatchMember> + Send + Sync + 'static,
        additive_only: bool,
    ) -> Result<(), Error> {
        let body = move || {
            let members = members();
            let said = |member| InBatch { member, monitor_port: member.monitor_port };
            let said: Vec<InBatch<'_>> = members.iter().map(said).collect();
            json(&Below("members", &said))
        };
        let path = below(&["pools", pool.as_str(), "members"]);
        let call = Call::put_late(Service::LoadBalancer, "loadbalancer_members_update", &path, body);
        self.0.done(call.with_some("additive_only", additive_only.then_some("True"))).await
    }

    /// Adds a member to a pool.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Busy` while Octavia is at work on the load balancer.
    pub async fn create_member(&self, pool: &PoolId, member: &BatchMember) -> Result<Member, Error> {
        let body = Below("member", member);
        let call = Self::post("loadbalancer_member_create", &["pools", pool.as_str(), "members"], &body)?;
        self.0.fetch(call, "member").await
    }

    /// Changes a member.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Busy` while Octavia is at work on the load balancer.
    pub async fn update_member(
        &self,
        pool: &PoolId,
        id: &MemberId,
        member: &MemberUpdate,
    ) -> Result<Member, Error> {
        let path = ["pools", pool.as_str(), "members", id.as_str()];
        let body = Below("member", member);
        self.0.fetch(Self::put("loadbalancer_member_update", &path, &body)?, "member").await
    }

    /// Takes a member from a pool.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Busy` while Octavia is at work on the load balancer.
    pub async fn delete_member(&self, pool: &PoolId, id: &MemberId) -> Result<(), Error> {
        let path = ["pools", pool.as_str(), "members", id.as_str()];
        self.0.done(Self::delete("loadbalancer_member_delete", &path)).await
    }
}
