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
    /// Its name, which is not unique.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub name: String,
    /// Its description.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub description: String,
    /// Its provisioning status.
    pub provisioning_status: ProvisioningStatus,
    /// Its operating status.
    #[serde(default)]
    pub operating_status: OperatingStatus,
    /// Whether it is enabled.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub admin_state_up: bool,
    /// The project that owns it.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub project_id: Option<ProjectId>,
    /// The VIP address.
    #[serde(default, deserialize_with = "decode::address")]
    pub vip_address: Option<IpAddr>,
    /// The port of the VIP.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub vip_port_id: Option<PortId>,
    /// The subnet of the VIP.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub vip_subnet_id: Option<SubnetId>,
    /// The network of the VIP.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub vip_network_id: Option<NetworkId>,
    /// Additional VIPs.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub additional_vips: Vec<AdditionalVip>,
    /// The security groups of the VIP port.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub vip_sg_ids: Vec<SecurityGroupId>,
    /// Its listeners.
    #[serde(default, deserialize_with = "decode::id_list")]
    pub listeners: Vec<ListenerId>,
    /// Its pools.
    #[serde(default, deserialize_with = "decode::id_list")]
    pub pools: Vec<PoolId>,
    /// The provider (driver) that implements it.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub provider: String,
    /// Its flavor.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub flavor_id: Option<LoadBalancerFlavorId>,
    /// Its availability zone.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub availability_zone: Option<String>,
    /// Its tags.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub tags: Vec<String>,
    /// When it was created, as Octavia writes it.
    #[serde(default)]
    pub created_at: Option<String>,
    /// When it was last changed; `None` if it was not changed since its creation.
    #[serde(default)]
    pub updated_at: Option<String>,
}

impl Listed for LoadBalancer {
    const COLLECTION: &'static str = "loadbalancers";
    fn marker(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// An additional VIP of a load balancer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct AdditionalVip {
    /// Its subnet.
    pub subnet_id: SubnetId,
    /// The address; if it is `None` in a request, Octavia selects one.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "decode::address")]
    pub ip_address: Option<IpAddr>,
    /// Its port; only in answers.
    #[serde(default, skip_serializing, deserialize_with = "decode::non_empty")]
    pub port_id: Option<PortId>,
}

/// Filters for a list of load balancers.
#[derive(Debug, Clone, Default)]
pub struct LoadBalancerQuery {
    /// With exactly this name.
    pub name: Option<String>,
    /// With this VIP address.
    pub vip_address: Option<IpAddr>,
    /// With this VIP port.
    pub vip_port_id: Option<PortId>,
    /// Of this project. Without it, an administrator sees the objects of all projects.
    pub project_id: Option<ProjectId>,
    /// With matching tags.
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

/// A new load balancer, optionally with its listeners, pools and members.
#[derive(Debug, Clone, Default, Serialize)]
pub struct LoadBalancerCreate {
    /// Its name.
    pub name: String,
    /// Its description.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The provider (driver); if it is `None`, the default of the cloud.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The subnet of the VIP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vip_subnet_id: Option<SubnetId>,
    /// The network of the VIP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vip_network_id: Option<NetworkId>,
    /// An existing port for the VIP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vip_port_id: Option<PortId>,
    /// The VIP address; if it is `None`, Octavia selects one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vip_address: Option<IpAddr>,
    /// Additional VIPs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub additional_vips: Vec<AdditionalVip>,
    /// Its flavor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flavor_id: Option<LoadBalancerFlavorId>,
    /// Its availability zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub availability_zone: Option<String>,
    /// Its tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Its listeners, with their pools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub listeners: Vec<ListenerCreate>,
    /// Pools that are not the default pool of a listener.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PoolCreate>,
}

/// An update of a load balancer; fields that are `None` stay unchanged.
#[derive(Debug, Clone, Default, Serialize)]
pub struct LoadBalancerUpdate {
    /// The new name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The complete new list of tags.
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

    /// The load balancers that match the query.
    pub fn load_balancers(&self, query: &LoadBalancerQuery) -> Pages<LoadBalancer> {
        self.0.pages(query.apply(Self::get("loadbalancer_list", &["loadbalancers"])))
    }

    /// The status tree: a load balancer with its listeners, pools, members and health monitors, and the status of each.
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

    /// Creates a load balancer.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn create_load_balancer(&self, balancer: &LoadBalancerCreate) -> Result<LoadBalancer, Error> {
        Ok(self.create_whole_load_balancer(balancer).await?.balancer)
    }

    /// Creates a load balancer, and returns it with the listeners, pools and members that were created with it.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn create_whole_load_balancer(
        &self,
        balancer: &LoadBalancerCreate,
    ) -> Result<MadeLoadBalancer, Error> {
        let body = Below("loadbalancer", balancer);
        // The answer contains everything that was created, so it may be as large as a list.
        let call = Self::post("loadbalancer_create", &["loadbalancers"], &body)?.answered_by_list();
        self.0.fetch(call, "loadbalancer").await
    }

    /// Updates a load balancer.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Busy` while Octavia is changing it.
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

    /// Deletes a load balancer; with `cascade` also its listeners, pools, members and health monitors.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Busy` while Octavia is changing it.
    pub async fn delete_load_balancer(&self, id: &LoadBalancerId, cascade: bool) -> Result<(), Error> {
        let call = Self::delete("loadbalancer_delete", &["loadbalancers", id.as_str()]);
        self.0.done(call.with_some("cascade", cascade.then_some("true"))).await
    }
}
