//! Erases the types of a provider in one place, so that controllers handle every provider in the same way.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;

use super::{LoadBalancerPolicy, LoadBalancerRequest, LoadBalancers, ObservedLoadBalancer};
use crate::broken::Broken;
use crate::picture::BalancerPicture;
use crate::plan::{Plan, Planned, Step, StepFacts};
use crate::shortfall::Shortfall;
use crate::{CloudError, Doubt, ErrorClass, Fence, LoadBalancerStatus, Notes, ServiceKey, Text};

/// [`LoadBalancers`] of any provider, as controllers hold it. Every type that implements `LoadBalancers` implements this trait.
#[async_trait]
pub trait AnyLoadBalancers: Send + Sync {
    /// See [`LoadBalancers::observe`].
    async fn observe(&self, requests: &[LoadBalancerRequest]) -> Vec<Result<Box<dyn AnyObserved>, Doubt>>;
    /// See [`LoadBalancers::execute`]. Fails with [`ErrorClass::Fatal`] if the step belongs to another provider.
    async fn execute(&self, step: &AnyStep, fence: &dyn Fence) -> Result<(), CloudError>;
    /// See [`LoadBalancers::poll`].
    async fn poll(&self, waiting: &[LoadBalancerRequest]) -> Result<Vec<ServiceKey>, CloudError>;
    /// See [`LoadBalancers::policy`].
    fn policy(&self) -> Arc<dyn LoadBalancerPolicy>;
}

/// The observation of any provider. Every type that implements [`ObservedLoadBalancer`] implements this trait.
pub trait AnyObserved: Send + Sync {
    /// See [`ObservedLoadBalancer::plan`].
    fn plan(&self, now: Timestamp) -> Plan<AnyStep, LoadBalancerStatus>;
    /// See [`ObservedLoadBalancer::is_there`].
    fn is_there(&self) -> bool;
    /// See [`ObservedLoadBalancer::annotations`].
    fn annotations(&self) -> Notes;
    /// See [`ObservedLoadBalancer::fingerprint`].
    fn fingerprint(&self) -> Option<Text>;
    /// See [`ObservedLoadBalancer::expected_status`].
    fn expected_status(&self) -> Option<LoadBalancerStatus>;
    /// See [`ObservedLoadBalancer::picture`].
    fn picture(&self) -> Option<BalancerPicture>;
    /// See [`ObservedLoadBalancer::broken`].
    fn broken(&self) -> Option<Broken>;
    /// See [`ObservedLoadBalancer::shortfalls`].
    fn shortfalls(&self) -> Vec<Shortfall>;
}

/// A step of any provider. Only the provider that planned it can execute it; controllers can read its facts and its text.
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

impl fmt::Debug for dyn AnyObserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyObserved").field("is_there", &self.is_there()).finish_non_exhaustive()
    }
}

#[async_trait]
impl<T: LoadBalancers> AnyLoadBalancers for T {
    async fn observe(&self, requests: &[LoadBalancerRequest]) -> Vec<Result<Box<dyn AnyObserved>, Doubt>> {
        let erase = |observed| -> Box<dyn AnyObserved> { Box::new(observed) };
        LoadBalancers::observe(self, requests).await.into_iter().map(|one| one.map(erase)).collect()
    }

    async fn execute(&self, step: &AnyStep, fence: &dyn Fence) -> Result<(), CloudError> {
        match step.step.downcast_ref() {
            Some(step) => LoadBalancers::execute(self, step, fence).await,
            None => Err(CloudError::new(ErrorClass::Fatal, WRONG_PROVIDER)),
        }
    }

    async fn poll(&self, waiting: &[LoadBalancerRequest]) -> Result<Vec<ServiceKey>, CloudError> {
        LoadBalancers::poll(self, waiting).await
    }

    fn policy(&self) -> Arc<dyn LoadBalancerPolicy> {
        LoadBalancers::policy(self)
    }
}

impl<T: ObservedLoadBalancer> AnyObserved for T {
    fn plan(&self, now: Timestamp) -> Plan<AnyStep, LoadBalancerStatus> {
        match ObservedLoadBalancer::plan(self, now) {
            Plan::Settled(status) => Plan::Settled(status),
            Plan::Act(steps) => Plan::Act(steps.into_iter().map(erase).collect()),
            Plan::Wait(wait) => Plan::Wait(wait),
            Plan::Elsewhere => Plan::Elsewhere,
            Plan::Refuse(refusal) => Plan::Refuse(refusal),
        }
    }

    fn is_there(&self) -> bool {
        ObservedLoadBalancer::is_there(self)
    }

    fn annotations(&self) -> Notes {
        ObservedLoadBalancer::annotations(self)
    }

    fn fingerprint(&self) -> Option<Text> {
        ObservedLoadBalancer::fingerprint(self)
    }

    fn expected_status(&self) -> Option<LoadBalancerStatus> {
        ObservedLoadBalancer::expected_status(self)
    }

    fn picture(&self) -> Option<BalancerPicture> {
        ObservedLoadBalancer::picture(self)
    }

    fn broken(&self) -> Option<Broken> {
        ObservedLoadBalancer::broken(self)
    }

    fn shortfalls(&self) -> Vec<Shortfall> {
        ObservedLoadBalancer::shortfalls(self)
    }
}

const WRONG_PROVIDER: &str =
    "a plan was handed to a provider that did not make it; this is a bug, please report it";

fn erase<S: Step + 'static>(planned: Planned<S>) -> Planned<AnyStep> {
    let Planned { step, reason, at_once } = planned;
    let erased = AnyStep { facts: step.facts(), text: step.to_string(), step: Box::new(step) };
    Planned { step: erased, reason, at_once }
}
