//! Puts a plain ensure / update / delete provider behind the plan trait.
//!
//! Many clouds have a client that converges a load balancer in one call. [`Ensured`] turns it into observe, plan,
//! execute: it remembers what the last call was made for and plans the one call that is missing.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use jiff::Timestamp;

use crate::loadbalancer::{LoadBalancerRequest, LoadBalancers, Purpose};
use crate::plan::{Plan, Planned, Step, StepFacts, Verb};
use crate::{CloudError, Evidence, Fence, LoadBalancerStatus, ServiceView};

/// A cloud whose client converges a load balancer in one call. Every call must be idempotent.
#[async_trait]
pub trait EnsureLoadBalancer: Send + Sync + 'static {
    /// As [`LoadBalancers::name`].
    fn name(&self, request: &LoadBalancerRequest) -> String {
        request.service.default_load_balancer_name()
    }
    /// Whether the load balancer is there, and its status.
    async fn get(&self, request: &LoadBalancerRequest) -> Evidence<LoadBalancerStatus>;
    /// Creates or converges it.
    async fn ensure(&self, request: &LoadBalancerRequest) -> Result<EnsureOutcome, CloudError>;
    /// Gives it another set of nodes.
    async fn update(&self, request: &LoadBalancerRequest) -> Result<(), CloudError>;
    /// Removes it with every remain; succeeds when nothing is left.
    async fn delete(&self, request: &LoadBalancerRequest) -> Result<(), CloudError>;
}

/// What a call to [`EnsureLoadBalancer::ensure`] came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnsureOutcome {
    /// It is there, with this status.
    Ready(LoadBalancerStatus),
    /// Another controller does this.
    Elsewhere,
}

/// Puts an [`EnsureLoadBalancer`] behind [`LoadBalancers`].
#[derive(Debug)]
pub struct Ensured<C> {
    cloud: C,
    /// By Service UID; an entry goes when its load balancer was removed.
    done: Mutex<BTreeMap<String, Done>>,
}

/// What the last successful call for a Service was made for, and what it came to.
#[derive(Debug, Clone)]
struct Done {
    service: Arc<ServiceView>,
    node_epoch: u64,
    outcome: EnsureOutcome,
}

/// What [`Ensured`] knows of one load balancer.
#[derive(Debug)]
pub struct EnsuredView {
    status: Option<LoadBalancerStatus>,
    done: Option<Done>,
}

/// The one call that is missing.
#[derive(Debug)]
pub struct EnsureStep {
    call: Call,
    request: LoadBalancerRequest,
    name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Create,
    Converge,
    UpdateNodes,
    Delete,
}

impl<C: EnsureLoadBalancer> Ensured<C> {
    /// Wraps a cloud.
    pub fn new(cloud: C) -> Self {
        Self { cloud, done: Mutex::default() }
    }

    fn remembered(&self, uid: &str) -> Option<Done> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).get(uid).cloned()
    }

    fn remember(&self, request: &LoadBalancerRequest, outcome: Option<EnsureOutcome>) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        let uid = request.service.uid.clone();
        match outcome {
            Some(outcome) => {
                let service = request.service.clone();
                done.insert(uid, Done { service, node_epoch: request.nodes.epoch, outcome });
            }
            None => {
                done.remove(&uid);
            }
        }
    }

    fn step(
        &self,
        call: Call,
        request: &LoadBalancerRequest,
        reason: &str,
    ) -> Plan<EnsureStep, LoadBalancerStatus> {
        let step = EnsureStep { call, request: request.clone(), name: self.cloud.name(request) };
        Plan::Act(vec![Planned::new(step, reason)])
    }
}

#[async_trait]
impl<C: EnsureLoadBalancer> LoadBalancers for Ensured<C> {
    type Observed = EnsuredView;
    type Step = EnsureStep;

    fn name(&self, request: &LoadBalancerRequest) -> String {
        self.cloud.name(request)
    }

