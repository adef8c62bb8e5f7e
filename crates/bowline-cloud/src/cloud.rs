//! A cloud: the root of the interface. What it supports, and what it is given to work with.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use prometheus_client::registry::Registry;

use crate::budget::CallBudget;
use crate::events::EventSink;
use crate::extra::ExtraController;
use crate::instances::Instances;
use crate::loadbalancer::AnyLoadBalancers;
use crate::routes::Routes;
use crate::{CloudError, Fence};

/// A cloud. Accessors are called often and must be cheap.
#[async_trait]
pub trait Cloud: Send + Sync {
    /// The provider's name: the scheme of its provider IDs and the value of `--cloud-provider`.
    fn name(&self) -> &str;

    /// Whether the cloud can tell clusters apart. If not, `--allow-untagged-cloud` must be given.
    fn has_cluster_id(&self) -> bool {
        true
    }

    /// Called once, after this process became leader and before any controller starts. Not for long work: what takes
    /// long belongs into the accessors as [`Capability::Unavailable`] until it is there.
    async fn initialize(&self, _context: &CloudContext) -> Result<(), CloudError> {
        Ok(())
    }

    /// The machines behind the Nodes.
    fn instances(&self) -> Capability<Arc<dyn Instances>> {
        Capability::Unsupported
    }

    /// The load balancers.
    fn load_balancers(&self) -> Capability<Arc<dyn AnyLoadBalancers>> {
        Capability::Unsupported
    }

    /// The routes.
    fn routes(&self) -> Capability<Arc<dyn Routes>> {
        Capability::Unsupported
    }

    /// Controllers of the cloud's own, run by the manager beside the common ones. Asked for before leadership.
    fn extra_controllers(&self) -> Vec<Arc<dyn ExtraController>> {
        Vec::new()
    }

    /// Adds the cloud's own metrics to the scrape. Called once, at start.
    fn register_metrics(&self, _registry: &mut Registry) {}
}

/// What a cloud can do.
#[derive(Debug, Clone)]
pub enum Capability<T> {
    /// It can, through this.
    Supported(T),
    /// It never can: its controllers are not started.
    Unsupported,
    /// It cannot now, because a service of the cloud is missing or failing: its controllers are retried and reported,
    /// the others run (safety rail SR-11).
    Unavailable(String),
}

/// What a cloud is given to work with.
#[derive(Clone)]
#[non_exhaustive]
pub struct CloudContext {
    /// `--cluster-name`.
    pub cluster_name: Arc<str>,
    /// Asked right before every mutating call.
    pub fence: Arc<dyn Fence>,
    /// Asked before every call.
    pub budget: Arc<dyn CallBudget>,
    /// For events on Nodes and Services.
    pub events: Arc<dyn EventSink>,
}

impl CloudContext {
    /// What the manager hands to a cloud; tests of a provider make their own.
    #[must_use]
    pub fn new(
        cluster_name: impl Into<Arc<str>>,
        fence: Arc<dyn Fence>,
        budget: Arc<dyn CallBudget>,
        events: Arc<dyn EventSink>,
    ) -> Self {
        Self { cluster_name: cluster_name.into(), fence, budget, events }
    }
}

impl fmt::Debug for CloudContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CloudContext").field("cluster_name", &self.cluster_name).finish_non_exhaustive()
    }
}

/// The contents of the `--cloud-config` file; `None` if the flag was not given, which is not the same as an empty file.
pub type CloudConfig<'a> = Option<&'a str>;

/// Makes a cloud from its configuration. It may read files the configuration names, but makes no call to the cloud:
/// every replica makes one, leader or not.
pub type CloudFactory = Box<dyn Fn(CloudConfig<'_>) -> Result<Arc<dyn Cloud>, CloudError> + Send + Sync>;
