//! Load balancers: observe, plan, execute.
//!
//! A provider keeps its own types for what it observes and for its steps. The framework sees them through
//! [`AnyLoadBalancers`], where a step is known by its [`StepFacts`] and its text.

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::broken::Broken;
use crate::picture::BalancerPicture;
use crate::plan::{Plan, Planned, Step, StepFacts};
use crate::shortfall::Shortfall;
use crate::{
    CloudError, ErrorClass, Evidence, Fence, LoadBalancerStatus, NodeSet, Notes, ServiceDirectory,
    ServiceKey, ServiceView, Text, Urgency,
};

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
    /// What [`LoadBalancers::fingerprint`] said when wishes of this Service were last seen fulfilled, by this process or the one
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

/// Load balancers of a cloud.
#[async_trait]
pub trait LoadBalancers: Send + Sync + 'static {
    /// A complete picture of one load balancer and all that belongs to it.
    type Observed: Send + Sync + 'static;
    /// One change in the cloud.
    type Step: Step + 'static;

    /// The name a load balancer of this Service has in the cloud.
    fn name(&self, request: &LoadBalancerRequest) -> String {
        request.service.default_load_balancer_name()
    }

    /// Looks at many load balancers at once; one answer for each request, in order, each complete or unknown.
    async fn observe(&self, requests: &[LoadBalancerRequest]) -> Vec<Evidence<Self::Observed>>;

    /// Decides what to do. Pure: no call, no clock, no randomness. `observed` is `None` if it is proven absent; what
    /// is unknown is never planned for.
    fn plan(
        &self,
        request: &LoadBalancerRequest,
        observed: Option<&Self::Observed>,
        now: Timestamp,
    ) -> Plan<Self::Step, LoadBalancerStatus>;

    /// What shall stand on the Service as annotations: the framework writes what differs, with the status, and takes a change
    /// of them by somebody else as an edit. Pure. Asked with what was last observed, `None` if the load balancer is proven
    /// absent, and once with [`Purpose::Remove`] and `None` when it is gone and the Service is let go of: what shall not
    /// stay on it has to be named then.
    fn notes(&self, _request: &LoadBalancerRequest, _observed: Option<&Self::Observed>) -> Notes {
        Notes::default()
    }

    /// A word (no blanks) that stands for this wish as it is fulfilled by what was observed; asked when nothing is left to do. Pure.
    /// The framework keeps it for the next leader and hands it back in every request: a provider whose word would be the same now
    /// knows that nothing has changed, without a look at all the parts. It must change with everything that could.
    fn fingerprint(
        &self,
        _request: &LoadBalancerRequest,
        _observed: Option<&Self::Observed>,
    ) -> Option<Text> {
        None
    }

    /// The status that the Service will have when all that is planned is done, as far as it is known now; `None` if it is not.
    /// Pure. Nothing is written because of it: by it a plan is known that would change an address (shadow and adopt-only mode).
    fn outlook(
        &self,
        _request: &LoadBalancerRequest,
        _observed: Option<&Self::Observed>,
    ) -> Option<LoadBalancerStatus> {
        None
    }

    /// What was observed, as a picture for people; `None` if there is no load balancer, or the provider draws none. Pure. Nothing is
    /// decided by it.
    fn picture(
        &self,
        _request: &LoadBalancerRequest,
        _observed: Option<&Self::Observed>,
    ) -> Option<BalancerPicture> {
        None
    }

    /// What was observed of a load balancer that the control plane of the cloud calls broken; `None` if it does not. Pure. The framework
    /// holds a step that deletes it (safety rail SR-19) until it is proven twice that it serves nobody, and while many are broken at once.
    fn broken(&self, _request: &LoadBalancerRequest, _observed: Option<&Self::Observed>) -> Option<Broken> {
        None
    }

    /// What the Service asks for and does not get from the load balancer that was observed, the most urgent first. Pure. Its condition says
    /// so when nothing else is left to do.
    fn shortfalls(
        &self,
        _request: &LoadBalancerRequest,
        _observed: Option<&Self::Observed>,
    ) -> Vec<Shortfall> {
        Vec::new()
    }

    /// Performs one step and makes no choice. Every mutating call asks `fence` first.
    async fn execute(&self, step: &Self::Step, fence: &dyn Fence) -> Result<(), CloudError>;

    /// Of the Services that wait for the cloud, names those worth another look, with as few calls as the cloud
    /// allows: one list for all of them where it can. The default looks at each.
    async fn poll(&self, waiting: &[LoadBalancerRequest]) -> Result<Vec<ServiceKey>, CloudError> {
        Ok(waiting.iter().map(|request| request.service.key()).collect())
    }

    /// How often [`LoadBalancers::poll`] is worth calling while something is pending.
    fn poll_period(&self) -> Duration {
        Duration::from_secs(2)
    }

    /// For how long a node whose removal is announced stays behind the load balancer of a Service, without new connections;
    /// `None` if it goes as soon as it is looked at. Pure. Until that time is over the node is in [`NodeSet::leaving`].
    fn drains(&self, _service: &ServiceView) -> Option<Duration> {
        None
    }

    /// The labels of Nodes that decide whether they get the traffic of a Service: when one of these changes, the Service is
    /// looked at. Asked often; reads nothing but its arguments and the configuration.
    fn node_labels(&self, _service: &ServiceView) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// Work for a Service came to an end: for the metrics of a provider. Nothing waits for this, and it decides nothing.
    fn concluded(&self, _reconciled: Reconciled) {}
}