    async fn observe(&self, requests: &[LoadBalancerRequest]) -> Vec<Evidence<EnsuredView>> {
        let mut views = Vec::with_capacity(requests.len());
        for request in requests {
            let done = self.remembered(&request.service.uid);
            views.push(match self.cloud.get(request).await {
                Evidence::Present(status) => Evidence::Present(EnsuredView { status: Some(status), done }),
                // What another controller made is not ours to see, but that we handed it over is worth knowing.
                Evidence::Absent(_)
                    if done.as_ref().is_some_and(|d| d.outcome == EnsureOutcome::Elsewhere) =>
                {
                    Evidence::Present(EnsuredView { status: None, done })
                }
                Evidence::Absent(proof) => Evidence::Absent(proof),
                Evidence::Unknown(doubt) => Evidence::Unknown(doubt),
            });
        }
        views
    }

    fn plan(
        &self,
        request: &LoadBalancerRequest,
        observed: Option<&EnsuredView>,
        _now: Timestamp,
    ) -> Plan<EnsureStep, LoadBalancerStatus> {
        match (request.purpose, observed) {
            (Purpose::Remove, None) => Plan::Settled(LoadBalancerStatus::default()),
            (Purpose::Remove, Some(EnsuredView { status: None, .. })) => Plan::Elsewhere,
            (Purpose::Remove, Some(_)) => self.step(Call::Delete, request, "the Service no longer wants it"),
            (Purpose::Ensure, None) => {
                self.step(Call::Create, request, "the Service has no load balancer yet")
            }
            (Purpose::Ensure, Some(view)) => self.plan_existing(request, view),
        }
    }

    async fn execute(&self, step: &EnsureStep, fence: &dyn Fence) -> Result<(), CloudError> {
        fence.check()?;
        let request = &step.request;
        let outcome = match step.call {
            Call::Create | Call::Converge => Some(self.cloud.ensure(request).await?),
            Call::UpdateNodes => {
                self.cloud.update(request).await?;
                self.remembered(&request.service.uid).map(|done| done.outcome)
            }
            Call::Delete => {
                self.cloud.delete(request).await?;
                None
            }
        };
        self.remember(request, outcome);
        Ok(())
    }
}

impl<C: EnsureLoadBalancer> Ensured<C> {
    fn plan_existing(
        &self,
        request: &LoadBalancerRequest,
        view: &EnsuredView,
    ) -> Plan<EnsureStep, LoadBalancerStatus> {
        let Some(done) = &view.done else {
            return self.step(
                Call::Converge,
                request,
                "not yet compared with the Service since this process started",
            );
        };
        if !same_wish(&done.service, &request.service) {
            return self.step(Call::Converge, request, "the Service was changed");
        }
        match (&done.outcome, &view.status) {
            (EnsureOutcome::Elsewhere, _) => Plan::Elsewhere,
            (_, Some(_)) if done.node_epoch != request.nodes.epoch => {
                self.step(Call::UpdateNodes, request, "the set of nodes changed")
            }
            (_, Some(status)) => Plan::Settled(status.clone()),
            (_, None) => self.step(Call::Converge, request, "it vanished from the cloud"),
        }
    }
}

/// Whether two versions of a Service ask for the same: bookkeeping and our own status do not count.
fn same_wish(done: &ServiceView, wanted: &ServiceView) -> bool {
    let wish = |service: &ServiceView| ServiceView {
        resource_version: String::new(),
        status: LoadBalancerStatus::default(),
        finalizers: Vec::new(),
        ..service.clone()
    };
    wish(done) == wish(wanted)
}

impl fmt::Display for EnsureStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.call {
            Call::Create => "create",
            Call::Converge => "converge",
            Call::UpdateNodes => "update the nodes of",
            Call::Delete => "delete",
        };
        write!(f, "{verb} load balancer {}", self.name)
    }
}

impl Step for EnsureStep {
    fn facts(&self) -> StepFacts {
        let verb = match self.call {
            Call::Create => Verb::Create,
            Call::Converge | Call::UpdateNodes => Verb::Update,
            Call::Delete => Verb::Delete,
        };
        StepFacts { verb, kind: "load balancer", target: self.name.clone(), set: None }
    }
}
