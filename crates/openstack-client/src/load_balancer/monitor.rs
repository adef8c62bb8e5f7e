//! Health monitors.

use serde::{Deserialize, Serialize};

use super::{LoadBalancing, OperatingStatus, ProvisioningStatus};
use crate::{
    Error, HealthMonitorId, Pages, PoolId, ProjectId, call::Below, decode, paging::Listed, vocabulary::words,
};

words! {
    /// The type of a health check.
    MonitorType {
        /// HTTP.
        Http = "HTTP",
        /// HTTP over TLS.
        Https = "HTTPS",
        /// ICMP echo.
        Ping = "PING",
        /// SCTP INIT.
        Sctp = "SCTP",
        /// TCP connection.
        Tcp = "TCP",
        /// TLS handshake.
        TlsHello = "TLS-HELLO",
        /// UDP packet.
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
    /// The type of its checks.
    #[serde(rename = "type")]
    pub kind: MonitorType,
    /// Seconds between health checks.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub delay: i64,
    /// The timeout of a check, in seconds.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub timeout: i64,
    /// The number of successful checks after which a member is healthy.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub max_retries: i64,
    /// The number of failed checks after which a member is unhealthy.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub max_retries_down: i64,
    /// The path of HTTP checks.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub url_path: Option<String>,
    /// The method of HTTP checks.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub http_method: Option<String>,
    /// The HTTP status codes of a successful check, such as `200,202` or `200-204`.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub expected_codes: Option<String>,
    /// Its pools; Octavia always returns one.
    #[serde(default, deserialize_with = "decode::id_list")]
    pub pools: Vec<PoolId>,
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

impl Listed for HealthMonitor {
    const COLLECTION: &'static str = "healthmonitors";
    fn marker(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// Filters for a list of health monitors.
#[derive(Debug, Clone, Default)]
pub struct HealthMonitorQuery {
    /// Of this pool.
    pub pool_id: Option<PoolId>,
    /// With exactly this name.
    pub name: Option<String>,
    /// Of this project. Without it, an administrator sees the objects of all projects.
    pub project_id: Option<ProjectId>,
}

/// A new health monitor.
#[derive(Debug, Clone, Serialize)]
pub struct HealthMonitorCreate {
    /// Its pool; `None` if the health monitor is part of a new load balancer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool_id: Option<PoolId>,
    /// Its name.
    pub name: String,
    /// The type of its checks.
    #[serde(rename = "type")]
    pub kind: MonitorType,
    /// Seconds between health checks.
    pub delay: i64,
    /// The timeout of a check, in seconds.
    pub timeout: i64,
    /// The number of successful checks after which a member is healthy.
    pub max_retries: i64,
    /// The number of failed checks after which a member is unhealthy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries_down: Option<i64>,
    /// The path of HTTP checks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url_path: Option<String>,
    /// The method of HTTP checks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_method: Option<String>,
    /// The HTTP status codes of a successful check, such as `200,202` or `200-204`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_codes: Option<String>,
    /// Its tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// An update of a health monitor; fields that are `None` stay unchanged.
#[derive(Debug, Clone, Default, Serialize)]
pub struct HealthMonitorUpdate {
    /// The new name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Seconds between health checks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<i64>,
    /// The timeout of a check, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<i64>,
    /// The number of successful checks after which a member is healthy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<i64>,
    /// The number of failed checks after which a member is unhealthy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries_down: Option<i64>,
    /// The path of HTTP checks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url_path: Option<String>,
    /// The method of HTTP checks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_method: Option<String>,
    /// The HTTP status codes of a successful check, such as `200,202` or `200-204`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_codes: Option<String>,
    /// The complete new list of tags.
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

    /// The health monitors that match the query.
    pub fn health_monitors(&self, query: &HealthMonitorQuery) -> Pages<HealthMonitor> {
        let call = Self::get("loadbalancer_healthmonitor_list", &["healthmonitors"]);
        let call = call.with_some("pool_id", query.pool_id.as_ref()).with_some("name", query.name.as_ref());
        self.0.pages(call.with_some("project_id", query.project_id.as_ref()))
    }

    /// Creates a health monitor.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Busy` while Octavia is changing the load balancer.
    pub async fn create_health_monitor(&self, monitor: &HealthMonitorCreate) -> Result<HealthMonitor, Error> {
        let body = Below("healthmonitor", monitor);
        self.0
            .fetch(
                Self::post("loadbalancer_healthmonitor_create", &["healthmonitors"], &body)?,
                "healthmonitor",
            )
            .await
    }

    /// Updates a health monitor.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Busy` while Octavia is changing the load balancer.
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
    /// [`Error`]; of class `Busy` while Octavia is changing the load balancer.
    pub async fn delete_health_monitor(&self, id: &HealthMonitorId) -> Result<(), Error> {
        self.0.done(Self::delete("loadbalancer_healthmonitor_delete", &["healthmonitors", id.as_str()])).await
    }
}
