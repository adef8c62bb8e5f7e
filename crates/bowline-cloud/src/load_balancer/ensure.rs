//! Adapts a provider with plain ensure, update and delete calls to [`LoadBalancers`].
//!
//! Many clouds have a client that converges a load balancer in one call. [`Ensured`] turns it into observe, plan, execute: it remembers the
//! Service and the nodes of the last call and plans the next call that is needed.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};

use super::{LoadBalancerRequest, LoadBalancers, ObservedLoadBalancer, Purpose};
use crate::plan::{Plan, Planned, Step, StepFacts, Verb};
use crate::{
    CloudError, Doubt, Evidence, Fence, Finalizers, LoadBalancerStatus, NodeSet, Pairs, ServiceView,
    SetChange, Text,
};

/// A cloud whose client converges a load balancer in one call. Every call must be idempotent.
///
/// One call here may make many requests to the cloud, over minutes. Before each request that changes something, the implementation first
/// waits for the call budget, then checks `fence`, then sends the request.
#[async_trait]
pub trait EnsureLoadBalancer: Send + Sync + 'static {
    /// The name of the load balancer in the cloud, for messages.
    fn name(&self, request: &LoadBalancerRequest) -> String {
        request.service.default_load_balancer_name()
    }
    /// Whether the load balancer exists, and its status.
    async fn get(&self, request: &LoadBalancerRequest) -> Evidence<LoadBalancerStatus>;
    /// Creates the load balancer, or changes it to match the request.
    async fn ensure(
        &self,
        request: &LoadBalancerRequest,
        fence: &dyn Fence,
    ) -> Result<EnsureOutcome, CloudError>;
    /// Replaces the set of nodes.
    async fn update(&self, request: &LoadBalancerRequest, fence: &dyn Fence) -> Result<(), CloudError>;
    /// Deletes the load balancer with everything that belongs to it. Succeeds if nothing is left.
    async fn delete(&self, request: &LoadBalancerRequest, fence: &dyn Fence) -> Result<(), CloudError>;
}

/// The result of [`EnsureLoadBalancer::ensure`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnsureOutcome {
    /// The load balancer exists, with this status.
    Ready(LoadBalancerStatus),
    /// Another controller is responsible for this Service.
    Elsewhere,
}

/// Implements [`LoadBalancers`] for an [`EnsureLoadBalancer`].
#[derive(Debug)]
pub struct Ensured<C> {
    cloud: C,
    /// The last call by Service UID. An entry is removed once the cloud no longer has the load balancer.
    calls: Mutex<BTreeMap<Text, LastCall>>,
}

/// The last successful call for a Service, with its arguments and result.
#[derive(Debug, Clone)]
enum LastCall {
    Ensure { service: Arc<ServiceView>, nodes: NodeSet, outcome: EnsureOutcome },
    Delete,
}

/// The observation of [`Ensured`] for one request.
#[derive(Debug)]
pub struct EnsuredView {
    request: LoadBalancerRequest,
    name: String,
    found: Found,
}

#[derive(Debug)]
enum Found {
    /// The load balancer does not exist. For [`Purpose::Remove`], only if a delete call succeeded.
    Nothing,
    Something {
        status: Option<LoadBalancerStatus>,
        last_call: Option<LastCall>,
    },
}

/// The one call of the plan.
#[derive(Debug)]
pub struct EnsureStep {
    call: Call,
    request: LoadBalancerRequest,
    name: String,
    nodes: Option<SetChange>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Create,
    Converge,
    UpdateNodes,
    Delete,
}

impl<C: EnsureLoadBalancer> Ensured<C> {
    /// Wraps the client of a cloud.
    pub fn new(cloud: C) -> Self {
        Self { cloud, calls: Mutex::default() }
    }

    fn calls(&self) -> MutexGuard<'_, BTreeMap<Text, LastCall>> {
        self.calls.lock()
    }

    /// Combines the answer of the cloud with the last call. If the load balancer is wanted, its absence counts immediately. If it is to be
    /// removed, its absence counts only after a delete call: a client that reports "not found" may still have left parts of it.
    fn weigh(
        &self,
        request: &LoadBalancerRequest,
        found: Evidence<LoadBalancerStatus>,
    ) -> Result<EnsuredView, Doubt> {
        let uid = &request.service.uid;
        let last_call = self.calls().get(uid).cloned();
        let deleted = matches!(last_call, Some(LastCall::Delete));
        let elsewhere = matches!(last_call, Some(LastCall::Ensure { outcome: EnsureOutcome::Elsewhere, .. }));
        let found = match found {
            Evidence::Unknown(doubt) => return Err(doubt),
            Evidence::Present(status) => Found::Something { status: Some(status), last_call },
            Evidence::Absent(_) if elsewhere || (request.purpose == Purpose::Remove && !deleted) => {
                Found::Something { status: None, last_call }
            }
            Evidence::Absent(_) => {
                self.calls().remove(uid);
                Found::Nothing
            }
        };
        Ok(EnsuredView { request: request.clone(), name: self.cloud.name(request), found })
    }
}

