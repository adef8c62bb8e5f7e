//! Octavia: load balancers, listeners, pools, members, health monitors, and what the cloud offers.

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

/// Octavia.
#[derive(Debug, Clone)]
pub struct LoadBalancing(pub(crate) Client);

words! {
    /// What Octavia is doing to an object. Only an active load balancer can be changed.
    ProvisioningStatus {
        /// Nothing: it is as asked.
        Active = "ACTIVE",
        /// Making it.
        PendingCreate = "PENDING_CREATE",
        /// Changing it.
        PendingUpdate = "PENDING_UPDATE",
        /// Deleting it.
        PendingDelete = "PENDING_DELETE",
        /// It failed.
        Error = "ERROR",
        /// It is gone; only administrators see it.
        Deleted = "DELETED",
    }
}

impl ProvisioningStatus {
    /// Whether Octavia is at work on the object.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        matches!(self, Self::PendingCreate | Self::PendingUpdate | Self::PendingDelete)
    }
}

words! {
    /// How an object fares.
    OperatingStatus {
        /// Well.
        Online = "ONLINE",
        /// Switched off, or not yet known.
        Offline = "OFFLINE",
        /// Part of it does not work.
        Degraded = "DEGRADED",
        /// It does not work.
        Error = "ERROR",
        /// Its connections are running out.
        Draining = "DRAINING",
        /// Nobody looks.
        NoMonitor = "NO_MONITOR",
    }
}

words! {
    /// What listeners and pools speak.
    Protocol {
        /// HTTP.
        Http = "HTTP",
        /// TLS that is passed on.
        Https = "HTTPS",
        /// TLS that ends at the load balancer.
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
        /// Metrics of the load balancer itself.
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

/// All resources live below `lbaas`.
fn below<'a>(path: &[&'a str]) -> Vec<&'a str> {
    let mut whole = vec!["lbaas"];
    whole.extend_from_slice(path);
    whole
}
