//! A cloud that passes everything on, and notes what each answer says about our identity.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bowline_cloud::{
    Answer, AnyLoadBalancers, AnyObserved, AnyStep, Capability, Claim, Cloud, CloudContext, CloudError,
    Doubt, ErrorClass, Evidence, ExtraController, Fence, Instance, Instances, LoadBalancerRequest,
    LoadBalancerStatus, NodeView, Plan, Route, RouteChange, Routes, ServiceKey, Watched, Watches,
};
use k8s_openapi::jiff::Timestamp;
use prometheus_client::registry::Registry;
use tokio::time::Instant;

use super::CloudIdentity;

/// A cloud whose answers are watched for signs of a lost identity (SR-3).
pub struct WatchedCloud {
    cloud: Arc<dyn Cloud>,
    identity: CloudIdentity,
}

impl WatchedCloud {
    /// Watches `cloud`, and tells `identity`.
    #[must_use]
    pub fn new(cloud: Arc<dyn Cloud>, identity: CloudIdentity) -> Self {
        Self { cloud, identity }
    }

    fn watched<T: ?Sized, U: ?Sized>(
        &self,
        capability: Capability<Arc<T>>,
        wrap: impl FnOnce(Watch<T>) -> Arc<U>,
    ) -> Capability<Arc<U>> {
        let (cloud, identity) = (self.cloud.clone(), self.identity.clone());
        match capability {
            Capability::Supported(inside) => Capability::Supported(wrap(Watch { inside, cloud, identity })),
            Capability::Unsupported => Capability::Unsupported,
            Capability::Unavailable(why) => Capability::Unavailable(why),
        }
    }
}

#[async_trait]
impl Cloud for WatchedCloud {
    fn name(&self) -> &str {
        self.cloud.name()
    }

    fn has_cluster_id(&self) -> bool {
        self.cloud.has_cluster_id()
    }

    async fn initialize(&self, context: &CloudContext) -> Result<(), CloudError> {
        let begun = Instant::now();
        self.identity.note(begun, self.cloud.initialize(context).await)
    }

    async fn identity(&self) -> Result<Option<String>, CloudError> {
        self.cloud.identity().await
    }

    fn instances(&self) -> Capability<Arc<dyn Instances>> {
        self.watched(self.cloud.instances(), |watch| -> Arc<dyn Instances> { Arc::new(watch) })
    }

    fn load_balancers(&self) -> Capability<Arc<dyn AnyLoadBalancers>> {
        let wrap = |watch| -> Arc<dyn AnyLoadBalancers> { Arc::new(Balancers(watch)) };
        self.watched(self.cloud.load_balancers(), wrap)
    }

    fn routes(&self) -> Capability<Arc<dyn Routes>> {
        self.watched(self.cloud.routes(), |watch| -> Arc<dyn Routes> { Arc::new(watch) })
    }

    fn extra_controllers(&self) -> Vec<Arc<dyn ExtraController>> {
        let watch = |inside| -> Arc<dyn ExtraController> {
            Arc::new(Watch { inside, cloud: self.cloud.clone(), identity: self.identity.clone() })
        };
        self.cloud.extra_controllers().into_iter().map(watch).collect()
    }

    fn register_metrics(&self, registry: &mut Registry) {
        self.cloud.register_metrics(registry);
    }
}

/// A part of the cloud, and who is told.
struct Watch<T: ?Sized> {
    inside: Arc<T>,
    cloud: Arc<dyn Cloud>,
    identity: CloudIdentity,
}

impl<T: ?Sized> Watch<T> {
    /// Notes a look that began at `begun`: one refusal counts more than any number of answers.
    fn note_evidence<E>(&self, begun: Instant, answers: &[Evidence<E>]) {
        let refusal = answers.iter().find_map(|answer| match answer {
            Evidence::Unknown(doubt) if doubt.class == ErrorClass::Unauthenticated => Some(doubt.why.clone()),
            _ => None,
        });
        match refusal {
            Some(why) => self.identity.refused(why),
            None if answers.iter().any(|answer| !matches!(answer, Evidence::Unknown(_))) => {
                self.identity.change(|rail| rail.accepted(begun));
            }
            None => {}
        }
    }
}