/// What some provider observed; only that provider can look inside.
pub struct AnyObserved(Box<dyn Any + Send + Sync>);

/// A step of some provider; only that provider can perform it, everybody can read it.
pub struct AnyStep {
    facts: StepFacts,
    text: String,
    step: Box<dyn Any + Send + Sync>,
}

impl AnyStep {
    /// What the step does.
    #[must_use]
    pub const fn facts(&self) -> &StepFacts {
        &self.facts
    }
}

impl fmt::Debug for AnyStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnyStep").field(&self.text).finish()
    }
}

impl fmt::Display for AnyStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for AnyObserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnyObserved")
    }
}

/// [`LoadBalancers`] of any provider: what controllers hold. Every `LoadBalancers` is one.
#[async_trait]
pub trait AnyLoadBalancers: Send + Sync {
    /// As [`LoadBalancers::name`].
    fn name(&self, request: &LoadBalancerRequest) -> String;
    /// As [`LoadBalancers::observe`].
    async fn observe(&self, requests: &[LoadBalancerRequest]) -> Vec<Evidence<AnyObserved>>;
    /// As [`LoadBalancers::plan`].
    fn plan(
        &self,
        request: &LoadBalancerRequest,
        observed: Option<&AnyObserved>,
        now: Timestamp,
    ) -> Plan<AnyStep, LoadBalancerStatus>;
    /// As [`LoadBalancers::notes`].
    fn notes(&self, request: &LoadBalancerRequest, observed: Option<&AnyObserved>) -> Notes;
    /// As [`LoadBalancers::fingerprint`].
    fn fingerprint(&self, request: &LoadBalancerRequest, observed: Option<&AnyObserved>) -> Option<Text>;
    /// As [`LoadBalancers::outlook`].
    fn outlook(
        &self,
        request: &LoadBalancerRequest,
        observed: Option<&AnyObserved>,
    ) -> Option<LoadBalancerStatus>;
    /// As [`LoadBalancers::picture`]. One that stands around another and does not say it has none to show.
    fn picture(
        &self,
        _request: &LoadBalancerRequest,
        _observed: Option<&AnyObserved>,
    ) -> Option<BalancerPicture> {
        None
    }
    /// As [`LoadBalancers::broken`].
    fn broken(&self, request: &LoadBalancerRequest, observed: Option<&AnyObserved>) -> Option<Broken>;
    /// As [`LoadBalancers::shortfalls`].
    fn shortfalls(&self, request: &LoadBalancerRequest, observed: Option<&AnyObserved>) -> Vec<Shortfall>;
    /// As [`LoadBalancers::execute`].
    async fn execute(&self, step: &AnyStep, fence: &dyn Fence) -> Result<(), CloudError>;
    /// As [`LoadBalancers::poll`].
    async fn poll(&self, waiting: &[LoadBalancerRequest]) -> Result<Vec<ServiceKey>, CloudError>;
    /// As [`LoadBalancers::poll_period`].
    fn poll_period(&self) -> Duration;
    /// As [`LoadBalancers::drains`].
    fn drains(&self, service: &ServiceView) -> Option<Duration>;
    /// As [`LoadBalancers::concluded`].
    fn concluded(&self, reconciled: Reconciled);

    /// See [`LoadBalancers::node_labels`].
    fn node_labels(&self, service: &ServiceView) -> BTreeSet<String>;
}

#[async_trait]
impl<T: LoadBalancers> AnyLoadBalancers for T {
    fn name(&self, request: &LoadBalancerRequest) -> String {
        LoadBalancers::name(self, request)
    }

    async fn observe(&self, requests: &[LoadBalancerRequest]) -> Vec<Evidence<AnyObserved>> {
        let observed = LoadBalancers::observe(self, requests).await;
        observed.into_iter().map(|one| one.map(|inside| AnyObserved(Box::new(inside)))).collect()
    }

