//! What the framework asks of a provider, and what it tells when that is done. Data.

use std::sync::Arc;
use std::time::Duration;

use crate::{NodeSet, ServiceDirectory, ServiceView, Text, Urgency};

/// What is wanted for one Service.
#[derive(Debug, Clone)]
pub struct LoadBalancerRequest {
    /// `--cluster-name`: part of names in the cloud.
    pub cluster: Arc<str>,
    /// The Service.
    pub service: Arc<ServiceView>,
    /// The nodes that shall get its traffic; may be empty.
    pub nodes: NodeSet,
    /// Whether the load balancer shall be there.
    pub purpose: Purpose,
    /// What [`ObservedLoadBalancer::fingerprint`](crate::ObservedLoadBalancer::fingerprint) said when wishes of this Service were last seen fulfilled, by this process or the one
    /// before. One that is said again means that nothing has changed since; those that are not mean nothing.
    pub fingerprints: Vec<Text>,
    /// Whether somebody waits for it. What only follows the nodes of a cluster may let users' calls go first.
    pub urgency: Urgency,
    /// Whether other Services still exist: what was made for one that does is not taken from it.
    pub services: ServiceDirectory,
}

/// Whether a load balancer shall be there or go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Make it so, with exactly these ports, options and nodes.
    Ensure,
    /// Remove it and every remain of it.
    Remove,
}

/// What kind of work was done for a Service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reconcile {
    /// A load balancer was made, or brought to what the Service says.
    Ensure,
    /// Only its nodes had changed.
    Update,
    /// It was removed.
    Delete,
}

/// Work for a Service that came to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reconciled {
    /// What kind of work.
    pub what: Reconcile,
    /// From the first look to the end, with all steps and waits.
    pub took: Duration,
    /// Whether it failed or was refused. Another try is other work.
    pub failed: bool,
}