#[async_trait]
impl Instances for Watch<dyn Instances> {
    fn claims(&self, node: &NodeView) -> Claim {
        self.inside.claims(node)
    }

    async fn observe(&self, nodes: &[Arc<NodeView>]) -> Vec<Evidence<Instance>> {
        let begun = Instant::now();
        let answers = self.inside.observe(nodes).await;
        self.note_evidence(begun, &answers);
        answers
    }

    /// Another project does not have our machines either: absence counts only if we still are who we were.
    async fn confirm(&self, node: &NodeView) -> Evidence<Instance> {
        let begun = Instant::now();
        let answer = self.inside.confirm(node).await;
        self.note_evidence(begun, std::slice::from_ref(&answer));
        if matches!(answer, Evidence::Absent(_)) && !self.identity.ask(self.cloud.as_ref()).await {
            return Evidence::Unknown(Doubt {
                class: ErrorClass::Unauthenticated,
                ..Doubt::new("the cloud has no such machine, but does not confirm who we are to it")
            });
        }
        answer
    }
}

/// Not a [`Watch`] itself: everything that has the typed trait has this one already.
struct Balancers(Watch<dyn AnyLoadBalancers>);

#[async_trait]
impl AnyLoadBalancers for Balancers {
    fn name(&self, request: &LoadBalancerRequest) -> String {
        self.0.inside.name(request)
    }

    async fn observe(&self, requests: &[LoadBalancerRequest]) -> Vec<Evidence<AnyObserved>> {
        let begun = Instant::now();
        let answers = self.0.inside.observe(requests).await;
        self.0.note_evidence(begun, &answers);
        answers
    }

    fn plan(
        &self,
        request: &LoadBalancerRequest,
        observed: Option<&AnyObserved>,
        now: Timestamp,
    ) -> Plan<AnyStep, LoadBalancerStatus> {
        self.0.inside.plan(request, observed, now)
    }

    async fn execute(&self, step: &AnyStep, fence: &dyn Fence) -> Result<(), CloudError> {
        let begun = Instant::now();
        self.0.identity.note(begun, self.0.inside.execute(step, fence).await)
    }

    async fn poll(&self, waiting: &[LoadBalancerRequest]) -> Result<Vec<ServiceKey>, CloudError> {
        // Its success says nothing: the default asks nobody.
        let answer = self.0.inside.poll(waiting).await;
        if let Err(error) = &answer {
            self.0.identity.note_error(error);
        }
        answer
    }

    fn poll_period(&self) -> Duration {
        self.0.inside.poll_period()
    }
}

#[async_trait]
impl Routes for Watch<dyn Routes> {
    async fn list(&self, cluster: &str) -> Result<Vec<Route>, CloudError> {
        let begun = Instant::now();
        self.identity.note(begun, self.inside.list(cluster).await)
    }

    async fn apply(
        &self,
        cluster: &str,
        changes: &[RouteChange],
        fence: &dyn Fence,
    ) -> Vec<Result<(), CloudError>> {
        let answers = self.inside.apply(cluster, changes, fence).await;
        for error in answers.iter().filter_map(|answer| answer.as_ref().err()) {
            self.identity.note_error(error);
        }
        answers
    }
}

#[async_trait]
impl ExtraController for Watch<dyn ExtraController> {
    fn name(&self) -> &str {
        self.inside.name()
    }

    fn alias(&self) -> Option<&str> {
        self.inside.alias()
    }

    fn watches(&self) -> Watches {
        self.inside.watches()
    }

    async fn reconcile(&self, object: &Watched, fence: &dyn Fence) -> Result<Answer, CloudError> {
        // Its success says nothing: it may not have asked the cloud.
        let answer = self.inside.reconcile(object, fence).await;
        if let Err(error) = &answer {
            self.identity.note_error(error);
        }
        answer
    }

    async fn removed(&self, object: &Watched, fence: &dyn Fence) -> Result<(), CloudError> {
        let answer = self.inside.removed(object, fence).await;
        if let Err(error) = &answer {
            self.identity.note_error(error);
        }
        answer
    }
}
