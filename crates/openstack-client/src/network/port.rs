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
    /// Whose it is.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub project_id: Option<ProjectId>,
    /// What it belongs to: a server, a router, `lb-<id>`; empty if to nothing.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub device_id: String,
    /// What kind of thing it belongs to.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub device_owner: String,
    /// Whether it is up.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub status: String,
    /// Its hardware address.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub mac_address: String,
    /// Its addresses.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub fixed_ips: Vec<FixedIp>,
    /// Addresses that it may use besides its own; none where the answer does not have them, which is not the same as an
    /// empty list.
    #[serde(default)]
    pub allowed_address_pairs: Option<Vec<AllowedAddressPair>>,
    /// Its security groups; none where the answer does not have them, which is not the same as an empty list.
    #[serde(default)]
    pub security_groups: Option<Vec<SecurityGroupId>>,
    /// Whether security groups have a say; none where the cloud does not tell.
    #[serde(default)]
    pub port_security_enabled: Option<bool>,
    /// Its tags.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub tags: Vec<String>,
    /// Counts its changes.
    #[serde(default)]
    pub revision_number: Option<u64>,
    /// The ports that it carries, where it is the parent of a trunk.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub trunk_details: TrunkDetails,
}

/// The addresses of a port, and whose they are. Neutron is asked for nothing else: of thousands of ports, the rest would be most of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct PortAddresses {
    /// Its id.
    pub id: PortId,
    /// Its network.
    pub network_id: NetworkId,
    /// What it belongs to: a server, a router, `lb-<id>`; empty if to nothing.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub device_id: String,
    /// Whether it is up.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub status: String,
    /// Its addresses.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub fixed_ips: Vec<FixedIp>,
    /// The ports that it carries, where it is the parent of a trunk.
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

/// What a port that is the parent of a trunk tells of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[non_exhaustive]
pub struct TrunkDetails {
    /// The ports that the trunk carries.
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

/// An address of a port.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct FixedIp {
    /// The address.
    pub ip_address: IpAddr,
    /// Its subnet.
    pub subnet_id: SubnetId,
}

/// An address, or a range, that a port may use besides its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub struct AllowedAddressPair {
    /// The address or the range.
    pub ip_address: String,
    /// The hardware address; the port's own unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac_address: Option<String>,
}

/// Which ports are listed.
#[derive(Debug, Clone, Default)]
pub struct PortQuery {
    /// Of this server, router or load balancer.
    pub device_id: Option<String>,
    /// Of one of these. All are in the address of the request, whose length clouds limit: give a few dozen at once.
    pub device_ids: Vec<String>,
    /// Of this kind of thing.
    pub device_owner: Option<String>,
    /// In this network.
    pub network_id: Option<NetworkId>,
    /// With this address.
    pub ip_address: Option<IpAddr>,
    /// With one of these addresses, if there are any. Each makes the request's line longer, and servers take no more than
    /// 8 kB of it: a hundred addresses always fit.
    pub any_address: Vec<IpAddr>,
    /// With an address in this subnet.
    pub subnet_id: Option<SubnetId>,
    /// With this security group.
    pub security_group: Option<SecurityGroupId>,
    /// With exactly this name.
    pub name: Option<String>,
    /// Of this project. An administrator sees those of all projects without it.
    pub project_id: Option<ProjectId>,
    /// By their tags.
    pub tags: TagFilter,
}

impl PortQuery {
    /// The ports of a server, a router or a load balancer.
    #[must_use]
    pub fn of_device(id: impl Into<String>) -> Self {
        Self { device_id: Some(id.into()), ..Self::default() }
    }

    /// Of several values of `fixed_ips`, Neutron wants one of the addresses and one of the subnets; of another attribute any.
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

/// A port to be.
#[derive(Debug, Clone, Serialize)]
pub struct PortCreate {
    /// Its network.
    pub network_id: NetworkId,
    /// Its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Its addresses; Neutron chooses if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fixed_ips: Vec<NewFixedIp>,
    /// Its security groups; the default one unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_groups: Option<Vec<SecurityGroupId>>,
}

/// An address to be: in a subnet, or a given one, or both.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct NewFixedIp {
    /// In this subnet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subnet_id: Option<SubnetId>,
    /// This address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_address: Option<IpAddr>,
}

/// A change to a port.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PortUpdate {
    /// Exactly these security groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_groups: Option<Vec<SecurityGroupId>>,
    /// Exactly these allowed addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_address_pairs: Option<Vec<AllowedAddressPair>>,
    /// Another name.
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

    /// The ports that fit.
    pub fn ports(&self, query: &PortQuery) -> Pages<Port> {
        self.0.pages(query.apply(Self::get("port_list", &["ports"])))
    }

    /// The addresses of the ports that fit.
    pub fn port_addresses(&self, query: &PortQuery) -> Pages<PortAddresses> {
        let call = query.apply(Self::get("port_list", &["ports"]));
        self.0.pages(PortAddresses::FIELDS.into_iter().fold(call, |call, field| call.with("fields", field)))
    }

    /// Makes a port.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn create_port(&self, port: &PortCreate) -> Result<Port, Error> {
        self.0
            .fetch(Call::post(Service::Network, "port_create", &["ports"], &Envelope { port })?, "port")
            .await
    }

    /// Changes a port; with a revision only if nobody else has changed it since.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Conflict` when the revision is stale.
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
