//! What controllers hold: each call goes to the parts that are in use at that moment, so that a controller that runs works
//! with a new configuration at once.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{
    AnyLoadBalancers, AnyObserved, AnyStep, Claim, CloudError, Doubt, Evidence, Fence, Instance, Instances,
    LoadBalancerRequest, LoadBalancerStatus, NodeView, Plan, Refusal, Route, RouteChange, Routes, ServiceKey,
    async_trait,
};
use jiff::Timestamp;

use super::current::Current;

const NO_ROUTER: &str = "[Route] router-id was removed from cloud.conf; put it back, or restart";
const NO_BALANCERS: &str =
    "load balancers are not there before this process leads; this is a defect of Bowline";

/// The servers.
pub(super) struct LiveInstances(pub(super) Arc<Current>);

#[async_trait]
impl Instances for LiveInstances {
    fn claims(&self, node: &NodeView) -> Claim {
        self.0.parts().servers.claims(node)
    }

    async fn observe(&self, nodes: &[Arc<NodeView>]) -> Vec<Evidence<Instance>> {
        self.0.parts().servers.observe(nodes).await
    }

    async fn confirm(&self, node: &NodeView) -> Evidence<Instance> {
        self.0.parts().servers.confirm(node).await
    }
}

/// The routes.
pub(super) struct LiveRoutes(pub(super) Arc<Current>);

#[async_trait]
impl Routes for LiveRoutes {
    async fn list(&self, cluster: &str) -> Result<Vec<Route>, CloudError> {
        match self.0.parts().routes.clone() {
            Some(routes) => routes.list(cluster).await,
            None => Err(CloudError::invalid(NO_ROUTER)),
        }
    }

    async fn apply(
        &self,
        cluster: &str,
        changes: &[RouteChange],
        fence: &dyn Fence,
    ) -> Vec<Result<(), CloudError>> {
        match self.0.parts().routes.clone() {
            Some(routes) => routes.apply(cluster, changes, fence).await,
            None => changes.iter().map(|_| Err(CloudError::invalid(NO_ROUTER))).collect(),
        }
    }
}

/// The load balancers.
pub(super) struct LiveLoadBalancers(pub(super) Arc<Current>);

impl LiveLoadBalancers {
    fn inside(&self) -> Option<Arc<dyn AnyLoadBalancers>> {
        self.0.parts().load_balancers.clone()
    }
}

#[async_trait]
impl AnyLoadBalancers for LiveLoadBalancers {
    fn name(&self, request: &LoadBalancerRequest) -> String {
        self.inside()
            .map_or_else(|| request.service.default_load_balancer_name(), |inside| inside.name(request))
    }

    async fn observe(&self, requests: &[LoadBalancerRequest]) -> Vec<Evidence<AnyObserved>> {
        match self.inside() {
            Some(inside) => inside.observe(requests).await,
            None => requests.iter().map(|_| Evidence::Unknown(Doubt::new(NO_BALANCERS))).collect(),
        }
    }

    fn plan(
        &self,
        request: &LoadBalancerRequest,
        observed: Option<&AnyObserved>,
        now: Timestamp,
    ) -> Plan<AnyStep, LoadBalancerStatus> {
        match self.inside() {
            Some(inside) => inside.plan(request, observed, now),
            None => Plan::Refuse(Refusal { problems: vec![NO_BALANCERS.into()] }),
        }
    }

    async fn execute(&self, step: &AnyStep, fence: &dyn Fence) -> Result<(), CloudError> {
        match self.inside() {
            Some(inside) => inside.execute(step, fence).await,
            None => Err(CloudError::transient(NO_BALANCERS)),
        }
    }

    async fn poll(&self, waiting: &[LoadBalancerRequest]) -> Result<Vec<ServiceKey>, CloudError> {
        match self.inside() {
            Some(inside) => inside.poll(waiting).await,
            None => Ok(Vec::new()),
        }
    }

    fn poll_period(&self) -> Duration {
        self.inside().map_or(Duration::from_secs(2), |inside| inside.poll_period())
    }
}
