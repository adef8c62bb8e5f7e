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
    /// Its external network.
    pub floating_network_id: NetworkId,
    /// The port that it is associated with; `None` if it is not associated.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub port_id: Option<PortId>,
    /// The address of that port that it is mapped to.
    #[serde(default, deserialize_with = "decode::address")]
    pub fixed_ip_address: Option<IpAddr>,
    /// The router that translates its traffic.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub router_id: Option<RouterId>,
    /// The project that owns it.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub project_id: Option<ProjectId>,
    /// `ACTIVE` or `DOWN`; the answer to an update still contains the old status.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub status: String,
    /// Its description.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub description: String,
    /// Its tags.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub tags: Vec<String>,
    /// The revision number, which Neutron increments with each change; `None` if the cloud does not return it.
    #[serde(default)]
    pub revision_number: Option<u64>,
}

impl Listed for FloatingIp {
    const COLLECTION: &'static str = "floatingips";
    fn marker(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// Filters for a list of floating IPs.
#[derive(Debug, Clone, Default)]
pub struct FloatingIpQuery {
    /// Associated with this port.
    pub port_id: Option<PortId>,
    /// Associated with any of these ports. All are in the request URL, whose length is limited: a few dozen fit.
    pub port_ids: Vec<PortId>,
    /// With this address.
    pub address: Option<IpAddr>,
    /// Of this external network.
    pub network_id: Option<NetworkId>,
    /// With exactly this description.
    pub description: Option<String>,
    /// Of this project. Without it, an administrator sees the objects of all projects.
    pub project_id: Option<ProjectId>,
    /// With matching tags.
    pub tags: TagFilter,
}

impl FloatingIpQuery {
    /// The floating IP of a port.
    #[must_use]
    pub fn of_port(id: PortId) -> Self {
        Self { port_id: Some(id), ..Self::default() }
    }

    /// The floating IP with this address.
    #[must_use]
    pub fn by_address(address: IpAddr) -> Self {
        Self { address: Some(address), ..Self::default() }
    }

    /// Adds the filters to `call`. Neutron combines several values of one parameter with OR.
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

/// A new floating IP.
#[derive(Debug, Clone, Serialize)]
pub struct FloatingIpCreate {
    /// Its external network.
    pub floating_network_id: NetworkId,
    /// The subnet of that network; if it is `None`, Neutron selects one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subnet_id: Option<SubnetId>,
    /// The address; if it is `None`, Neutron selects one. Many clouds allow this only to privileged users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floating_ip_address: Option<IpAddr>,
    /// The port to associate it with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port_id: Option<PortId>,
    /// Its description.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// An update of a floating IP.
#[derive(Debug, Clone, Default, Serialize)]
pub struct FloatingIpUpdate {
    /// The port to associate it with; `None` removes the association. Always sent, because Neutron treats an update without it as a
    /// removal.
    pub port_id: Option<PortId>,
    /// Its description.
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

    /// The floating IPs that match the query.
    pub fn floating_ips(&self, query: &FloatingIpQuery) -> Pages<FloatingIp> {
        self.0.pages(query.apply(Self::get("floating_ip_list", &["floatingips"])))
    }

    /// Creates a floating IP.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn create_floating_ip(&self, floatingip: &FloatingIpCreate) -> Result<FloatingIp, Error> {
        let body = Envelope { floatingip };
        let call = Call::post(Service::Network, "floating_ip_create", &["floatingips"], &body)?;
        self.0.fetch(call, "floatingip").await
    }

    /// Updates a floating IP; with a revision only if no other client has changed it since.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Conflict` if the revision is outdated or the port has another floating IP.
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
