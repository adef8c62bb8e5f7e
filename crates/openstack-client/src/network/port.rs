//! Ports.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::{Network, SubPort, TagFilter, if_revision};
use crate::{
    Error, NetworkId, Pages, PortId, ProjectId, SecurityGroupId, Service, SubnetId, call::Call, decode,
    paging::Listed,
};

/// A port.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Port {
    /// Its id.
    pub id: PortId,
    /// Its name.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub name: String,
    /// Its network.
    pub network_id: NetworkId,
    /// The project that owns it.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub project_id: Option<ProjectId>,
    /// The id of its owner: a server, a router, or `lb-<id>` of a load balancer; empty if it has no owner.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub device_id: String,
    /// The type of its owner, such as `compute:nova`.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub device_owner: String,
    /// Its status, such as `ACTIVE`.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub status: String,
    /// Its MAC address.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub mac_address: String,
    /// Its fixed IPs.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub fixed_ips: Vec<FixedIp>,
    /// Additional addresses that it may use. `None` if the answer omits the field, which differs from an empty list.
    #[serde(default)]
    pub allowed_address_pairs: Option<Vec<AllowedAddressPair>>,
    /// Its security groups. `None` if the answer omits the field, which differs from an empty list.
    #[serde(default)]
    pub security_groups: Option<Vec<SecurityGroupId>>,
    /// Whether security groups apply to it; `None` if the cloud does not return this.
    #[serde(default)]
    pub port_security_enabled: Option<bool>,
    /// Its tags.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub tags: Vec<String>,
    /// The revision number, which Neutron increments with each change; `None` if the cloud does not return it.
    #[serde(default)]
    pub revision_number: Option<u64>,
    /// The subports of its trunk, if it is the parent of one.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub trunk_details: TrunkDetails,
}

/// The addresses of a port and its owner. Only these fields are requested, because a complete answer for thousands of ports would be
/// several times larger.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct PortAddresses {
    /// Its id.
    pub id: PortId,
    /// Its network.
    pub network_id: NetworkId,
    /// The id of its owner: a server, a router, or `lb-<id>` of a load balancer; empty if it has no owner.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub device_id: String,
    /// Its status, such as `ACTIVE`.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub status: String,
    /// Its fixed IPs.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub fixed_ips: Vec<FixedIp>,
    /// The subports of its trunk, if it is the parent of one.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub trunk_details: TrunkDetails,
}

impl PortAddresses {
    const FIELDS: [&str; 6] = ["id", "network_id", "device_id", "status", "fixed_ips", "trunk_details"];
}

impl From<Port> for PortAddresses {
    fn from(port: Port) -> Self {
        let Port { id, network_id, device_id, status, fixed_ips, trunk_details, .. } = port;
        Self { id, network_id, device_id, status, fixed_ips, trunk_details }
    }
}

/// The trunk of a parent port.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[non_exhaustive]
pub struct TrunkDetails {
    /// The subports of the trunk.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub sub_ports: Vec<SubPort>,
}

