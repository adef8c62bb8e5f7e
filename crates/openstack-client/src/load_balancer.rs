//! Octavia: load balancers, listeners, pools, members, health monitors, and the providers, flavors and quotas of the cloud.

mod balancer;
mod listener;
mod made;
mod member;
mod monitor;
mod offer;
mod pool;
mod status;

pub use self::{
    balancer::{AdditionalVip, LoadBalancer, LoadBalancerCreate, LoadBalancerQuery, LoadBalancerUpdate},
    listener::{Listener, ListenerCreate, ListenerQuery, ListenerUpdate},
    made::{MadeLoadBalancer, MadeParts, MadePool},
    member::{BatchMember, Member, MemberUpdate},
    monitor::{HealthMonitor, HealthMonitorCreate, HealthMonitorQuery, HealthMonitorUpdate, MonitorType},
    offer::{CountedResource, LoadBalancerFlavor, LoadBalancerQuota, LoadBalancerZone, Provider},
    pool::{Algorithm, Pool, PoolCreate, PoolQuery, PoolUpdate, SessionPersistence, SessionPersistenceType},
    status::{ListenerHealth, LoadBalancerHealth, MemberHealth, MonitorHealth, PoolHealth},
};

use serde::Serialize;

use crate::{Client, Error, Service, call::Call, vocabulary::words};

/// Octavia's API.
#[derive(Debug, Clone)]
pub struct LoadBalancing(pub(crate) Client);

words! {
    /// The provisioning status of an object. Octavia accepts changes only while the load balancer is `ACTIVE`.
    ProvisioningStatus {
        /// Provisioned; no change is in progress.
        Active = "ACTIVE",
        /// Being created.
        PendingCreate = "PENDING_CREATE",
        /// Being updated.
        PendingUpdate = "PENDING_UPDATE",
        /// Being deleted.
        PendingDelete = "PENDING_DELETE",
        /// The last change failed.
        Error = "ERROR",
        /// Deleted; only visible to administrators.
        Deleted = "DELETED",
    }
}

impl ProvisioningStatus {
    /// Whether Octavia is currently changing the object.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        matches!(self, Self::PendingCreate | Self::PendingUpdate | Self::PendingDelete)
    }
}

words! {
    /// The operating status of an object.
    OperatingStatus {
        /// Healthy.
        Online = "ONLINE",
        /// Disabled, or not yet known.
        Offline = "OFFLINE",
        /// Part of the object is unhealthy.
        Degraded = "DEGRADED",
        /// The object is unhealthy.
        Error = "ERROR",
        /// The member accepts no new connections.
        Draining = "DRAINING",
        /// No health monitor checks the object.
        NoMonitor = "NO_MONITOR",
    }
}

words! {
    /// The protocol of a listener or pool.
    Protocol {
        /// HTTP.
        Http = "HTTP",
        /// TLS that is passed through to the members.
        Https = "HTTPS",
        /// TLS that is terminated by the load balancer.
        TerminatedHttps = "TERMINATED_HTTPS",
        /// TCP.
        Tcp = "TCP",
        /// UDP.
        Udp = "UDP",
        /// SCTP.
        Sctp = "SCTP",
        /// The PROXY protocol, version 1.
        Proxy = "PROXY",
        /// The PROXY protocol, version 2.
        ProxyV2 = "PROXYV2",
        /// An endpoint for the metrics of the load balancer itself.
        Prometheus = "PROMETHEUS",
    }
}

impl LoadBalancing {
    fn get(request: &'static str, path: &[&str]) -> Call {
        Call::get(Service::LoadBalancer, request, &below(path))
    }

    fn delete(request: &'static str, path: &[&str]) -> Call {
        Call::delete(Service::LoadBalancer, request, &below(path))
    }

    fn post(request: &'static str, path: &[&str], body: &impl Serialize) -> Result<Call, Error> {
        Call::post(Service::LoadBalancer, request, &below(path), body)
    }

    fn put(request: &'static str, path: &[&str], body: &impl Serialize) -> Result<Call, Error> {
        Call::put(Service::LoadBalancer, request, &below(path), body)
    }
}

/// All resource paths start with `lbaas`.
fn below<'a>(path: &[&'a str]) -> Vec<&'a str> {
    let mut whole = vec!["lbaas"];
    whole.extend_from_slice(path);
    whole
}
