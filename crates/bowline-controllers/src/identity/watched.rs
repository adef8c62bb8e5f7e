//! A cloud that passes everything on, and notes what each answer says about our identity.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bowline_cloud::{
    Answer, AnyLoadBalancers, AnyObserved, AnyStep, BalancerPicture, Broken, Capability, Claim, Cloud,
    CloudContext, CloudError, Doubt, ErrorClass, Evidence, ExtraController, Fence, Fenced, Instance,
    Instances, LoadBalancerRequest, LoadBalancerStatus, NodeView, Notes, Plan, Power, Reconciled, Route,
    RouteChange, Routes, ServiceKey, ServiceView, Shortfall, Text, Watched, Watches,
};
use futures::stream::BoxStream;
use k8s_openapi::jiff::Timestamp;
use prometheus_client::registry::Registry;
use tokio::time::Instant;

use super::CloudIdentity;
use crate::rails::identity::Part;

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
        part: Part,
        capability: Capability<Arc<T>>,
        wrap: impl FnOnce(Watch<T>) -> Arc<U>,
    ) -> Capability<Arc<U>> {
        let (cloud, identity) = (self.cloud.clone(), self.identity.clone());
        match capability {
            Capability::Supported(inside) => {
                Capability::Supported(wrap(Watch { inside, part, cloud, identity }))
            }
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
        self.identity.note(&Part::Start, begun, self.cloud.initialize(context).await)
    }

    async fn identity(&self) -> Result<Option<String>, CloudError> {
        self.cloud.identity().await
    }

    fn instances(&self) -> Capability<Arc<dyn Instances>> {
        self.watched(Part::Instances, self.cloud.instances(), |watch| -> Arc<dyn Instances> {
            Arc::new(watch)
        })
    }

    fn load_balancers(&self) -> Capability<Arc<dyn AnyLoadBalancers>> {
        let wrap = |watch| -> Arc<dyn AnyLoadBalancers> { Arc::new(Balancers(watch)) };
        self.watched(Part::LoadBalancers, self.cloud.load_balancers(), wrap)
    }

    fn routes(&self) -> Capability<Arc<dyn Routes>> {
        self.watched(Part::Routes, self.cloud.routes(), |watch| -> Arc<dyn Routes> { Arc::new(watch) })
    }

    fn reconfigurations(&self) -> BoxStream<'static, ()> {
        self.cloud.reconfigurations()
    }

    fn extra_controllers(&self) -> Vec<Arc<dyn ExtraController>> {
        let watch = |inside: Arc<dyn ExtraController>| -> Arc<dyn ExtraController> {
            let (cloud, identity) = (self.cloud.clone(), self.identity.clone());
            Arc::new(Watch { part: Part::Extra(inside.name().to_owned()), inside, cloud, identity })
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
    part: Part,
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
            Some(why) => self.identity.refused(&self.part, why),
            None if answers.iter().any(|answer| !matches!(answer, Evidence::Unknown(_))) => {
                self.identity.change(|rail| rail.accepted(begun));
            }
            None => {}
        }
    }

    /// Another project does not have what is ours either: absence counts only if we still are who we were. Asked once for
    /// all answers of a look.
    async fn doubt_absence<E>(&self, answers: &mut [Evidence<E>]) {
        let is_absent = |answer: &Evidence<E>| matches!(answer, Evidence::Absent(_));
        if !answers.iter().any(is_absent) || self.identity.ask(self.cloud.as_ref()).await {
            return;
        }
        for answer in answers.iter_mut().filter(|answer| is_absent(answer)) {
            *answer = Evidence::Unknown(Doubt {
                class: ErrorClass::Unauthenticated,
                ..Doubt::new("the cloud has no such thing, but does not confirm who we are to it")
            });
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

    async fn presence(&self, nodes: &[Arc<NodeView>]) -> Vec<Evidence<Power>> {
        let begun = Instant::now();
        let answers = self.inside.presence(nodes).await;
        self.note_evidence(begun, &answers);
        answers
    }

    async fn confirm(&self, node: &NodeView) -> Evidence<Instance> {
        let begun = Instant::now();
        let mut answer = self.inside.confirm(node).await;
        self.note_evidence(begun, std::slice::from_ref(&answer));
        self.doubt_absence(std::slice::from_mut(&mut answer)).await;
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
        let mut answers = self.0.inside.observe(requests).await;
        self.0.note_evidence(begun, &answers);
        // What is absent is created, or let go of.
        self.0.doubt_absence(&mut answers).await;
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

    fn notes(&self, request: &LoadBalancerRequest, observed: Option<&AnyObserved>) -> Notes {
        self.0.inside.notes(request, observed)
    }

    fn fingerprint(&self, request: &LoadBalancerRequest, observed: Option<&AnyObserved>) -> Option<Text> {
        self.0.inside.fingerprint(request, observed)
    }

    fn outlook(
        &self,
        request: &LoadBalancerRequest,
        observed: Option<&AnyObserved>,
    ) -> Option<LoadBalancerStatus> {
        self.0.inside.outlook(request, observed)
    }

    fn picture(
        &self,
        request: &LoadBalancerRequest,
        observed: Option<&AnyObserved>,
    ) -> Option<BalancerPicture> {
        self.0.inside.picture(request, observed)
    }

    fn broken(&self, request: &LoadBalancerRequest, observed: Option<&AnyObserved>) -> Option<Broken> {
        self.0.inside.broken(request, observed)
    }

    fn shortfalls(&self, request: &LoadBalancerRequest, observed: Option<&AnyObserved>) -> Vec<Shortfall> {
        self.0.inside.shortfalls(request, observed)
    }

    async fn execute(&self, step: &AnyStep, fence: &dyn Fence) -> Result<(), CloudError> {
        let begun = Instant::now();
        self.0.identity.note(&self.0.part, begun, self.0.inside.execute(step, fence).await)
    }

    async fn poll(&self, waiting: &[LoadBalancerRequest]) -> Result<Vec<ServiceKey>, CloudError> {
        // Its success says nothing: the default asks nobody.
        let answer = self.0.inside.poll(waiting).await;
        if let Err(error) = &answer {
            self.0.identity.note_error(&self.0.part, error);
        }
        answer
    }

    fn poll_period(&self) -> Duration {
        self.0.inside.poll_period()
    }

    fn drains(&self, service: &ServiceView) -> Option<Duration> {
        self.0.inside.drains(service)
    }

    fn concluded(&self, reconciled: Reconciled) {
        self.0.inside.concluded(reconciled);
    }

    fn node_labels(&self, service: &ServiceView) -> BTreeSet<String> {
        self.0.inside.node_labels(service)
    }
}

#[async_trait]
impl Routes for Watch<dyn Routes> {
    async fn list(&self, cluster: &str) -> Result<Vec<Route>, CloudError> {
        let begun = Instant::now();
        self.identity.note(&self.part, begun, self.inside.list(cluster).await)
    }

    async fn apply(
        &self,
        cluster: &str,
        changes: &[RouteChange],
        fence: &dyn Fence,
    ) -> Vec<Result<(), CloudError>> {
        // A list of another project's routes looks like one of ours from which some are missing.
        if !changes.is_empty() && !self.identity.ask(self.cloud.as_ref()).await {
            return changes.iter().map(|_change| Err(Self::not_confirmed(fence))).collect();
        }
        let answers = self.inside.apply(cluster, changes, fence).await;
        for error in answers.iter().filter_map(|answer| answer.as_ref().err()) {
            self.identity.note_error(&self.part, error);
        }
        answers
    }
}

impl Watch<dyn Routes> {
    fn not_confirmed(fence: &dyn Fence) -> CloudError {
        let unsure = || CloudError::transient("not changed: the cloud does not confirm who we are to it");
        fence.check().map_or_else(CloudError::from, |()| unsure())
    }
}

impl Watch<dyn ExtraController> {
    /// Makes a call that looks and changes in one, if this is the moment for it.
    async fn call<T>(&self, call: impl Future<Output = Result<T, CloudError>>) -> Result<T, CloudError> {
        let begun = Instant::now();
        let judged = self.identity.change(|rail| rail.lets_call(begun));
        judged.map_err(|loss| Fenced { why: loss.to_string() })?;
        let answer = call.await;
        match &answer {
            Ok(_) => self.identity.change(|rail| rail.went_well(&self.part, begun)),
            Err(error) => self.identity.note_error(&self.part, error),
        }
        answer
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
        self.call(self.inside.reconcile(object, fence)).await
    }

    async fn removed(&self, object: &Watched, fence: &dyn Fence) -> Result<(), CloudError> {
        self.call(self.inside.removed(object, fence)).await
    }
}
