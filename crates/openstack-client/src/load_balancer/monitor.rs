//! Health monitors.

use serde::{Deserialize, Serialize};

use super::{LoadBalancing, OperatingStatus, ProvisioningStatus};
use crate::{
    Error, HealthMonitorId, Pages, PoolId, ProjectId, call::Below, decode, paging::Listed, vocabulary::words,
};

words! {
    /// How members are asked.
    MonitorType {
        /// By HTTP.
        Http = "HTTP",
        /// By HTTP with TLS.
        Https = "HTTPS",
        /// By an echo.
        Ping = "PING",
        /// By SCTP.
        Sctp = "SCTP",
        /// By TCP.
        Tcp = "TCP",
        /// By a TLS hello.
        TlsHello = "TLS-HELLO",
        /// By UDP.
        UdpConnect = "UDP-CONNECT",
    }
}

/// A health monitor.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct HealthMonitor {
    /// Its id.
    pub id: HealthMonitorId,
    /// Its name.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub name: String,
    /// How members are asked.
    #[serde(rename = "type")]
    pub kind: MonitorType,
    /// The pause between two questions, in seconds.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub delay: i64,
    /// How long an answer may take, in seconds.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub timeout: i64,
    /// Good answers after which a member is well.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub max_retries: i64,
    /// Bad answers after which a member is not.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub max_retries_down: i64,
    /// What is asked for.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub url_path: Option<String>,
    /// How it is asked for.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub http_method: Option<String>,
    /// Which answers are good.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub expected_codes: Option<String>,
    /// Its pools; there is one.
    #[serde(default, deserialize_with = "decode::id_list")]
    pub pools: Vec<PoolId>,
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

impl Listed for HealthMonitor {
    const COLLECTION: &'static str = "healthmonitors";
    fn marker(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// Which health monitors are listed.
#[derive(Debug, Clone, Default)]
pub struct HealthMonitorQuery {
    /// Of this pool.
    pub pool_id: Option<PoolId>,
    /// With exactly this name.
    pub name: Option<String>,
    /// Of this project. An administrator sees those of all projects without it.
    pub project_id: Option<ProjectId>,
}

/// A health monitor to be.
#[derive(Debug, Clone, Serialize)]
pub struct HealthMonitorCreate {
    /// Its pool; none inside of a new load balancer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool_id: Option<PoolId>,
    /// Its name.
    pub name: String,
    /// How members are asked.
    #[serde(rename = "type")]
    pub kind: MonitorType,
    /// The pause between two questions, in seconds.
    pub delay: i64,
    /// How long an answer may take, in seconds.
    pub timeout: i64,
    /// Good answers after which a member is well.
    pub max_retries: i64,
    /// Bad answers after which a member is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries_down: Option<i64>,
    /// What is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url_path: Option<String>,
    /// How it is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_method: Option<String>,
    /// Which answers are good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_codes: Option<String>,
    /// Its tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// A change to a health monitor.
#[derive(Debug, Clone, Default, Serialize)]
pub struct HealthMonitorUpdate {
    /// Another name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The pause between two questions, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<i64>,
    /// How long an answer may take, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<i64>,
    /// Good answers after which a member is well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<i64>,
    /// Bad answers after which a member is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries_down: Option<i64>,
    /// What is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url_path: Option<String>,
    /// How it is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_method: Option<String>,
    /// Which answers are good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_codes: Option<String>,
    /// Exactly these tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
}

impl LoadBalancing {
    /// A health monitor.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn health_monitor(&self, id: &HealthMonitorId) -> Result<HealthMonitor, Error> {
        let call = Self::get("loadbalancer_healthmonitor_get", &["healthmonitors", id.as_str()]);
        self.0.fetch(call, "healthmonitor").await
    }

    /// The health monitors that fit.
    pub fn health_monitors(&self, query: &HealthMonitorQuery) -> Pages<HealthMonitor> {
        let call = Self::get("loadbalancer_healthmonitor_list", &["healthmonitors"]);
        let call = call.with_some("pool_id", query.pool_id.as_ref()).with_some("name", query.name.as_ref());
        self.0.pages(call.with_some("project_id", query.project_id.as_ref()))
    }

    /// Makes a health monitor.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Busy` while Octavia is at work on the load balancer.
    pub async fn create_health_monitor(&self, monitor: &HealthMonitorCreate) -> Result<HealthMonitor, Error> {
        let body = Below("healthmonitor", monitor);
        self.0
            .fetch(
                Self::post("loadbalancer_healthmonitor_create", &["healthmonitors"], &body)?,
                "healthmonitor",
            )
            .await
    }

    /// Changes a health monitor.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Busy` while Octavia is at work on the load balancer.
    pub async fn update_health_monitor(
        &self,
        id: &HealthMonitorId,
        monitor: &HealthMonitorUpdate,
    ) -> Result<HealthMonitor, Error> {
        let body = Below("healthmonitor", monitor);
        let call = Self::put("loadbalancer_healthmonitor_update", &["healthmonitors", id.as_str()], &body)?;
        self.0.fetch(call, "healthmonitor").await
    }

    /// Deletes a health monitor.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Busy` while Octavia is at work on the load balancer.
    pub async fn delete_health_monitor(&self, id: &HealthMonitorId) -> Result<(), Error> {
        self.0.done(Self::delete("loadbalancer_healthmonitor_delete", &["healthmonitors", id.as_str()])).await
    }
}
