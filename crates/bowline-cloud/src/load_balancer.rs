//! Load balancers: observe, plan, execute.
//!
//! The interface has two halves. [`LoadBalancers`] does I/O: it observes many at once, performs one step, and asks for what is pending.
//! [`ObservedLoadBalancer`] is pure: a value that says what was observed for one request, plans, and tells what the framework writes and shows.
//! What the framework has to know before anything is observed is in [`LoadBalancerPolicy`].
//!
//! A provider keeps its own types for what it observes and for its steps. The framework sees them through [`AnyLoadBalancers`] and
//! [`AnyObserved`], where a step is known by its [`StepFacts`](crate::StepFacts) and its text.

pub mod ensure;
mod erased;
mod request;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

pub use self::erased::{AnyLoadBalancers, AnyObserved, AnyStep};
pub use self::request::{LoadBalancerRequest, Purpose, Reconcile, Reconciled};
use crate::broken::Broken;
use crate::picture::BalancerPicture;
use crate::plan::{Plan, Step};
use crate::shortfall::Shortfall;
use crate::{CloudError, Doubt, Fence, LoadBalancerStatus, Notes, ServiceKey, ServiceView, Text};

/// Load balancers of a cloud: the half that does I/O.
#[async_trait]
pub trait LoadBalancers: Send + Sync + 'static {
    /// What one request came to.
    type Observed: ObservedLoadBalancer;

    /// Observes many load balancers at once; one answer for each request, in order. Each is complete, also where nothing is there, or says
    /// why nobody can know.
    async fn observe(&self, requests: &[LoadBalancerRequest]) -> Vec<Result<Self::Observed, Doubt>>;

    /// Performs one step and makes no choice. Every mutating call asks `fence` first.
    async fn execute(
        &self,
        step: &<Self::Observed as ObservedLoadBalancer>::Step,
        fence: &dyn Fence,
    ) -> Result<(), CloudError>;

    /// Of the Services that wait for the cloud, names those worth another observation, with as few calls as the cloud
    /// allows: one list for all of them where it can. The default observes each.
    async fn poll(&self, waiting: &[LoadBalancerRequest]) -> Result<Vec<ServiceKey>, CloudError> {
        Ok(waiting.iter().map(|request| request.service.key()).collect())
    }

    /// What counts for Services before anything is observed, as the provider is configured now.
    fn policy(&self) -> Arc<dyn LoadBalancerPolicy> {
        Arc::new(PlainPolicy)
    }
}

/// What was observed for one request: a complete picture of the load balancer and all that belongs to it. Everything here is pure: no call, no
/// clock, no randomness.
pub trait ObservedLoadBalancer: Send + Sync + 'static {
    /// One change in the cloud.
    type Step: Step + 'static;

    /// Decides what to do.
    fn plan(&self, now: Timestamp) -> Plan<Self::Step, LoadBalancerStatus>;

    /// Whether anything of the Service is there. What is not is created, or let go of: the framework believes it only of the cloud that it knows.
    fn is_there(&self) -> bool;

    /// The annotations that shall stand on the Service: the framework writes what differs, with the status, and takes a change
    /// of them by somebody else as an edit.
    fn annotations(&self) -> Notes {
        Notes::default()
    }

    /// A word (no blanks) that stands for this wish as it is fulfilled by what was observed; asked when nothing is left to do.
    /// The framework keeps it for the next leader and hands it back in every request: a provider whose word would be the same now
    /// knows that nothing has changed, without a look at all the parts. It must change with everything that could.
    fn fingerprint(&self) -> Option<Text> {
        None
    }

    /// The status that the Service will have when all that is planned is done, as far as it is known now; `None` if it is not.
    /// Nothing is written because of it: by it a plan is known that would change an address (shadow and adopt-only mode).
    fn expected_status(&self) -> Option<LoadBalancerStatus> {
        None
    }

    /// A picture for people; `None` if there is no load balancer, or the provider draws none. Nothing is decided by it.
    fn picture(&self) -> Option<BalancerPicture> {
        None
    }

    /// What the control plane of the cloud calls broken; `None` if it does not. The framework holds a step that deletes it (safety rail
    /// SR-19) until it is proven twice that it serves nobody, and while many are broken at once.
    fn broken(&self) -> Option<Broken> {
        None
    }

    /// What the Service asks for and does not get from this load balancer, the most urgent first. Its condition says so when nothing else
    /// is left to do.
    fn shortfalls(&self) -> Vec<Shortfall> {
        Vec::new()
    }
}

/// What counts for Services before anything is observed. Asked often; reads nothing but its arguments and the configuration.
pub trait LoadBalancerPolicy: Send + Sync {
    /// How often [`LoadBalancers::poll`] is worth calling while something is pending.
    fn poll_period(&self) -> Duration {
        Duration::from_secs(2)
    }

    /// For how long a node whose removal is announced stays behind the load balancer of a Service, without new connections;
    /// `None` if it goes as soon as it is looked at. Until that time is over the node is in [`NodeSet::leaving`](crate::NodeSet::leaving).
    fn drains(&self, _service: &ServiceView) -> Option<Duration> {
        None
    }

    /// The labels of Nodes that decide whether they get the traffic of a Service: when one of these changes, the Service is
    /// looked at.
    fn node_labels(&self, _service: &ServiceView) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// The annotations that are taken off a Service when it is let go of.
    fn annotations_after_removal(&self) -> Notes {
        Notes::default()
    }
}

/// Nothing special counts.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlainPolicy;

impl LoadBalancerPolicy for PlainPolicy {}
