//! The cloud as a process with a bug has it: the provider, with one of its parts exchanged for one that lies.

use std::sync::Arc;

use async_trait::async_trait;
use bowline_cloud::{
    AnyLoadBalancers, Capability, Cloud, CloudContext, CloudError, ExtraController, Instances, Reconciled,
    Routes,
};
use futures::stream::BoxStream;
use prometheus_client::registry::Registry;

use super::Workshop;
use super::balancers::Balancers;
use super::machines::Machines;
use super::paths::Paths;
use crate::cloud_link::CloudLink;

/// The cloud as the process has it: itself, if there is no bug.
#[must_use]
pub(crate) fn over_cloud(link: CloudLink, cloud: Arc<dyn Cloud>) -> Arc<dyn Cloud> {
    if link.workshop.piece.is_none() { cloud } else { Arc::new(Lying { inner: cloud, link }) }
}

struct Lying {
    inner: Arc<dyn Cloud>,
    link: CloudLink,
}

impl Lying {
    fn workshop(&self) -> Workshop {
        self.link.workshop.clone()
    }
}

fn over<T, U>(capability: Capability<T>, wrap: impl FnOnce(T) -> U) -> Capability<U> {
    match capability {
        Capability::Supported(inner) => Capability::Supported(wrap(inner)),
        Capability::Unsupported => Capability::Unsupported,
        Capability::Unavailable(why) => Capability::Unavailable(why),
    }
}

#[async_trait]
impl Cloud for Lying {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn has_cluster_id(&self) -> bool {
        self.inner.has_cluster_id()
    }

    async fn initialize(&self, context: &CloudContext) -> Result<(), CloudError> {
        self.inner.initialize(context).await
    }

    async fn identity(&self) -> Result<Option<String>, CloudError> {
        self.inner.identity().await
    }

    fn instances(&self) -> Capability<Arc<dyn Instances>> {
        let workshop = self.workshop();
        over(self.inner.instances(), |inner| Arc::new(Machines { inner, workshop }) as Arc<dyn Instances>)
    }

    fn load_balancers(&self) -> Capability<Arc<dyn AnyLoadBalancers>> {
        let link = self.link.clone();
        over(self.inner.load_balancers(), |inner| {
            Arc::new(Balancers { inner, link }) as Arc<dyn AnyLoadBalancers>
        })
    }

    fn routes(&self) -> Capability<Arc<dyn Routes>> {
        let workshop = self.workshop();
        over(self.inner.routes(), |inner| Arc::new(Paths { inner, workshop }) as Arc<dyn Routes>)
    }

    fn reconfigurations(&self) -> BoxStream<'static, ()> {
        self.inner.reconfigurations()
    }

    fn extra_controllers(&self) -> Vec<Arc<dyn ExtraController>> {
        self.inner.extra_controllers()
    }

    fn concluded(&self, reconciled: Reconciled) {
        self.inner.concluded(reconciled);
    }

    fn register_metrics(&self, registry: &mut Registry) {
        self.inner.register_metrics(registry);
    }
}
