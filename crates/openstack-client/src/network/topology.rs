//! Networks, subnets and trunks, which are only read, and the extensions that a cloud has.

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
    /// Its name, which need not be the only one of its kind.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub name: String,
    /// Whose it is.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub project_id: Option<ProjectId>,
    /// Whether floating IPs can come from it.
    #[serde(rename = "router:external", default, deserialize_with = "decode::or_default")]
    pub external: bool,
    /// Whether it is the external network to use unless told otherwise.
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

/// Which networks are listed.
#[derive(Debug, Clone, Default)]
pub struct NetworkQuery {
    /// With exactly this name.
    pub name: Option<String>,
    /// External ones, or internal ones.
    pub external: Option<bool>,
    /// By their tags.
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
    /// Its range.
    pub cidr: String,
    /// 4 or 6.
    pub ip_version: u8,
    /// Its gateway.
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

/// Which subnets are listed.
#[derive(Debug, Clone, Default)]
pub struct SubnetQuery {
    /// Of this network.
    pub network_id: Option<NetworkId>,
    /// With exactly this name.
    pub name: Option<String>,
    /// By their tags.
    pub tags: TagFilter,
}

/// A trunk: a port that carries further ports.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Trunk {
    /// Its id.
    pub id: TrunkId,
    /// The port of the server.
    pub port_id: PortId,
    /// The ports that it carries.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub sub_ports: Vec<SubPort>,
}

impl Listed for Trunk {
    const COLLECTION: &'static str = "trunks";
    fn marker(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// A port that a trunk carries.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct SubPort {
    /// The port.
    pub port_id: PortId,
    /// How it is told from the others.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub segmentation_id: u32,
}

/// Which trunks are listed.
#[derive(Debug, Clone, Default)]
pub struct TrunkQuery {
    /// On this port.
    pub port_id: Option<PortId>,
}

/// An extension of Neutron.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Extension {
    /// What it is called by programs, such as `extraroute-atomic`.
    pub alias: String,
    /// What it is called by people.
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

    /// The networks that fit.
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

    /// The subnets that fit.
    pub fn subnets(&self, query: &SubnetQuery) -> Pages<Subnet> {
        let call: Call = Self::get("subnet_list", &["subnets"])
            .with_some("network_id", query.network_id.as_ref())
            .with_some("name", query.name.as_ref());
        self.0.pages(query.tags.apply(call))
    }

    /// The trunks that fit.
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

/// Python's way to write it, which every release understands.
fn capital(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}
