//! A wrapper of a cloud that passes all calls on, and records what each answer shows about our identity.

use std::sync::Arc;

use async_trait::async_trait;
use bowline_cloud::{
    Answer, AnyLoadBalancers, AnyObserved, AnyStep, Capability, Claim, Cloud, CloudContext, CloudError,
    Doubt, ErrorClass, Evidence, ExtraController, Fence, Fenced, Instance, Instances, LoadBalancerPolicy,
    LoadBalancerRequest, NodeView, Power, Reconciled, Route, RouteChange, Routes, ServiceKey, Watched,
    Watches,
};
use futures::stream::BoxStream;
use prometheus_client::registry::Registry;
use tokio::time::Instant;

use super::CloudIdentity;
use crate::rails::identity::Part;

/// A wrapper of a cloud that checks its answers for signs of a lost identity (SR-3).
pub struct WatchedCloud {
    cloud: Arc<dyn Cloud>,
    identity: CloudIdentity,
}

impl WatchedCloud {
    /// Wraps `cloud`, and records the results in `identity`.
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

    fn concluded(&self, reconciled: Reconciled) {
        self.cloud.concluded(reconciled);
    }

    fn register_metrics(&self, registry: &mut Registry) {
        self.cloud.register_metrics(registry);
    }
}

/// One part of the cloud, and where its results are recorded.
struct Watch<T: ?Sized> {
    inside: Arc<T>,
    part: Part,
    cloud: Arc<dyn Cloud>,
    identity: CloudIdentity,
}

impl<T: ?Sized> Watch<T> {
    /// Records the results of an observation that began at `begun`: for each object the [`Doubt`], or `None` if the cloud answered. One
    /// rejection outweighs any number of answers.
    fn note_answers<'d>(&self, begun: Instant, doubts: impl Iterator<Item = Option<&'d Doubt>>) {
        let mut answered = false;
        for doubt in doubts {
            match doubt {
                Some(doubt) if doubt.class == ErrorClass::Unauthenticated => {
                    return self.identity.refused(&self.part, doubt.why.clone());
                }
                Some(_unknown) => {}
                None => answered = true,
            }
        }
        if answered {
            self.identity.change(|rail| rail.accepted(begun));
        }
    }

    fn note_evidence<E>(&self, begun: Instant, answers: &[Evidence<E>]) {
        self.note_answers(begun, answers.iter().map(doubt_of));
    }

    /// Whether the cloud still confirms our identity. Another project does not have our objects either, so absence counts only after this
    /// check. Called once for all answers of an observation.
    async fn is_still_who_it_was(&self) -> bool {
        self.identity.ask(self.cloud.as_ref()).await
    }
}

fn doubt_of<E>(answer: &Evidence<E>) -> Option<&Doubt> {
    match answer {
        Evidence::Unknown(doubt) => Some(doubt),
        Evidence::Present(_) | Evidence::Absent(_) => None,
    }
}

fn not_confirmed() -> Doubt {
    Doubt {
        class: ErrorClass::Unauthenticated,
        ..Doubt::new("the cloud has no such thing, but does not confirm who we are to it")
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
        let answer = self.inside.confirm(node).await;
        self.note_evidence(begun, std::slice::from_ref(&answer));
        if matches!(answer, Evidence::Absent(_)) && !self.is_still_who_it_was().await {
            return Evidence::Unknown(not_confirmed());
        }
        answer
    }
}

/// A separate type: an implementation for [`Watch`] would conflict with the blanket implementation for the typed trait.
struct Balancers(Watch<dyn AnyLoadBalancers>);

#[async_trait]
impl AnyLoadBalancers for Balancers {
    async fn observe(&self, requests: &[LoadBalancerRequest]) -> Vec<Result<Box<dyn AnyObserved>, Doubt>> {
        let begun = Instant::now();
        let mut answers = self.0.inside.observe(requests).await;
        self.0.note_answers(begun, answers.iter().map(Result::as_ref).map(Result::err));
        // Absent load balancers are created, or their finalizers removed, so absence needs the check.
        let is_absent = |answer: &Result<Box<dyn AnyObserved>, Doubt>| {
            answer.as_ref().is_ok_and(|observed| !observed.is_there())
        };
        if answers.iter().any(is_absent) && !self.0.is_still_who_it_was().await {
            answers
                .iter_mut()
                .filter(|answer| is_absent(answer))
                .for_each(|answer| *answer = Err(not_confirmed()));
        }
        answers
    }

    async fn execute(&self, step: &AnyStep, fence: &dyn Fence) -> Result<(), CloudError> {
        let begun = Instant::now();
        self.0.identity.note(&self.0.part, begun, self.0.inside.execute(step, fence).await)
    }

    async fn poll(&self, waiting: &[LoadBalancerRequest]) -> Result<Vec<ServiceKey>, CloudError> {
        // Success proves nothing: the default implementation makes no request.
        let answer = self.0.inside.poll(waiting).await;
        if let Err(error) = &answer {
            self.0.identity.note_error(&self.0.part, error);
        }
        answer
    }

    fn policy(&self) -> Arc<dyn LoadBalancerPolicy> {
        self.0.inside.policy()
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
        // The route list of another project looks like ours with missing routes.
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
    /// Makes a call that both reads and changes, unless the rail refuses it.
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
