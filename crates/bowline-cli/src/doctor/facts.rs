//! What the checks judge. Values only.

use std::sync::Arc;

use bowline_cloud::{NodeView, ServiceView};
use bowline_controllers::shadow::preview::Machine;
use bowline_openstack::config::LoadBalancer;
use jiff::Timestamp;
use openstack_client::Service;

use crate::session::managers::Manager;
use crate::status::leader::Leader;

/// All that was gathered. What is none was not looked at, and nothing is concluded from it.
#[derive(Debug, Clone)]
pub struct Facts {
    /// When.
    pub now: Timestamp,
    /// `--cluster-name`.
    pub cluster_name: String,
    /// The UID of the cluster.
    pub cluster_uid: Option<String>,
    /// The Nodes.
    pub nodes: Vec<Arc<NodeView>>,
    /// The Services.
    pub services: Vec<Arc<ServiceView>>,
    /// The managers, if the pods could be listed.
    pub managers: Option<Vec<Manager>>,
    /// Who leads.
    pub leader: Leader,
    /// The parts of the leader of which it says that somebody should look, each with the reason as far as it tells.
    pub degraded: Option<Vec<String>>,
    /// What the manager may not do, and should.
    pub missing_rights: Option<Vec<MissingRight>>,
    /// The configuration of the cloud.
    pub config: ConfigFacts,
    /// The cloud.
    pub cloud: Option<CloudFacts>,
    /// The servers of the Nodes.
    pub machines: Option<Vec<(Arc<NodeView>, Machine)>>,
    /// How far other clocks are from ours.
    pub clocks: Vec<ClockFact>,
    /// What could not be looked at, with the reason.
    pub not_looked_at: Vec<String>,
}

/// A right that the manager lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingRight {
    /// Whose.
    pub account: String,
    /// What, as `patch nodes/status`.
    pub what: String,
    /// What for.
    pub why: String,
}

/// The configuration of the cloud.
#[derive(Debug, Clone, Default)]
pub struct ConfigFacts {
    /// Why it cannot be used.
    pub problem: Option<String>,
    /// What is doubtful in it.
    pub warnings: Vec<String>,
    /// What it says of load balancers.
    pub balancing: LoadBalancer,
}

/// What the cloud says.
#[derive(Debug, Clone, Default)]
pub struct CloudFacts {
    /// Why it does not let us in.
    pub login: Option<String>,
    /// The services that it lacks for us, each with why that matters.
    pub missing: Vec<String>,
    /// The services whose endpoint has no TLS although Keystone has it.
    pub insecure: Vec<InsecureEndpoint>,
    /// The version of Octavia's API.
    pub octavia: Option<(u32, u32)>,
    /// The load balancers of the project.
    pub balancers: Vec<BalancerFact>,
}

/// An endpoint without TLS in a cloud whose Keystone has TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InsecureEndpoint {
    /// Of this service.
    pub service: Service,
    /// Whether cloud.conf allows to send tokens there.
    pub allowed: bool,
}

/// A load balancer of the project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BalancerFact {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// What the cloud is doing to it.
    pub status: String,
}

/// How far a clock is from ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClockFact {
    /// Whose.
    pub of: &'static str,
    /// So many seconds it is ahead of ours.
    pub ahead_seconds: i64,
}