impl ObservedLoadBalancer for EnsuredView {
    type Step = EnsureStep;

    fn plan(&self, _now: Timestamp) -> Plan<EnsureStep, LoadBalancerStatus> {
        match (self.request.purpose, &self.found) {
            (Purpose::Remove, Found::Nothing) => Plan::Settled(LoadBalancerStatus::default()),
            (Purpose::Remove, Found::Something { .. }) => {
                self.step(Call::Delete, None, "the Service no longer wants it")
            }
            (Purpose::Ensure, Found::Nothing) => {
                self.step(Call::Create, None, "the Service has no load balancer yet")
            }
            (Purpose::Ensure, Found::Something { status, last_call }) => {
                self.plan_existing(status.as_ref(), last_call.as_ref())
            }
        }
    }

    fn is_there(&self) -> bool {
        matches!(self.found, Found::Something { .. })
    }
}

impl EnsuredView {
    /// A plan with this one call; `before` is the set of nodes that the call replaces.
    fn step(
        &self,
        call: Call,
        before: Option<&NodeSet>,
        reason: &str,
    ) -> Plan<EnsureStep, LoadBalancerStatus> {
        let wanted = &self.request.nodes.nodes;
        // Safety rail SR-7 (emptying a set) needs this to judge the step.
        let change = |before: &NodeSet| SetChange {
            before: before.nodes.len(),
            removed: before.nodes.keys().filter(|name| !wanted.contains_key(*name)).count(),
        };
        let (request, name) = (self.request.clone(), self.name.clone());
        let step = EnsureStep { call, request, name, nodes: before.map(change) };
        Plan::Act(vec![Planned::new(step, reason)])
    }

    fn plan_existing(
        &self,
        status: Option<&LoadBalancerStatus>,
        last_call: Option<&LastCall>,
    ) -> Plan<EnsureStep, LoadBalancerStatus> {
        let Some(LastCall::Ensure { service, nodes, outcome }) = last_call else {
            let why = "not compared with the Service since this process started";
            return self.step(Call::Converge, None, why);
        };
        if !same_wish(service, &self.request.service) {
            return self.step(Call::Converge, Some(nodes), "the Service was changed");
        }
        match (outcome, status) {
            (EnsureOutcome::Elsewhere, _) => Plan::Elsewhere,
            (EnsureOutcome::Ready(_), Some(status)) if nodes.epoch == self.request.nodes.epoch => {
                Plan::Settled(status.clone())
            }
            (EnsureOutcome::Ready(_), _) => {
                self.step(Call::UpdateNodes, Some(nodes), "the set of nodes changed")
            }
        }
    }
}

#[async_trait]
impl<C: EnsureLoadBalancer> LoadBalancers for Ensured<C> {
    type Observed = EnsuredView;

    async fn observe(&self, requests: &[LoadBalancerRequest]) -> Vec<Result<EnsuredView, Doubt>> {
        let mut views = Vec::with_capacity(requests.len());
        for request in requests {
            views.push(self.weigh(request, self.cloud.get(request).await));
        }
        views
    }

    async fn execute(&self, step: &EnsureStep, fence: &dyn Fence) -> Result<(), CloudError> {
        fence.check()?;
        let request = &step.request;
        let uid = &request.service.uid;
        match step.call {
            Call::Create | Call::Converge => {
                let outcome = self.cloud.ensure(request, fence).await?;
                let service = request.service.clone();
                let done = LastCall::Ensure { service, nodes: request.nodes.clone(), outcome };
                self.calls().insert(uid.clone(), done);
            }
            Call::UpdateNodes => {
                self.cloud.update(request, fence).await?;
                if let Some(LastCall::Ensure { nodes, .. }) = self.calls().get_mut(uid) {
                    *nodes = request.nodes.clone();
                }
            }
            Call::Delete => {
                self.cloud.delete(request, fence).await?;
                self.calls().insert(uid.clone(), LastCall::Delete);
            }
        }
        Ok(())
    }
}

/// Whether two versions of a Service ask for the same load balancer. Finalizers, labels, the status and our own condition do not count.
fn same_wish(done: &ServiceView, wanted: &ServiceView) -> bool {
    let wish = |service: &ServiceView| ServiceView {
        status: LoadBalancerStatus::default(),
        condition: None,
        finalizers: Finalizers::default(),
        labels: Pairs::default(),
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
        let facts = StepFacts::new(verb, "load balancer", &self.name);
        match self.nodes {
            Some(change) => facts.replacing(change),
            None => facts,
        }
    }
}

#[cfg(test)]
mod tests;
