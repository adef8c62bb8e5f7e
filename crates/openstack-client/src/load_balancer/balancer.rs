//! Load balancers.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::{
    ListenerCreate, LoadBalancerHealth, LoadBalancing, MadeLoadBalancer, OperatingStatus, PoolCreate,
    ProvisioningStatus,
};
use crate::{
    Error, ListenerId, LoadBalancerFlavorId, LoadBalancerId, NetworkId, Pages, PoolId, PortId, ProjectId,
    SecurityGroupId, SubnetId,
    call::{Below, Call},
    decode,
    network::TagFilter,
    paging::Listed,
};

/// A load balancer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct LoadBalancer {
    /// Its id.
    pub id: LoadBalancerId,
    /// Its name, which need not be the only one of its kind.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub name: String,
    /// What it is for.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub description: String,
    /// What Octavia is doing to it.
    pub provisioning_status: ProvisioningStatus,
    /// How it fares.
    #[serde(default)]
    pub operating_status: OperatingStatus,
    /// Whether it is switched on.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub admin_state_up: bool,
    /// Whose it is.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub project_id: Option<ProjectId>,
    /// Its address.
    #[serde(default, deserialize_with = "decode::address")]
    pub vip_address: Option<IpAddr>,
    /// The port of its address.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub vip_port_id: Option<PortId>,
    /// The subnet of its address.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub vip_subnet_id: Option<SubnetId>,
    /// The network of its address.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub vip_network_id: Option<NetworkId>,
    /// Further addresses.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub additional_vips: Vec<AdditionalVip>,
    /// The security groups of its address.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub vip_sg_ids: Vec<SecurityGroupId>,
    /// Its listeners.
    #[serde(default, deserialize_with = "decode::id_list")]
    pub listeners: Vec<ListenerId>,
    /// Its pools.
    #[serde(default, deserialize_with = "decode::id_list")]
    pub pools: Vec<PoolId>,
    /// The driver that makes it.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub provider: String,
    /// Its flavor.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub flavor_id: Option<LoadBalancerFlavorId>,
    /// Its zone.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub availability_zone: Option<String>,
    /// Its tags.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub tags: Vec<String>,
    /// When it was made, as Octavia writes it.
    #[serde(default)]
    pub created_at: Option<String>,
    /// When it was last changed.
    #[serde(default)]
    pub updated_at: Option<String>,
}

impl Listed for LoadBalancer {
    const COLLECTION: &'static str = "loadbalancers";
    fn marker(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// A further address of a load balancer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct AdditionalVip {
    /// Its subnet.
    pub subnet_id: SubnetId,
    /// The address; Octavia chooses unless given.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "decode::address")]
    pub ip_address: Option<IpAddr>,
    /// Its port, in answers.
    #[serde(default, skip_serializing, deserialize_with = "decode::non_empty")]
    pub port_id: Option<PortId>,
}

/// Which load balancers are listed.
#[derive(Debug, Clone, Default)]
pub struct LoadBalancerQuery {
    /// With exactly this name.
    pub name: Option<String>,
    /// With this address.
    pub vip_address: Option<IpAddr>,
    /// With this port.
    pub vip_port_id: Option<PortId>,
    /// Of this project. An administrator sees those of all projects without it.
    pub project_id: Option<ProjectId>,
    /// By their tags.
    pub tags: TagFilter,
}

impl LoadBalancerQuery {
    /// The load balancers with this name.
    #[must_use]
    pub fn by_name(name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..Self::default() }
    }

    fn apply(&self, call: Call) -> Call {
        let call = call
            .with_some("name", self.name.as_ref())
            .with_some("vip_address", self.vip_address)
            .with_some("vip_port_id", self.vip_port_id.as_ref())
            .with_some("project_id", self.project_id.as_ref());
        self.tags.apply(call)
    }
}

/// A load balancer to be, with all that hangs on it where that is given.
#[derive(Debug, Clone, Default, Serialize)]
pub struct LoadBalancerCreate {
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The driver that makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The subnet of its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vip_subnet_id: Option<SubnetId>,
    /// The network of its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vip_network_id: Option<NetworkId>,
    /// The port of its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vip_port_id: Option<PortId>,
    /// Its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vip_address: Option<IpAddr>,
    /// Further addresses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub additional_vips: Vec<AdditionalVip>,
    /// Its flavor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flavor_id: Option<LoadBalancerFlavorId>,
    /// Its zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub availability_zone: Option<String>,
    /// Its tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Its listeners, with their pools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub listeners: Vec<ListenerCreate>,
    /// Pools that no listener has yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PoolCreate>,
}

/// A change to a load balancer.
#[derive(Debug, Clone, Default, Serialize)]
pub struct LoadBalancerUpdate {
    /// Another name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Exactly these tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
}

impl LoadBalancing {
    /// A load balancer.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn load_balancer(&self, id: &LoadBalancerId) -> Result<LoadBalancer, Error> {
        self.0.fetch(Self::get("loadbalancer_get", &["loadbalancers", id.as_str()]), "loadbalancer").await
    }

    /// The load balancers that fit.
    pub fn load_balancers(&self, query: &LoadBalancerQuery) -> Pages<LoadBalancer> {
        self.0.pages(query.apply(Self::get("loadbalancer_list", &["loadbalancers"])))
    }

    /// A load balancer and all that hangs on it, with how each part fares.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn status_tree(&self, id: &LoadBalancerId) -> Result<LoadBalancerHealth, Error> {
        let call = Self::get("loadbalancer_status_get", &["loadbalancers", id.as_str(), "status"])
            .answered_by_list();
        let statuses: super::status::Statuses = self.0.fetch(call, "statuses").await?;
        Ok(statuses.loadbalancer)
    }

    /// Makes a load balancer.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn create_load_balancer(&self, balancer: &LoadBalancerCreate) -> Result<LoadBalancer, Error> {
        Ok(self.create_whole_load_balancer(balancer).await?.balancer)
    }

    /// Makes a load balancer, and is told of all that was made with it.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn create_whole_load_balancer(
        &self,
        balancer: &LoadBalancerCreate,
    ) -> Result<MadeLoadBalancer, Error> {
        let body = Below("loadbalancer", balancer);
        // The answer has everything that was made with it.
        let call = Self::post("loadbalancer_create", &["loadbalancers"], &body)?.answered_by_list();
        self.0.fetch(call, "loadbalancer").await
    }

    /// Changes a load balancer.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Busy` while Octavia is at work on it.
    pub async fn update_load_balancer(
        &self,
        id: &LoadBalancerId,
        balancer: &LoadBalancerUpdate,
    ) -> Result<LoadBalancer, Error> {
        let body = Below("loadbalancer", balancer);
        self.0
            .fetch(Self::put("loadbalancer_update", &["loadbalancers", id.as_str()], &body)?, "loadbalancer")
            .await
    }

    /// Deletes a load balancer; with `cascade` also all that hangs on it.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Busy` while Octavia is at work on it.
    pub async fn delete_load_balancer(&self, id: &LoadBalancerId, cascade: bool) -> Result<(), Error> {
        let call = Self::delete("loadbalancer_delete", &["loadbalancers", id.as_str()]);
        self.0.done(call.with_some("cascade", cascade.then_some("true"))).await
    }
}
