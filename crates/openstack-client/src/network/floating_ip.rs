//! Floating IPs.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::{Network, TagFilter, if_revision};
use crate::{
    Error, FloatingIpId, NetworkId, Pages, PortId, ProjectId, RouterId, Service, SubnetId, call::Call,
    decode, paging::Listed,
};

/// A floating IP.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct FloatingIp {
    /// Its id.
    pub id: FloatingIpId,
    /// Its address.
    pub floating_ip_address: IpAddr,
    /// The external network that it is from.
    pub floating_network_id: NetworkId,
    /// The port that it leads to, if to any.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub port_id: Option<PortId>,
    /// The address of the port that it leads to.
    #[serde(default, deserialize_with = "decode::address")]
    pub fixed_ip_address: Option<IpAddr>,
    /// The router that it goes through.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub router_id: Option<RouterId>,
    /// Whose it is.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub project_id: Option<ProjectId>,
    /// `ACTIVE` or `DOWN`; the answer to a change still says the old one.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub status: String,
    /// What it is for.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub description: String,
    /// Its tags.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub tags: Vec<String>,
    /// Counts its changes.
    #[serde(default)]
    pub revision_number: Option<u64>,
}

impl Listed for FloatingIp {
    const COLLECTION: &'static str = "floatingips";
    fn marker(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// Which floating IPs are listed.
#[derive(Debug, Clone, Default)]
pub struct FloatingIpQuery {
    /// That lead to this port.
    pub port_id: Option<PortId>,
    /// That lead to any of these ports; as many as fit into an address, some dozens.
    pub port_ids: Vec<PortId>,
    /// With this address.
    pub address: Option<IpAddr>,
    /// From this external network.
    pub network_id: Option<NetworkId>,
    /// With exactly this description.
    pub description: Option<String>,
    /// Of this project. An administrator sees those of all projects without it.
    pub project_id: Option<ProjectId>,
    /// By their tags.
    pub tags: TagFilter,
}

impl FloatingIpQuery {
    /// The floating IP that leads to a port.
    #[must_use]
    pub fn of_port(id: PortId) -> Self {
        Self { port_id: Some(id), ..Self::default() }
    }

    /// The floating IP with this address.
    #[must_use]
    pub fn by_address(address: IpAddr) -> Self {
        Self { address: Some(address), ..Self::default() }
    }

    /// Neutron takes several values of one name for "any of these".
    fn apply(&self, call: Call) -> Call {
        let ports = self.port_id.iter().chain(&self.port_ids);
        let call = ports
            .fold(call, |call, port| call.with("port_id", port))
            .with_some("floating_ip_address", self.address)
            .with_some("floating_network_id", self.network_id.as_ref())
            .with_some("description", self.description.as_ref())
            .with_some("project_id", self.project_id.as_ref());
        self.tags.apply(call)
    }
}

/// A floating IP to be.
#[derive(Debug, Clone, Serialize)]
pub struct FloatingIpCreate {
    /// The external network that it is from.
    pub floating_network_id: NetworkId,
    /// The subnet of that network; any unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subnet_id: Option<SubnetId>,
    /// This address; clouds allow that only to some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floating_ip_address: Option<IpAddr>,
    /// The port that it leads to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port_id: Option<PortId>,
    /// What it is for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// A change to a floating IP.
#[derive(Debug, Clone, Default, Serialize)]
pub struct FloatingIpUpdate {
    /// The port that it leads to from now on, if to any. It is always sent: Neutron takes an update that says nothing for
    /// a detachment.
    pub port_id: Option<PortId>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

#[derive(Serialize)]
struct Envelope<'a, T> {
    floatingip: &'a T,
}

impl Network {
    /// A floating IP.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn floating_ip(&self, id: &FloatingIpId) -> Result<FloatingIp, Error> {
        self.0.fetch(Self::get("floating_ip_get", &["floatingips", id.as_str()]), "floatingip").await
    }

    /// The floating IPs that fit.
    pub fn floating_ips(&self, query: &FloatingIpQuery) -> Pages<FloatingIp> {
        self.0.pages(query.apply(Self::get("floating_ip_list", &["floatingips"])))
    }

    /// Makes a floating IP.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn create_floating_ip(&self, floatingip: &FloatingIpCreate) -> Result<FloatingIp, Error> {
        let body = Envelope { floatingip };
        let call = Call::post(Service::Network, "floating_ip_create", &["floatingips"], &body)?;
        self.0.fetch(call, "floatingip").await
    }

    /// Changes a floating IP; with a revision only if nobody else has changed it since.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Conflict` when the revision is stale or the port has another floating IP.
    pub async fn update_floating_ip(
        &self,
        id: &FloatingIpId,
        floatingip: &FloatingIpUpdate,
        revision: Option<u64>,
    ) -> Result<FloatingIp, Error> {
        let path = ["floatingips", id.as_str()];
        let call = Call::put(Service::Network, "floating_ip_update", &path, &Envelope { floatingip })?;
        self.0.fetch(if_revision(call, revision)?, "floatingip").await
    }

    /// Deletes a floating IP.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn delete_floating_ip(&self, id: &FloatingIpId) -> Result<(), Error> {
        self.0.done(Self::delete("floating_ip_delete", &["floatingips", id.as_str()])).await
    }
}
