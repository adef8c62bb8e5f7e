//! Pools.

use serde::{Deserialize, Serialize};

use super::{BatchMember, HealthMonitorCreate, LoadBalancing, OperatingStatus, Protocol, ProvisioningStatus};
use crate::{
    Change, Error, HealthMonitorId, ListenerId, LoadBalancerId, MemberId, Pages, PoolId, ProjectId,
    call::{Below, Call},
    decode,
    network::TagFilter,
    paging::Listed,
    vocabulary::words,
};

words! {
    /// The algorithm that distributes connections over the members.
    Algorithm {
        /// Members in turn.
        RoundRobin = "ROUND_ROBIN",
        /// The member with the fewest connections.
        LeastConnections = "LEAST_CONNECTIONS",
        /// By a hash of the client's address.
        SourceIp = "SOURCE_IP",
        /// By a hash of the client's address and port; the only algorithm of the OVN provider.
        SourceIpPort = "SOURCE_IP_PORT",
    }
}

words! {
    /// The type of session persistence.
    SessionPersistenceType {
        /// By the client's address.
        SourceIp = "SOURCE_IP",
        /// By a cookie that the load balancer sets.
        HttpCookie = "HTTP_COOKIE",
        /// By a cookie that the application sets.
        AppCookie = "APP_COOKIE",
    }
}

/// Session persistence: requests of one client go to the same member.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct SessionPersistence {
    /// The type.
    #[serde(rename = "type")]
    pub kind: SessionPersistenceType,
    /// The name of the application's cookie.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cookie_name: Option<String>,
    /// The timeout of a session, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistence_timeout: Option<i64>,
}

impl SessionPersistence {
    /// Persistence by the client's address.
    #[must_use]
    pub fn source_ip() -> Self {
        Self { kind: SessionPersistenceType::SourceIp, cookie_name: None, persistence_timeout: None }
    }
}

/// A pool.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Pool {
    /// Its id.
    pub id: PoolId,
    /// Its name.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub name: String,
    /// Its description.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub description: String,
    /// The protocol to its members.
    pub protocol: Protocol,
    /// The algorithm.
    #[serde(default)]
    pub lb_algorithm: Algorithm,
    /// The session persistence; `None` if it is disabled.
    #[serde(default)]
    pub session_persistence: Option<SessionPersistence>,
    /// Whether it is enabled; `None` if Octavia does not return it.
    #[serde(default)]
    pub admin_state_up: Option<bool>,
    /// Its load balancers; Octavia always returns one.
    #[serde(default, deserialize_with = "decode::id_list")]
    pub loadbalancers: Vec<LoadBalancerId>,
    /// The listeners that use it.
    #[serde(default, deserialize_with = "decode::id_list")]
    pub listeners: Vec<ListenerId>,
    /// Its members.
    #[serde(default, deserialize_with = "decode::id_list")]
    pub members: Vec<MemberId>,
    /// Its health monitor; `None` if it has none.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub healthmonitor_id: Option<HealthMonitorId>,
    /// Its provisioning status.
    #[serde(default)]
    pub provisioning_status: ProvisioningStatus,
    /// Its operating status.
    #[serde(default)]
    pub operating_status: OperatingStatus,
    /// Its tags.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub tags: Vec<String>,
}

impl Listed for Pool {
    const COLLECTION: &'static str = "pools";
    fn marker(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// Filters for a list of pools.
#[derive(Debug, Clone, Default)]
pub struct PoolQuery {
    /// Of this load balancer.
    pub loadbalancer_id: Option<LoadBalancerId>,
    /// With exactly this name.
    pub name: Option<String>,
    /// Of this project. Without it, an administrator sees the objects of all projects.
    pub project_id: Option<ProjectId>,
    /// With matching tags.
    pub tags: TagFilter,
}

impl PoolQuery {
    /// The pools of a load balancer.
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

/// A new pool.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PoolCreate {
    /// Its load balancer; `None` if the pool is part of a new load balancer or `listener_id` is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loadbalancer_id: Option<LoadBalancerId>,
    /// The listener whose default pool it becomes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listener_id: Option<ListenerId>,
    /// Its name.
    pub name: String,
    /// Its description.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The protocol to its members.
    pub protocol: Protocol,
    /// The algorithm.
    pub lb_algorithm: Algorithm,
    /// The session persistence; `None` disables it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_persistence: Option<SessionPersistence>,
    /// Its members; only if the pool is part of a new load balancer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<BatchMember>,
    /// Its health monitor; only if the pool is part of a new load balancer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub healthmonitor: Option<HealthMonitorCreate>,
    /// Its tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// An update of a pool. Omitted fields stay unchanged.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PoolUpdate {
    /// The new name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The algorithm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lb_algorithm: Option<Algorithm>,
    /// The session persistence.
    #[serde(skip_serializing_if = "Change::is_keep")]
    pub session_persistence: Change<SessionPersistence>,
    /// Whether it is enabled. With the OVN provider, an update without this field sets the pool to ERROR.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admin_state_up: Option<bool>,
    /// The complete new list of tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
}

impl LoadBalancing {
    /// A pool.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn pool(&self, id: &PoolId) -> Result<Pool, Error> {
        self.0.fetch(Self::get("loadbalancer_pool_get", &["pools", id.as_str()]), "pool").await
    }

    /// The pools that match the query.
    pub fn pools(&self, query: &PoolQuery) -> Pages<Pool> {
        self.0.pages(query.apply(Self::get("loadbalancer_pool_list", &["pools"])))
    }

    /// Creates a pool.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Busy` while Octavia is changing its load balancer.
    pub async fn create_pool(&self, pool: &PoolCreate) -> Result<Pool, Error> {
        let body = Below("pool", pool);
        self.0.fetch(Self::post("loadbalancer_pool_create", &["pools"], &body)?, "pool").await
    }

    /// Updates a pool.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Busy` while Octavia is changing its load balancer.
    pub async fn update_pool(&self, id: &PoolId, pool: &PoolUpdate) -> Result<Pool, Error> {
        let body = Below("pool", pool);
        self.0.fetch(Self::put("loadbalancer_pool_update", &["pools", id.as_str()], &body)?, "pool").await
    }

    /// Deletes a pool.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Busy` while Octavia is changing its load balancer.
    pub async fn delete_pool(&self, id: &PoolId) -> Result<(), Error> {
        self.0.done(Self::delete("loadbalancer_pool_delete", &["pools", id.as_str()])).await
    }
}
