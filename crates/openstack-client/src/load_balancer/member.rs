//! Members of pools, and their batch update.

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
    /// Its weight.
    #[serde(default)]
    pub weight: Option<i64>,
    /// The port of its health checks; `None` for the port of the member.
    #[serde(default)]
    pub monitor_port: Option<u16>,
    /// The address of its health checks; `None` for the address of the member.
    #[serde(default, deserialize_with = "decode::address")]
    pub monitor_address: Option<IpAddr>,
    /// Whether it gets traffic only if all other members are down.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub backup: bool,
    /// Whether it is enabled.
    #[serde(default)]
    pub admin_state_up: Option<bool>,
    /// Its provisioning status.
    #[serde(default)]
    pub provisioning_status: ProvisioningStatus,
    /// Its operating status.
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

/// A new member, or a member in a batch update, which is identified by address and port.
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
    /// Its weight. If it is `None`, a new member gets 1, and a batch update keeps that of an existing member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<i64>,
    /// The port of its health checks; `None` for the port of the member.
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

/// A member in the body of a batch update. Octavia keeps the values of fields that the batch omits, so `monitor_port` is sent as null to
/// remove it.
#[derive(Serialize)]
struct InBatch<'a> {
    #[serde(flatten)]
    member: &'a BatchMember,
    /// Always null; sent if `member` has no monitor port.
    #[serde(skip_serializing_if = "Option::is_some")]
    monitor_port: Option<u16>,
}

/// An update of a member; fields that are `None` stay unchanged.
#[derive(Debug, Clone, Default, Serialize)]
pub struct MemberUpdate {
    /// The new name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its weight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<i64>,
    /// Whether it is enabled.
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

    /// Replaces the members of a pool; with `additive_only`, members that are not listed stay. A member without `monitor_port` loses the
    /// one it had. Even a batch without changes sets the load balancer to `PENDING_UPDATE` for some time.
    ///
    /// `members` is called when the request is sent, not while it waits for the budget.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Busy` while Octavia is changing the load balancer.
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
    /// [`Error`]; of class `Busy` while Octavia is changing the load balancer.
    pub async fn create_member(&self, pool: &PoolId, member: &BatchMember) -> Result<Member, Error> {
        let body = Below("member", member);
        let call = Self::post("loadbalancer_member_create", &["pools", pool.as_str(), "members"], &body)?;
        self.0.fetch(call, "member").await
    }

    /// Updates a member.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Busy` while Octavia is changing the load balancer.
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

    /// Removes a member from a pool.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Busy` while Octavia is changing the load balancer.
    pub async fn delete_member(&self, pool: &PoolId, id: &MemberId) -> Result<(), Error> {
        let path = ["pools", pool.as_str(), "members", id.as_str()];
        self.0.done(Self::delete("loadbalancer_member_delete", &path)).await
    }
}
