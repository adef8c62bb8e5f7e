//! A wrapper of a cloud that gives every call a timeout, whatever the provider does.
//!
//! A provider that hangs must not block a controller forever. A lookup that times out results in an unknown state, never in absence. A
//! change that times out may have been executed: it results in a transient error, after which controllers observe again before they retry.
//! The future of the call is dropped; providers must tolerate that, as they must at process exit.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bowline_cloud::{
    Answer, AnyLoadBalancers, AnyObserved, AnyStep, Capability, Claim, Cloud, CloudContext, CloudError,
    Doubt, Evidence, ExtraController, Fence, Instance, Instances, LoadBalancerPolicy, LoadBalancerRequest,
    NodeView, Power, Reconciled, Route, RouteChange, Routes, ServiceKey, Watched, Watches,
};
use futures::stream::BoxStream;
use prometheus_client::registry::Registry;
use tokio::time::timeout;

/// The timeouts for one call of a provider, which may make many API requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallDeadlines {
    /// For a lookup. A lookup of many objects gets some additional time for each.
    pub look_up: Duration,
    /// For a change. Longer, because some providers wait in it until the cloud has finished.
    pub change: Duration,
}

impl Default for CallDeadlines {
    fn default() -> Self {
        Self { look_up: Duration::from_secs(300), change: Duration::from_secs(900) }
    }
}

/// The additional time of a lookup per object: some providers make one request per object, with a rate limit.
const EACH: Duration = Duration::from_millis(200);

/// A cloud, or a part of one, whose calls have timeouts.
pub struct Punctual<T: ?Sized> {
    inner: Arc<T>,
    deadlines: CallDeadlines,
}

impl<T: ?Sized> fmt::Debug for Punctual<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Punctual").field("deadlines", &self.deadlines).finish_non_exhaustive()
    }
}

impl<T: ?Sized> Punctual<T> {
    /// Wraps `inner`.
    #[must_use]
    pub const fn new(inner: Arc<T>, deadlines: CallDeadlines) -> Self {
        Self { inner, deadlines }
    }

    async fn look_up<R>(&self, what: &str, call: impl Future<Output = R>) -> Result<R, CloudError> {
        self.look_up_many(0, what, call).await
    }

    /// A lookup of `count` objects.
    async fn look_up_many<R>(
        &self,
        count: usize,
        what: &str,
        call: impl Future<Output = R>,
    ) -> Result<R, CloudError> {
        let limit = self.deadlines.look_up.saturating_add(allowance(count));
        let late = |_elapsed| {
            let (within, what) = (words(limit), what);
            CloudError::transient(format!("the cloud did not answer within {within} when asked for {what}"))
        };
        timeout(limit, call).await.map_err(late)
    }

    async fn change<R>(&self, what: &str, call: impl Future<Output = R>) -> Result<R, CloudError> {
        let limit = self.deadlines.change;
        let late = |_elapsed| {
            let within = words(limit);
            CloudError::transient(format!(
                "{what}: the cloud did not answer within {within}; it may have taken effect"
            ))
        };
        timeout(limit, call).await.map_err(late)
    }
}

/// Rounded down to whole seconds, for a readable message.
fn allowance(count: usize) -> Duration {
    let all = EACH.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX));
    Duration::from_secs(all.as_secs())
}

/// Formats whole minutes as `5 min` instead of `300s`.
fn words(limit: Duration) -> String {
    match limit.as_secs() {
        seconds if seconds >= 60 && seconds % 60 == 0 => format!("{} min", seconds / 60),
        _ => format!("{limit:?}"),
    }
}

fn no_answer<T>(late: &CloudError) -> Evidence<T> {
    Evidence::Unknown(Doubt::from(late))
}

impl<T: ?Sized> Punctual<T> {
    fn part<P: ?Sized>(&self, part: Capability<Arc<P>>) -> Capability<Arc<Punctual<P>>> {
        match part {
            Capability::Supported(inner) => {
                Capability::Supported(Arc::new(Punctual::new(inner, self.deadlines)))
            }
            Capability::Unsupported => Capability::Unsupported,
            Capability::Unavailable(why) => Capability::Unavailable(why),
        }
    }
}

/// Converts a capability to the trait object that controllers use.
macro_rules! seen_as {
    ($part:expr, $trait:ty) => {
        match $part {
            Capability::Supported(part) => Capability::Supported(part as Arc<$trait>),
            Capability::Unsupported => Capability::Unsupported,
            Capability::Unavailable(why) => Capability::Unavailable(why),
        }
    };
}