impl Listed for Port {
    const COLLECTION: &'static str = "ports";
    fn marker(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

impl Listed for PortAddresses {
    const COLLECTION: &'static str = Port::COLLECTION;
    fn marker(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// A fixed IP of a port.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct FixedIp {
    /// The address.
    pub ip_address: IpAddr,
    /// Its subnet.
    pub subnet_id: SubnetId,
}

/// An additional address or CIDR that a port may use.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub struct AllowedAddressPair {
    /// The address or CIDR.
    pub ip_address: String,
    /// The MAC address; `None` for that of the port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac_address: Option<String>,
}

/// Filters for a list of ports.
#[derive(Debug, Clone, Default)]
pub struct PortQuery {
    /// Owned by this server, router or load balancer.
    pub device_id: Option<String>,
    /// Owned by any of these. All are in the request URL, whose length is limited: pass a few dozen at a time.
    pub device_ids: Vec<String>,
    /// Owned by this type of owner.
    pub device_owner: Option<String>,
    /// In this network.
    pub network_id: Option<NetworkId>,
    /// With this address.
    pub ip_address: Option<IpAddr>,
    /// With any of these addresses; no filter if empty. Servers limit the request line to 8 kB: a hundred addresses always fit.
    pub any_address: Vec<IpAddr>,
    /// With an address in this subnet.
    pub subnet_id: Option<SubnetId>,
    /// With this security group.
    pub security_group: Option<SecurityGroupId>,
    /// With exactly this name.
    pub name: Option<String>,
    /// Of this project. Without it, an administrator sees the objects of all projects.
    pub project_id: Option<ProjectId>,
    /// With matching tags.
    pub tags: TagFilter,
}

impl PortQuery {
    /// The ports of a server, a router or a load balancer.
    #[must_use]
    pub fn of_device(id: impl Into<String>) -> Self {
        Self { device_id: Some(id.into()), ..Self::default() }
    }

    /// Adds the filters to `call`. Several values of `fixed_ips` match a port with any of the addresses and any of the subnets; several
    /// values of another parameter are combined with OR.
    fn apply(&self, call: Call) -> Call {
        let devices = self.device_id.iter().chain(&self.device_ids);
        let call = devices.fold(call, |call, id| call.with("device_id", id));
        let mut call = call
            .with_some("device_owner", self.device_owner.as_ref())
            .with_some("network_id", self.network_id.as_ref());
        for address in self.ip_address.iter().chain(&self.any_address) {
            call = call.with("fixed_ips", format!("ip_address={address}"));
        }
        let call = call
            .with_some("fixed_ips", self.subnet_id.as_ref().map(|id| format!("subnet_id={id}")))
            .with_some("security_groups", self.security_group.as_ref())
            .with_some("name", self.name.as_ref())
            .with_some("project_id", self.project_id.as_ref());
        self.tags.apply(call)
    }
}

/// A new port.
#[derive(Debug, Clone, Serialize)]
pub struct PortCreate {
    /// Its network.
    pub network_id: NetworkId,
    /// Its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its description.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Its fixed IPs; if empty, Neutron selects them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fixed_ips: Vec<NewFixedIp>,
    /// Its security groups; if it is `None`, the default group of the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_groups: Option<Vec<SecurityGroupId>>,
}

/// A new fixed IP: any address in a subnet, a specific address, or both.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct NewFixedIp {
    /// The subnet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subnet_id: Option<SubnetId>,
    /// The address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_address: Option<IpAddr>,
}

/// An update of a port; fields that are `None` stay unchanged.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PortUpdate {
    /// The complete new list of security groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_groups: Option<Vec<SecurityGroupId>>,
    /// The complete new list of additional addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_address_pairs: Option<Vec<AllowedAddressPair>>,
    /// The new name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

#[derive(Serialize)]
struct Envelope<'a, T> {
    port: &'a T,
}

impl Network {
    /// A port.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn port(&self, id: &PortId) -> Result<Port, Error> {
        self.0.fetch(Self::get("port_get", &["ports", id.as_str()]), "port").await
    }

    /// The ports that match the query.
    pub fn ports(&self, query: &PortQuery) -> Pages<Port> {
        self.0.pages(query.apply(Self::get("port_list", &["ports"])))
    }

    /// The addresses of the ports that match the query.
    pub fn port_addresses(&self, query: &PortQuery) -> Pages<PortAddresses> {
        let call = query.apply(Self::get("port_list", &["ports"]));
        self.0.pages(PortAddresses::FIELDS.into_iter().fold(call, |call, field| call.with("fields", field)))
    }

    /// Creates a port.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn create_port(&self, port: &PortCreate) -> Result<Port, Error> {
        self.0
            .fetch(Call::post(Service::Network, "port_create", &["ports"], &Envelope { port })?, "port")
            .await
    }

    /// Updates a port; with a revision only if no other client has changed it since.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Conflict` if the revision is outdated.
    pub async fn update_port(
        &self,
        id: &PortId,
        port: &PortUpdate,
        revision: Option<u64>,
    ) -> Result<Port, Error> {
        let call = Call::put(Service::Network, "port_update", &["ports", id.as_str()], &Envelope { port })?;
        self.0.fetch(if_revision(call, revision)?, "port").await
    }

    /// Deletes a port.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn delete_port(&self, id: &PortId) -> Result<(), Error> {
        self.0.done(Self::delete("port_delete", &["ports", id.as_str()])).await
    }
}
