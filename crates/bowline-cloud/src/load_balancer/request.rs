//! The request of the framework to a provider, and the result that the framework reports when a reconcile ends. Data only.

use std::sync::Arc;
use std::time::Duration;

use crate::{NodeSet, ServiceDirectory, ServiceView, Text, Urgency};

/// The desired state of the load balancer of one Service.
#[derive(Debug, Clone)]
pub struct LoadBalancerRequest {
    /// `--cluster-name`, which is part of names in the cloud.
    pub cluster: Arc<str>,
    /// The Service.
    pub service: Arc<ServiceView>,
    /// The nodes that should get the traffic; may be empty.
    pub nodes: NodeSet,
    /// Whether the load balancer should exist.
    pub purpose: Purpose,
    /// The values of [`ObservedLoadBalancer::fingerprint`](crate::ObservedLoadBalancer::fingerprint) from the last times this Service was
    /// settled, by this process or a previous leader. If the provider computes one of them again, nothing has changed since. Values that it
    /// does not compute again mean nothing.
    pub fingerprints: Vec<Text>,
    /// Whether a user waits for the result. Reconciles that only follow changes of nodes are less urgent than work that users wait for.
    pub urgency: Urgency,
    /// Tells whether other Services still exist, so that the provider does not take over cloud objects of a Service that does.
    pub services: ServiceDirectory,
}

/// Whether a load balancer should exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Create it or change it to have exactly these ports, options and nodes.
    Ensure,
    /// Delete it with everything that belongs to it.
    Remove,
}

/// The kind of a reconcile, for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reconcile {
    /// A load balancer was created or changed to match the Service.
    Ensure,
    /// Only the set of nodes had changed.
    Update,
    /// The load balancer was deleted.
    Delete,
}

/// A reconcile of a Service that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reconciled {
    /// The kind of the reconcile.
    pub what: Reconcile,
    /// The time from the first observation to the end, including all steps and waits.
    pub took: Duration,
    /// Whether it failed or was refused. A retry counts as another reconcile.
    pub failed: bool,
}
