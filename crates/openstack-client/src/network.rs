//! Neutron: networks, subnets, ports, floating IPs, routers, security groups, trunks, tags, quotas.

mod floating_ip;
mod port;
mod quota;
mod router;
mod security_group;
mod tags;
mod topology;

pub use self::{
    floating_ip::{FloatingIp, FloatingIpCreate, FloatingIpQuery, FloatingIpUpdate},
    port::{
        AllowedAddressPair, FixedIp, NewFixedIp, Port, PortAddresses, PortCreate, PortQuery, PortUpdate,
        TrunkDetails,
    },
    quota::Quota,
    router::{GatewayInfo, Route, Router, RouterQuery},
    security_group::{
        Direction, EtherType, NewSecurityGroupRule, SecurityGroup, SecurityGroupCreate, SecurityGroupQuery,
        SecurityGroupRule, SecurityGroupRuleQuery,
    },
    tags::{TagFilter, Tagged},
    topology::{Extension, NetworkQuery, SubPort, Subnet, SubnetQuery, Trunk, TrunkQuery, VirtualNetwork},
};

use http::{HeaderValue, header};

use crate::{Client, Error, Service, call::Call};

/// Neutron's API.
#[derive(Debug, Clone)]
pub struct Network(pub(crate) Client);

impl Network {
    fn get(request: &'static str, path: &[&str]) -> Call {
        Call::get(Service::Network, request, path)
    }

    fn delete(request: &'static str, path: &[&str]) -> Call {
        Call::delete(Service::Network, request, path)
    }

    /// The extensions that the cloud supports.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn extensions(&self) -> Result<Vec<Extension>, Error> {
        self.0.fetch(Self::get("network_extension_list", &["extensions"]), "extensions").await
    }
}

/// Makes an update conditional on a revision: if the object was changed since, Neutron answers 412.
fn if_revision(call: Call, revision: Option<u64>) -> Result<Call, Error> {
    let Some(revision) = revision else { return Ok(call) };
    let value = HeaderValue::try_from(format!("revision_number={revision}"));
    Ok(call.header(header::IF_MATCH, value.map_err(|error| Error::invalid(error.to_string()))?))
}
