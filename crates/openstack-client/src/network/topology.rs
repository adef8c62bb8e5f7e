//! Networks, subnets and trunks, which this client only reads, and the extensions of the cloud.

use std::net::IpAddr;

use serde::Deserialize;

use super::{Network, TagFilter};
use crate::{
    Error, NetworkId, Pages, PortId, ProjectId, SubnetId, TrunkId, call::Call, decode, paging::Listed,
};

/// A network.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct VirtualNetwork {
    /// Its id.
    pub id: NetworkId,
    /// Its name, which is not unique.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub name: String,
    /// The project that owns it.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub project_id: Option<ProjectId>,
    /// Whether floating IPs can be allocated from it.
    #[serde(rename = "router:external", default, deserialize_with = "decode::or_default")]
    pub external: bool,
    /// Whether it is the default external network.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub is_default: bool,
    /// Its subnets.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub subnets: Vec<SubnetId>,
    /// Its tags.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub tags: Vec<String>,
}

impl Listed for VirtualNetwork {
    const COLLECTION: &'static str = "networks";
    fn marker(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// Filters for a list of networks.
#[derive(Debug, Clone, Default)]
pub struct NetworkQuery {
    /// With exactly this name.
    pub name: Option<String>,
    /// Only external networks (`true`) or only internal ones (`false`).
    pub external: Option<bool>,
    /// With matching tags.
    pub tags: TagFilter,
}

/// A subnet.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Subnet {
    /// Its id.
    pub id: SubnetId,
    /// Its name.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub name: String,
    /// Its network.
    pub network_id: NetworkId,
    /// Its CIDR.
    pub cidr: String,
    /// The IP version: 4 or 6.
    pub ip_version: u8,
    /// Its gateway; `None` if it has none.
    #[serde(default, deserialize_with = "decode::address")]
    pub gateway_ip: Option<IpAddr>,
    /// Its tags.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub tags: Vec<String>,
}

impl Listed for Subnet {
    const COLLECTION: &'static str = "subnets";
    fn marker(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// Filters for a list of subnets.
#[derive(Debug, Clone, Default)]
pub struct SubnetQuery {
    /// Of this network.
    pub network_id: Option<NetworkId>,
    /// With exactly this name.
    pub name: Option<String>,
    /// With matching tags.
    pub tags: TagFilter,
}

/// A trunk: a parent port with subports.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Trunk {
    /// Its id.
    pub id: TrunkId,
    /// The parent port.
    pub port_id: PortId,
    /// Its subports.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub sub_ports: Vec<SubPort>,
}

impl Listed for Trunk {
    const COLLECTION: &'static str = "trunks";
    fn marker(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// A subport of a trunk.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct SubPort {
    /// The port.
    pub port_id: PortId,
    /// The segmentation id, such as the VLAN id, that distinguishes it from other subports.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub segmentation_id: u32,
}

/// Filters for a list of trunks.
#[derive(Debug, Clone, Default)]
pub struct TrunkQuery {
    /// With this parent port.
    pub port_id: Option<PortId>,
}

/// An extension of Neutron.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Extension {
    /// The alias that identifies it, such as `extraroute-atomic`.
    pub alias: String,
    /// Its descriptive name.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub name: String,
}

impl Network {
    /// A network.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn network(&self, id: &NetworkId) -> Result<VirtualNetwork, Error> {
        self.0.fetch(Self::get("network_get", &["networks", id.as_str()]), "network").await
    }

    /// The networks that match the query.
    pub fn networks(&self, query: &NetworkQuery) -> Pages<VirtualNetwork> {
        let call = Self::get("network_list", &["networks"])
            .with_some("name", query.name.as_ref())
            .with_some("router:external", query.external.map(capital));
        self.0.pages(query.tags.apply(call))
    }

    /// A subnet.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn subnet(&self, id: &SubnetId) -> Result<Subnet, Error> {
        self.0.fetch(Self::get("subnet_get", &["subnets", id.as_str()]), "subnet").await
    }

    /// The subnets that match the query.
    pub fn subnets(&self, query: &SubnetQuery) -> Pages<Subnet> {
        let call: Call = Self::get("subnet_list", &["subnets"])
            .with_some("network_id", query.network_id.as_ref())
            .with_some("name", query.name.as_ref());
        self.0.pages(query.tags.apply(call))
    }

    /// The trunks that match the query.
    pub fn trunks(&self, query: &TrunkQuery) -> Pages<Trunk> {
        self.0.pages(Self::get("trunk_list", &["trunks"]).with_some("port_id", query.port_id.as_ref()))
    }

    /// A trunk.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn trunk(&self, id: &TrunkId) -> Result<Trunk, Error> {
        self.0.fetch(Self::get("trunk_get", &["trunks", id.as_str()]), "trunk").await
    }
}

/// A boolean as Python writes it, which every release accepts.
fn capital(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}
