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
    /// How a member is chosen.
    Algorithm {
        /// One after the other.
        RoundRobin = "ROUND_ROBIN",
        /// The one with the fewest connections.
        LeastConnections = "LEAST_CONNECTIONS",
        /// By the client's address.
        SourceIp = "SOURCE_IP",
        /// By the client's address and port; all that OVN has.
        SourceIpPort = "SOURCE_IP_PORT",
    }
}

words! {
    /// How a client is sent to the same member again.
    SessionPersistenceType {
        /// By its address.
        SourceIp = "SOURCE_IP",
        /// By a cookie of the load balancer.
        HttpCookie = "HTTP_COOKIE",
        /// By a cookie of the application.
        AppCookie = "APP_COOKIE",
    }
}

/// How a client is sent to the same member again.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct SessionPersistence {
    /// By what.
    #[serde(rename = "type")]
    pub kind: SessionPersistenceType,
    /// The cookie of the application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cookie_name: Option<String>,
    /// For how long, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistence_timeout: Option<i64>,
}

impl SessionPersistence {
    /// By the client's address.
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
    /// What it is for.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub description: String,
    /// What its members are spoken to with.
    pub protocol: Protocol,
    /// How a member is chosen.
    #[serde(default)]
    pub lb_algorithm: Algorithm,
    /// How a client is sent to the same member again.
    #[serde(default)]
    pub session_persistence: Option<SessionPersistence>,
    /// Whether somebody has switched it off.
    #[serde(default)]
    pub admin_state_up: Option<bool>,
    /// Its load balancers; there is one.
    #[serde(default, deserialize_with = "decode::id_list")]
    pub loadbalancers: Vec<LoadBalancerId>,
    /// The listeners that have it.
    #[serde(default, deserialize_with = "decode::id_list")]
    pub listeners: Vec<ListenerId>,
    /// Its members.
    #[serde(default, deserialize_with = "decode::id_list")]
    pub members: Vec<MemberId>,
    /// Its health monitor.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub healthmonitor_id: Option<HealthMonitorId>,
    /// What Octavia is doing to it.
    #[serde(default)]
    pub provisioning_status: ProvisioningStatus,
    /// How it fares.
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

/// Which pools are listed.
#[derive(Debug, Clone, Default)]
pub struct PoolQuery {
    /// Of this load balancer.
    pub loadbalancer_id: Option<LoadBalancerId>,
    /// With exactly this name.
    pub name: Option<String>,
    /// Of this project. An administrator sees those of all projects without it.
    pub project_id: Option<ProjectId>,
    /// By their tags.
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

/// A pool to be.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PoolCreate {
    /// Its load balancer; none inside of a new one, or with a listener.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loadbalancer_id: Option<LoadBalancerId>,
    /// The listener that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listener_id: Option<ListenerId>,
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What its members are spoken to with.
    pub protocol: Protocol,
    /// How a member is chosen.
    pub lb_algorithm: Algorithm,
    /// How a client is sent to the same member again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_persistence: Option<SessionPersistence>,
    /// Its members; only inside of a new load balancer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<BatchMember>,
    /// Its health monitor; only inside of a new load balancer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub healthmonitor: Option<HealthMonitorCreate>,
    /// Its tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// A change to a pool.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PoolUpdate {
    /// Another name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How a member is chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lb_algorithm: Option<Algorithm>,
    /// How a client is sent to the same member again.
    #[serde(skip_serializing_if = "Change::is_keep")]
    pub session_persistence: Change<SessionPersistence>,
    /// Whether it is on. The OVN provider gives a pool up (ERROR) whose change does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admin_state_up: Option<bool>,
    /// Exactly these tags.
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

    /// The pools that fit.
    pub fn pools(&self, query: &PoolQuery) -> Pages<Pool> {
        self.0.pages(query.apply(Self::get("loadbalancer_pool_list", &["pools"])))
    }

    /// Makes a pool.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Busy` while Octavia is at work on its load balancer.
    pub async fn create_pool(&self, pool: &PoolCreate) -> Result<Pool, Error> {
        let body = Below("pool", pool);
        self.0.fetch(Self::post("loadbalancer_pool_create", &["pools"], &body)?, "pool").await
    }

    /// Changes a pool.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Busy` while Octavia is at work on its load balancer.
    pub async fn update_pool(&self, id: &PoolId, pool: &PoolUpdate) -> Result<Pool, Error> {
        let body = Below("pool", pool);
        self.0.fetch(Self::put("loadbalancer_pool_update", &["pools", id.as_str()], &body)?, "pool").await
    }

    /// Deletes a pool.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Busy` while Octavia is at work on its load balancer.
    pub async fn delete_pool(&self, id: &PoolId) -> Result<(), Error> {
        self.0.done(Self::delete("loadbalancer_pool_delete", &["pools", id.as_str()])).await
    }
}