    fn plan(
        &self,
        request: &LoadBalancerRequest,
        observed: Option<&AnyObserved>,
        now: Timestamp,
    ) -> Plan<AnyStep, LoadBalancerStatus> {
        let observed = match observed.map(|any| any.0.downcast_ref::<T::Observed>()) {
            None => None,
            Some(Some(inside)) => Some(inside),
            Some(None) => return Plan::Refuse(crate::Refusal { problems: vec![WRONG_PROVIDER.into()] }),
        };
        match LoadBalancers::plan(self, request, observed, now) {
            Plan::Settled(status) => Plan::Settled(status),
            Plan::Act(steps) => Plan::Act(steps.into_iter().map(erase).collect()),
            Plan::Wait(wait) => Plan::Wait(wait),
            Plan::Elsewhere => Plan::Elsewhere,
            Plan::Refuse(refusal) => Plan::Refuse(refusal),
        }
    }

    fn notes(&self, request: &LoadBalancerRequest, observed: Option<&AnyObserved>) -> Notes {
        match observed.map(|any| any.0.downcast_ref::<T::Observed>()) {
            None => LoadBalancers::notes(self, request, None),
            Some(Some(inside)) => LoadBalancers::notes(self, request, Some(inside)),
            // Its plan says that this is a bug.
            Some(None) => Notes::default(),
        }
    }

    fn fingerprint(&self, request: &LoadBalancerRequest, observed: Option<&AnyObserved>) -> Option<Text> {
        match observed.map(|any| any.0.downcast_ref::<T::Observed>()) {
            None => LoadBalancers::fingerprint(self, request, None),
            Some(Some(inside)) => LoadBalancers::fingerprint(self, request, Some(inside)),
            Some(None) => None,
        }
    }

    fn outlook(
        &self,
        request: &LoadBalancerRequest,
        observed: Option<&AnyObserved>,
    ) -> Option<LoadBalancerStatus> {
        match observed.map(|any| any.0.downcast_ref::<T::Observed>()) {
            None => LoadBalancers::outlook(self, request, None),
            Some(Some(inside)) => LoadBalancers::outlook(self, request, Some(inside)),
            Some(None) => None,
        }
    }

    fn picture(
        &self,
        request: &LoadBalancerRequest,
        observed: Option<&AnyObserved>,
    ) -> Option<BalancerPicture> {
        match observed.map(|any| any.0.downcast_ref::<T::Observed>()) {
            None => LoadBalancers::picture(self, request, None),
            Some(Some(inside)) => LoadBalancers::picture(self, request, Some(inside)),
            Some(None) => None,
        }
    }

    fn broken(&self, request: &LoadBalancerRequest, observed: Option<&AnyObserved>) -> Option<Broken> {
        let inside = observed.map(|any| any.0.downcast_ref::<T::Observed>());
        LoadBalancers::broken(self, request, inside?)
    }

    fn shortfalls(&self, request: &LoadBalancerRequest, observed: Option<&AnyObserved>) -> Vec<Shortfall> {
        match observed.map(|any| any.0.downcast_ref::<T::Observed>()) {
            None => LoadBalancers::shortfalls(self, request, None),
            Some(Some(inside)) => LoadBalancers::shortfalls(self, request, Some(inside)),
            // Its plan says that this is a bug.
            Some(None) => Vec::new(),
        }
    }

    async fn execute(&self, step: &AnyStep, fence: &dyn Fence) -> Result<(), CloudError> {
        match step.step.downcast_ref::<T::Step>() {
            Some(step) => LoadBalancers::execute(self, step, fence).await,
            None => Err(CloudError::new(ErrorClass::Fatal, WRONG_PROVIDER)),
        }
    }

    async fn poll(&self, waiting: &[LoadBalancerRequest]) -> Result<Vec<ServiceKey>, CloudError> {
        LoadBalancers::poll(self, waiting).await
    }

    fn poll_period(&self) -> Duration {
        LoadBalancers::poll_period(self)
    }

    fn drains(&self, service: &ServiceView) -> Option<Duration> {
        LoadBalancers::drains(self, service)
    }

    fn concluded(&self, reconciled: Reconciled) {
        LoadBalancers::concluded(self, reconciled);
    }

    fn node_labels(&self, service: &ServiceView) -> BTreeSet<String> {
        LoadBalancers::node_labels(self, service)
    }
}

const WRONG_PROVIDER: &str =
    "a plan was handed to a provider that did not make it; this is a bug, please report it";

fn erase<S: Step + 'static>(planned: Planned<S>) -> Planned<AnyStep> {
    let Planned { step, reason, at_once } = planned;
    let erased = AnyStep { facts: step.facts(), text: step.to_string(), step: Box::new(step) };
    Planned { step: erased, reason, at_once }
}