#[async_trait]
impl Cloud for Punctual<dyn Cloud> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn has_cluster_id(&self) -> bool {
        self.inner.has_cluster_id()
    }

    async fn initialize(&self, context: &CloudContext) -> Result<(), CloudError> {
        self.change("initializing the cloud", self.inner.initialize(context)).await?
    }

    async fn identity(&self) -> Result<Option<String>, CloudError> {
        self.look_up("the identity", self.inner.identity()).await?
    }

    fn instances(&self) -> Capability<Arc<dyn Instances>> {
        seen_as!(self.part(self.inner.instances()), dyn Instances)
    }

    fn load_balancers(&self) -> Capability<Arc<dyn AnyLoadBalancers>> {
        seen_as!(self.part(self.inner.load_balancers()), dyn AnyLoadBalancers)
    }

    fn routes(&self) -> Capability<Arc<dyn Routes>> {
        seen_as!(self.part(self.inner.routes()), dyn Routes)
    }

    fn reconfigurations(&self) -> BoxStream<'static, ()> {
        self.inner.reconfigurations()
    }

    fn extra_controllers(&self) -> Vec<Arc<dyn ExtraController>> {
        let punctual = |inner| -> Arc<dyn ExtraController> { Arc::new(Punctual::new(inner, self.deadlines)) };
        self.inner.extra_controllers().into_iter().map(punctual).collect()
    }

    fn concluded(&self, reconciled: Reconciled) {
        self.inner.concluded(reconciled);
    }

    fn register_metrics(&self, registry: &mut Registry) {
        self.inner.register_metrics(registry);
    }
}

#[async_trait]
impl Instances for Punctual<dyn Instances> {
    fn claims(&self, node: &NodeView) -> Claim {
        self.inner.claims(node)
    }

    async fn observe(&self, nodes: &[Arc<NodeView>]) -> Vec<Evidence<Instance>> {
        let answers = self.look_up_many(nodes.len(), "instances", self.inner.observe(nodes)).await;
        answers.unwrap_or_else(|late| nodes.iter().map(|_| no_answer(&late)).collect())
    }

    async fn presence(&self, nodes: &[Arc<NodeView>]) -> Vec<Evidence<Power>> {
        let answers = self.look_up_many(nodes.len(), "instances", self.inner.presence(nodes)).await;
        answers.unwrap_or_else(|late| nodes.iter().map(|_| no_answer(&late)).collect())
    }

    async fn confirm(&self, node: &NodeView) -> Evidence<Instance> {
        let what = format!("the instance of node {}", node.name);
        let answer = self.look_up(&what, self.inner.confirm(node)).await;
        answer.unwrap_or_else(|late| no_answer(&late))
    }
}

#[async_trait]
impl AnyLoadBalancers for Punctual<dyn AnyLoadBalancers> {
    async fn observe(&self, requests: &[LoadBalancerRequest]) -> Vec<Result<Box<dyn AnyObserved>, Doubt>> {
        let answers = self.look_up_many(requests.len(), "load balancers", self.inner.observe(requests)).await;
        answers.unwrap_or_else(|late| requests.iter().map(|_| Err(Doubt::from(&late))).collect())
    }

    async fn execute(&self, step: &AnyStep, fence: &dyn Fence) -> Result<(), CloudError> {
        self.change(&step.to_string(), self.inner.execute(step, fence)).await?
    }

    async fn poll(&self, waiting: &[LoadBalancerRequest]) -> Result<Vec<ServiceKey>, CloudError> {
        let what = "load balancers that are being built";
        self.look_up_many(waiting.len(), what, self.inner.poll(waiting)).await?
    }

    fn policy(&self) -> Arc<dyn LoadBalancerPolicy> {
        self.inner.policy()
    }
}

#[async_trait]
impl Routes for Punctual<dyn Routes> {
    async fn list(&self, cluster: &str) -> Result<Vec<Route>, CloudError> {
        self.look_up("routes", self.inner.list(cluster)).await?
    }

    async fn apply(
        &self,
        cluster: &str,
        changes: &[RouteChange],
        fence: &dyn Fence,
    ) -> Vec<Result<(), CloudError>> {
        let answers = self.change("changing routes", self.inner.apply(cluster, changes, fence)).await;
        let late_all = |late: CloudError| {
            let text = late.to_string();
            changes.iter().map(|_| Err(CloudError::transient(text.clone()))).collect()
        };
        answers.unwrap_or_else(late_all)
    }
}

#[async_trait]
impl ExtraController for Punctual<dyn ExtraController> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn alias(&self) -> Option<&str> {
        self.inner.alias()
    }

    fn watches(&self) -> Watches {
        self.inner.watches()
    }

    async fn reconcile(&self, object: &Watched, fence: &dyn Fence) -> Result<Answer, CloudError> {
        self.change("reconciling", self.inner.reconcile(object, fence)).await?
    }

    async fn removed(&self, object: &Watched, fence: &dyn Fence) -> Result<(), CloudError> {
        self.change("cleaning up", self.inner.removed(object, fence)).await?
    }
}

#[cfg(test)]
mod tests;
