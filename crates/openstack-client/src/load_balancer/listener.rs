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
    /// Its description.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub description: String,
    /// Its protocol.
    pub protocol: Protocol,
    /// Its port.
    pub protocol_port: u16,
    /// Its load balancers; Octavia always returns one.
    #[serde(default, deserialize_with = "decode::id_list")]
    pub loadbalancers: Vec<LoadBalancerId>,
    /// Its default pool; `None` if it has none.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub default_pool_id: Option<PoolId>,
    /// Its provisioning status.
    #[serde(default)]
    pub provisioning_status: ProvisioningStatus,
    /// Its operating status.
    #[serde(default)]
    pub operating_status: OperatingStatus,
    /// The maximum number of connections; -1 means unlimited.
    #[serde(default)]
    pub connection_limit: Option<i64>,
    /// The CIDRs of clients that may connect; empty means all.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub allowed_cidrs: Vec<String>,
    /// The HTTP headers that the listener inserts.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub insert_headers: BTreeMap<String, String>,
    /// The reference of its TLS certificate in Barbican.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub default_tls_container_ref: Option<String>,
    /// The references of further TLS certificates, selected by SNI.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub sni_container_refs: Vec<String>,
    /// The inactivity timeout of clients, in milliseconds.
    #[serde(default)]
    pub timeout_client_data: Option<i64>,
    /// The timeout for connections to members, in milliseconds.
    #[serde(default)]
    pub timeout_member_connect: Option<i64>,
    /// The inactivity timeout of members, in milliseconds.
    #[serde(default)]
    pub timeout_member_data: Option<i64>,
    /// How long the listener waits for TCP packets for content inspection, in milliseconds.
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

/// Filters for a list of listeners.
#[derive(Debug, Clone, Default)]
pub struct ListenerQuery {
    /// Of this load balancer.
    pub loadbalancer_id: Option<LoadBalancerId>,
    /// With exactly this name.
    pub name: Option<String>,
    /// Of this project. Without it, an administrator sees the objects of all projects.
    pub project_id: Option<ProjectId>,
    /// With matching tags.
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

/// A new listener.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ListenerCreate {
    /// Its load balancer; `None` if the listener is part of a new load balancer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loadbalancer_id: Option<LoadBalancerId>,
    /// Its name.
    pub name: String,
    /// Its description.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Its protocol.
    pub protocol: Protocol,
    /// Its port.
    pub protocol_port: u16,
    /// An existing pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_pool_id: Option<PoolId>,
    /// A new pool; only if the listener is part of a new load balancer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_pool: Option<PoolCreate>,
    /// The maximum number of connections; -1 means unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_limit: Option<i64>,
    /// The CIDRs of clients that may connect. In an `Arc`, because a load balancer may have many listeners with the same thousands of
    /// CIDRs.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "shared")]
    pub allowed_cidrs: Option<Arc<BTreeSet<String>>>,
    /// The HTTP headers that the listener inserts.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub insert_headers: BTreeMap<String, String>,
    /// The reference of its TLS certificate in Barbican.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_tls_container_ref: Option<String>,
    /// The references of further TLS certificates, selected by SNI.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sni_container_refs: Vec<String>,
    /// The inactivity timeout of clients, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_client_data: Option<i64>,
    /// The timeout for connections to members, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_member_connect: Option<i64>,
    /// The inactivity timeout of members, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_member_data: Option<i64>,
    /// How long the listener waits for TCP packets for content inspection, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_tcp_inspect: Option<i64>,
    /// Its tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

fn shared<S: Serializer>(texts: &Option<Arc<BTreeSet<String>>>, serializer: S) -> Result<S::Ok, S::Error> {
    texts.as_deref().serialize(serializer)
}

/// An update of a listener. Omitted fields stay unchanged.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ListenerUpdate {
    /// The new name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The new default pool.
    #[serde(skip_serializing_if = "Change::is_keep")]
    pub default_pool_id: Change<PoolId>,
    /// The maximum number of connections; -1 means unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_limit: Option<i64>,
    /// The CIDRs of clients that may connect.
    #[serde(skip_serializing_if = "Change::is_keep")]
    pub allowed_cidrs: Change<Vec<String>>,
    /// The HTTP headers that the listener inserts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insert_headers: Option<BTreeMap<String, String>>,
    /// The reference of its TLS certificate in Barbican.
    #[serde(skip_serializing_if = "Change::is_keep")]
    pub default_tls_container_ref: Change<String>,
    /// The references of further TLS certificates, selected by SNI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sni_container_refs: Option<Vec<String>>,
    /// The inactivity timeout of clients, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_client_data: Option<i64>,
    /// The timeout for connections to members, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_member_connect: Option<i64>,
    /// The inactivity timeout of members, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_member_data: Option<i64>,
    /// How long the listener waits for TCP packets for content inspection, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_tcp_inspect: Option<i64>,
    /// The complete new list of tags.
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

    /// The listeners that match the query.
    pub fn listeners(&self, query: &ListenerQuery) -> Pages<Listener> {
        self.0.pages(query.apply(Self::get("loadbalancer_listener_list", &["listeners"])))
    }

    /// Creates a listener.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Busy` while Octavia is changing its load balancer.
    pub async fn create_listener(&self, listener: &ListenerCreate) -> Result<Listener, Error> {
        let body = Below("listener", listener);
        self.0.fetch(Self::post("loadbalancer_listener_create", &["listeners"], &body)?, "listener").await
    }

    /// Updates a listener.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Busy` while Octavia is changing its load balancer.
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
    /// [`Error`]; of class `Busy` while Octavia is changing its load balancer.
    pub async fn delete_listener(&self, id: &ListenerId) -> Result<(), Error> {
        self.0.done(Self::delete("loadbalancer_listener_delete", &["listeners", id.as_str()])).await
    }
}
