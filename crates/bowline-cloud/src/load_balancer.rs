//! Load balancers: observe, plan, execute.
//!
//! The interface has two halves. [`LoadBalancers`] does I/O: it observes many load balancers at once, performs single steps, and polls
//! those that are changing. [`ObservedLoadBalancer`] is pure: it holds the observation for one request, computes the plan, and supplies
//! what the framework writes and shows. [`LoadBalancerPolicy`] has what the framework needs before anything is observed.
//!
//! A provider keeps its own types for observations and steps. The framework sees them as [`AnyLoadBalancers`], [`AnyObserved`] and
//! [`AnyStep`]; of a step it knows the [`StepFacts`](crate::StepFacts) and the text.

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
    /// The observation for one request.
    type Observed: ObservedLoadBalancer;

    /// Observes many load balancers at once. Returns one result for each request, in order. Each is a complete observation, also if nothing
    /// exists, or the reason why the state is unknown.
    async fn observe(&self, requests: &[LoadBalancerRequest]) -> Vec<Result<Self::Observed, Doubt>>;

    /// Performs one step and makes no decisions. Every call that changes something checks `fence` first.
    async fn execute(
        &self,
        step: &<Self::Observed as ObservedLoadBalancer>::Step,
        fence: &dyn Fence,
    ) -> Result<(), CloudError>;

    /// Returns those of the Services waiting for the cloud that are worth another observation. Uses as few calls as the cloud allows: one
    /// list for all of them if possible. The default returns every Service and makes no call.
    async fn poll(&self, waiting: &[LoadBalancerRequest]) -> Result<Vec<ServiceKey>, CloudError> {
        Ok(waiting.iter().map(|request| request.service.key()).collect())
    }

    /// The policy under the current configuration of the provider.
    fn policy(&self) -> Arc<dyn LoadBalancerPolicy> {
        Arc::new(PlainPolicy)
    }
}

/// The observation for one request: the load balancer and everything that belongs to it. All methods are pure: no calls, no clock, no
/// randomness.
pub trait ObservedLoadBalancer: Send + Sync + 'static {
    /// One change in the cloud.
    type Step: Step + 'static;

    /// Compares the desired with the observed state and returns what to do.
    fn plan(&self, now: Timestamp) -> Plan<Self::Step, LoadBalancerStatus>;

    /// Whether anything exists in the cloud for the Service. If not, the framework may create it or release the Service, so it first checks
    /// that the credentials still belong to the same project ([`Cloud::identity`](crate::Cloud::identity)).
    fn is_there(&self) -> bool;

    /// The desired annotations of the Service. The framework writes those that differ together with the status, and handles a change of
    /// them by another client like an edit of the Service.
    fn annotations(&self) -> Notes {
        Notes::default()
    }

    /// A token without blanks that identifies the desired state that this observation satisfies. The framework reads it when the plan is
    /// [`Plan::Settled`], stores it for the next leader, and passes it back in [`LoadBalancerRequest::fingerprints`]. A provider that
    /// computes the same token again knows that nothing has changed and need not read every part of the load balancer. The token must
    /// change with everything that can change. `None` if the provider does not support this.
    fn fingerprint(&self) -> Option<Text> {
        None
    }

    /// The status that the Service will have once the whole plan is executed, as far as it can be known; `None` if it is unknown. The
    /// framework does not write it; shadow and adopt-only mode use it to detect plans that would change an address.
    fn expected_status(&self) -> Option<LoadBalancerStatus> {
        None
    }

    /// The topology of the load balancer for people; `None` if there is no load balancer or the provider does not support this. It
    /// influences no decision.
    fn picture(&self) -> Option<BalancerPicture> {
        None
    }

    /// `Some` if the control plane of the cloud reports the load balancer as broken. The framework holds back a step that deletes it until
    /// a second observation also shows that it serves no traffic, and while many load balancers are broken at once (safety rail SR-19). It
    /// does not hold back a load balancer whose address was never published.
    fn broken(&self) -> Option<Broken> {
        None
    }

    /// What the Service asks for and does not get from this load balancer, the most urgent first. The framework reports it in the condition
    /// of the Service once the plan is [`Plan::Settled`].
    fn shortfalls(&self) -> Vec<Shortfall> {
        Vec::new()
    }
}

/// Settings for Services that the framework needs before an observation. Called often; the result depends only on the arguments and the
/// configuration.
pub trait LoadBalancerPolicy: Send + Sync {
    /// How often to call [`LoadBalancers::poll`], at most, while load balancers are changing.
    fn poll_period(&self) -> Duration {
        Duration::from_secs(2)
    }

    /// How long a node that is about to be removed stays a member of the load balancer of a Service, without new connections; `None` if the
    /// next reconcile removes it. During that time the node is in [`NodeSet::leaving`](crate::NodeSet::leaving).
    fn drains(&self, _service: &ServiceView) -> Option<Duration> {
        None
    }

    /// The Node labels that decide which Nodes get the traffic of a Service. A change of one of these labels triggers a reconcile of the
    /// Service.
    fn node_labels(&self, _service: &ServiceView) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// The changes of annotations to make when the framework releases a Service after the removal of its load balancer.
    fn annotations_after_removal(&self) -> Notes {
        Notes::default()
    }
}

/// The policy with all defaults.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlainPolicy;

impl LoadBalancerPolicy for PlainPolicy {}
