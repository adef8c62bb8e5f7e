//! What controllers hold: each call goes to the parts that are in use at that moment, so that a controller that runs works
//! with a new configuration at once.

use std::sync::Arc;

use bowline_cloud::{
    AnyLoadBalancers, AnyObserved, AnyStep, Capability, Claim, CloudError, Doubt, Evidence, Fence, Instance,
    Instances, LoadBalancerPolicy, LoadBalancerRequest, NodeView, PlainPolicy, Power, Route, RouteChange,
    Routes, ServiceKey, async_trait,
};

use super::current::Current;

const NO_ROUTES: &str = "the configuration in use has no routes: [Route] router-id was removed from cloud.conf, or Neutron has no \
    extra routes any more; put it back, or restart";
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

    async fn presence(&self, nodes: &[Arc<NodeView>]) -> Vec<Evidence<Power>> {
        self.0.parts().servers.presence(nodes).await
    }

    async fn confirm(&self, node: &NodeView) -> Evidence<Instance> {
        self.0.parts().servers.confirm(node).await
    }
}

/// The routes.
pub(super) struct LiveRoutes(pub(super) Arc<Current>);

impl LiveRoutes {
    async fn inside(&self) -> Result<Arc<dyn Routes>, CloudError> {
        let parts = self.0.parts();
        // After a change of the configuration nobody has asked yet.
        parts.routes.find_out().await?;
        match parts.routes.capability() {
            Capability::Supported(routes) => Ok(routes),
            Capability::Unsupported => Err(CloudError::invalid(NO_ROUTES)),
            Capability::Unavailable(why) => Err(CloudError::transient(why)),
        }
    }
}

#[async_trait]
impl Routes for LiveRoutes {
    async fn list(&self, cluster: &str) -> Result<Vec<Route>, CloudError> {
        self.inside().await?.list(cluster).await
    }

    async fn apply(
        &self,
        cluster: &str,
        changes: &[RouteChange],
        fence: &dyn Fence,
    ) -> Vec<Result<(), CloudError>> {
        match self.inside().await {
            Ok(routes) => routes.apply(cluster, changes, fence).await,
            Err(error) => {
                let again = || CloudError::new(error.class(), error.to_string());
                changes.iter().map(|_| Err(again())).collect()
            }
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
    async fn observe(&self, requests: &[LoadBalancerRequest]) -> Vec<Result<Box<dyn AnyObserved>, Doubt>> {
        match self.inside() {
            Some(inside) => inside.observe(requests).await,
            None => requests.iter().map(|_| Err(Doubt::new(NO_BALANCERS))).collect(),
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

    fn policy(&self) -> Arc<dyn LoadBalancerPolicy> {
        self.inside()
            .map_or_else(|| Arc::new(PlainPolicy) as Arc<dyn LoadBalancerPolicy>, |inside| inside.policy())
    }
}
