//! Listeners.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

use super::{LoadBalancing, OperatingStatus, PoolCreate, Protocol, ProvisioningStatus};
use crate::{
    Change, Error, ListenerId, LoadBalancerId, Pages, PoolId, ProjectId,
    call::{Below, Call},
    decode,
    network::TagFilter,
    paging::Listed,
};

/// A listener.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Listener {
    /// Its id.
    pub id: ListenerId,
    /// Its name.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub name: String,
    /// What it is for.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub description: String,
    /// What it speaks.
    pub protocol: Protocol,
    /// Its port.
    pub protocol_port: u16,
    /// Its load balancers; there is one.
    #[serde(default, deserialize_with = "decode::id_list")]
    pub loadbalancers: Vec<LoadBalancerId>,
    /// Its pool.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub default_pool_id: Option<PoolId>,
    /// What Octavia is doing to it.
    #[serde(default)]
    pub provisioning_status: ProvisioningStatus,
    /// How it fares.
    #[serde(default)]
    pub operating_status: OperatingStatus,
    /// The most connections; -1 is without limit.
    #[serde(default)]
    pub connection_limit: Option<i64>,
    /// Who may connect; none is everybody.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub allowed_cidrs: Vec<String>,
    /// Headers that it adds.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub insert_headers: BTreeMap<String, String>,
    /// Its certificate.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub default_tls_container_ref: Option<String>,
    /// Further certificates.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub sni_container_refs: Vec<String>,
    /// How long a client may be silent, in milliseconds.
    #[serde(default)]
    pub timeout_client_data: Option<i64>,
    /// How long a member may take to connect, in milliseconds.
    #[serde(default)]
    pub timeout_member_connect: Option<i64>,
    /// How long a member may be silent, in milliseconds.
    #[serde(default)]
    pub timeout_member_data: Option<i64>,
    /// How long packets are awaited for a look into them, in milliseconds.
    #[serde(default)]
    pub timeout_tcp_inspect: Option<i64>,
    /// Its tags.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub tags: Vec<String>,
}

impl Listed for Listener {
    const COLLECTION: &'static str = "listeners";
    fn marker(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// Which listeners are listed.
#[derive(Debug, Clone, Default)]
pub struct ListenerQuery {
    /// Of this load balancer.
    pub loadbalancer_id: Option<LoadBalancerId>,
    /// With exactly this name.
    pub name: Option<String>,
    /// Of this project. An administrator sees those of all projects without it.
    pub project_id: Option<ProjectId>,
    /// By their tags.
    pub tags: TagFilter,
}

impl ListenerQuery {
    /// The listeners of a load balancer.
    #[must_use]
    pub fn of(id: LoadBalancerId) -> Self {
        Self { loadbalancer_id: Some(id), ..Self::default() }
    }

    fn apply(&self, call: Call) -> Call {
        let call = call
            .with_some("loadbalancer_id", self.loadbalancer_id.as_ref())
            .with_some("name", self.name.as_ref())
            .with_some("project_id", self.project_id.as_ref());
        self.tags.apply(call)
    }
}

/// A listener to be.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ListenerCreate {
    /// Its load balancer; none inside of a new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loadbalancer_id: Option<LoadBalancerId>,
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What it speaks.
    pub protocol: Protocol,
    /// Its port.
    pub protocol_port: u16,
    /// A pool that is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_pool_id: Option<PoolId>,
    /// A new pool; only inside of a new load balancer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_pool: Option<PoolCreate>,
    /// The most connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_limit: Option<i64>,
    /// Who may connect. Shared, because a load balancer may have thousands of them on each of many listeners.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "shared")]
    pub allowed_cidrs: Option<Arc<BTreeSet<String>>>,
    /// Headers that it adds.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub insert_headers: BTreeMap<String, String>,
    /// Its certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_tls_container_ref: Option<String>,
    /// Further certificates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sni_container_refs: Vec<String>,
    /// How long a client may be silent, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_client_data: Option<i64>,
    /// How long a member may take to connect, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_member_connect: Option<i64>,
    /// How long a member may be silent, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_member_data: Option<i64>,
    /// How long packets are awaited for a look into them, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_tcp_inspect: Option<i64>,
    /// Its tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

fn shared<S: Serializer>(texts: &Option<Arc<BTreeSet<String>>>, serializer: S) -> Result<S::Ok, S::Error> {
    texts.as_deref().serialize(serializer)
}

/// A change to a listener.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ListenerUpdate {
    /// Another name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Another pool.
    #[serde(skip_serializing_if = "Change::is_keep")]
    pub default_pool_id: Change<PoolId>,
    /// The most connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_limit: Option<i64>,
    /// Who may connect.
    #[serde(skip_serializing_if = "Change::is_keep")]
    pub allowed_cidrs: Change<Vec<String>>,
    /// Headers that it adds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insert_headers: Option<BTreeMap<String, String>>,
    /// Its certificate.
    #[serde(skip_serializing_if = "Change::is_keep")]
    pub default_tls_container_ref: Change<String>,
    /// Further certificates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sni_container_refs: Option<Vec<String>>,
    /// How long a client may be silent, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_client_data: Option<i64>,
    /// How long a member may take to connect, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_member_connect: Option<i64>,
    /// How long a member may be silent, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_member_data: Option<i64>,
    /// How long packets are awaited for a look into them, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_tcp_inspect: Option<i64>,
    /// Exactly these tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
}

impl LoadBalancing {
    /// A listener.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn listener(&self, id: &ListenerId) -> Result<Listener, Error> {
        self.0.fetch(Self::get("loadbalancer_listener_get", &["listeners", id.as_str()]), "listener").await
    }

    /// The listeners that fit.
    pub fn listeners(&self, query: &ListenerQuery) -> Pages<Listener> {
        self.0.pages(query.apply(Self::get("loadbalancer_listener_list", &["listeners"])))
    }

    /// Makes a listener.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Busy` while Octavia is at work on its load balancer.
    pub async fn create_listener(&self, listener: &ListenerCreate) -> Result<Listener, Error> {
        let body = Below("listener", listener);
        self.0.fetch(Self::post("loadbalancer_listener_create", &["listeners"], &body)?, "listener").await
    }

    /// Changes a listener.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Busy` while Octavia is at work on its load balancer.
    pub async fn update_listener(
        &self,
        id: &ListenerId,
        listener: &ListenerUpdate,
    ) -> Result<Listener, Error> {
        let body = Below("listener", listener);
        let call = Self::put("loadbalancer_listener_update", &["listeners", id.as_str()], &body)?;
        self.0.fetch(call, "listener").await
    }

    /// Deletes a listener.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Busy` while Octavia is at work on its load balancer.
    pub async fn delete_listener(&self, id: &ListenerId) -> Result<(), Error> {
        self.0.done(Self::delete("loadbalancer_listener_delete", &["listeners", id.as_str()])).await
    }
}
