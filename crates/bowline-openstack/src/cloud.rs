//! OpenStack as a cloud of the framework: made from cloud.conf, kept current while it changes, and handed out in parts.
//!
//! Nothing of the work is done here: [`instances`](crate::instances) and its neighbours do it, and are plugged together in
//! `cloud/parts.rs`. No call is made before this process leads.

mod budget;
mod clients;
mod current;
mod journal;
mod limits;
mod live;
mod metrics;
mod offer;
mod parts;
mod reconciles;
#[cfg(test)]
mod tests;
mod user_agent;

use std::sync::Arc;

use bowline_cloud::{
    AnyLoadBalancers, Capability, Cloud, CloudConfig, CloudContext, CloudError, ErrorClass, Instances,
    Reconciled, Routes, async_trait,
};
use futures::stream::BoxStream;
use openstack_client::{ApiMetrics, Client, WallClock};
use parking_lot::Mutex;
use prometheus_client::registry::Registry;
use tokio_util::task::AbortOnDropHandle;

use self::budget::SharedBudget;
use self::clients::Clients;
pub use self::clients::{Connect, over_the_network};
use self::current::Current;
use self::journal::SharedJournal;
use self::limits::LimitMetrics;
use self::live::{LiveInstances, LiveLoadBalancers, LiveRoutes};
use self::metrics::ConfigMetrics;
use self::reconciles::ReconcileMetrics;
use self::user_agent::user_agent;
use crate::config::{ConfigSource, Environment, LoadBalancer, Reloader, Site};
use crate::error::cloud_error;

/// The value of `--cloud-provider`, and the scheme of provider IDs.
pub const NAME: &str = "openstack";

/// The provider's own flag: parts of the `User-Agent`, each put before what there is.
pub const USER_AGENT_FLAG: &str = "user-agent";

/// What a cloud is made with beside its configuration.
pub struct Surroundings {
    /// How clouds are reached.
    pub connect: Connect,
    /// Tells dates; none is that of the system.
    pub clock: Option<WallClock>,
    /// The variables that count beside cloud.conf.
    pub environment: Environment,
    /// The version of the binary, for `User-Agent`.
    pub version: String,
    /// What goes before it there.
    pub user_agent: Vec<String>,
}

impl Surroundings {
    /// Those of this process.
    #[must_use]
    pub fn of_process(version: &str) -> Self {
        Self {
            connect: over_the_network(),
            clock: None,
            environment: Environment::of_process(),
            version: version.to_owned(),
            user_agent: Vec::new(),
        }
    }
}

/// One project in one region of an OpenStack.
pub struct OpenStackCloud {
    current: Arc<Current>,
    metrics: Arc<ConfigMetrics>,
    reconciles: ReconcileMetrics,
    limits: Arc<LimitMetrics>,
    background: Mutex<Option<AbortOnDropHandle<()>>>,
}

impl OpenStackCloud {
    /// The cloud of `--cloud-config`, with the provider's own flags.
    ///
    /// # Errors
    ///
    /// [`CloudError`] of class `Invalid` with all that is wrong with the configuration, by file, line and key.
    pub async fn from_config(config: &CloudConfig, mut around: Surroundings) -> Result<Self, CloudError> {
        around.user_agent.extend(config.flags.get(USER_AGENT_FLAG).cloned().unwrap_or_default());
        let site = Site::of(config, around.environment.clone());
        Self::start(Arc::new(site), around).await
    }

    /// The cloud of a configuration from elsewhere.
    ///
    /// # Errors
    ///
    /// [`CloudError`] as for [`from_config`](Self::from_config).
    pub async fn start(source: Arc<dyn ConfigSource>, around: Surroundings) -> Result<Self, CloudError> {
        let Surroundings { connect, clock, environment, version, user_agent: extra } = around;
        let clients = Arc::new(Clients {
            connect,
            user_agent: user_agent(&version, &extra)?,
            metrics: ApiMetrics::default(),
            budget: Arc::new(SharedBudget::default()),
            journal: Arc::new(SharedJournal::default()),
            clock,
        });
        let reloader = Reloader::start(source, clients.clone()).await;
        let reloader = reloader.map_err(|error| CloudError::invalid(error.to_string()))?;
        let current = Current::new(reloader, clients, environment);
        let current = current.map_err(|error| CloudError::invalid(error.to_string()))?;
        Ok(Self {
            current: Arc::new(current),
            metrics: Arc::default(),
            reconciles: ReconcileMetrics::default(),
            limits: Arc::default(),
            background: Mutex::default(),
        })
    }

    /// A client of the configuration in use, for work outside the framework.
    #[must_use]
    pub fn client(&self) -> Client {
        self.current.parts().client.clone()
    }

    /// What `[LoadBalancer]` of the configuration in use says, for work outside the framework.
    #[must_use]
    pub fn balancing(&self) -> LoadBalancer {
        self.current.parts().configuration.conf.load_balancer.clone()
    }

    /// Keeps the configuration and the limits current, to the end of work.
    fn work_in_background(&self, context: &CloudContext) {
        let mut background = self.background.lock();
        if background.is_some() {
            return;
        }
        let (current, metrics, context) = (self.current.clone(), self.metrics.clone(), context.clone());
        let limits = self.limits.clone();
        let work = async move {
            tokio::select! {
                biased;
                () = context.stopped() => {}
                () = current.reloader.run() => {}
                () = current.keep_looking() => {}
                () = metrics.follow(&current.reloader) => {}
                () = limits.follow(&current) => {}
            }
        };
        *background = Some(AbortOnDropHandle::new(tokio::spawn(work)));
    }
}

#[async_trait]
impl Cloud for OpenStackCloud {
    fn name(&self) -> &str {
        NAME
    }

    /// Asks Keystone for a token, so that what is wrong with the credentials is told first. Meanwhile a new configuration
    /// is taken already: it may be what helps.
    async fn initialize(&self, context: &CloudContext) -> Result<(), CloudError> {
        self.current.work_in(context);
        self.work_in_background(context);
        self.current.learn().await.map(drop)
    }

    async fn identity(&self) -> Result<Option<String>, CloudError> {
        let identity = self.current.parts().client.undisputed_identity().await.map_err(cloud_error)?;
        let Some(project) = identity.project_id else {
            let why = "the credentials are for no project; give one in cloud.conf (tenant-id)";
            return Err(CloudError::new(ErrorClass::Invalid, why));
        };
        self.current.reloader.remember(project.clone());
        Ok(Some(project.to_string()))
    }

    fn instances(&self) -> Capability<Arc<dyn Instances>> {
        let can = offer::instances(&self.current.known(), &self.current.parts().configuration);
        with(can, || -> Option<Arc<dyn Instances>> { Some(Arc::new(LiveInstances(self.current.clone()))) })
    }

    fn load_balancers(&self) -> Capability<Arc<dyn AnyLoadBalancers>> {
        let parts = self.current.parts();
        let can = offer::load_balancers(&self.current.known(), &parts.configuration);
        let live = || -> Arc<dyn AnyLoadBalancers> { Arc::new(LiveLoadBalancers(self.current.clone())) };
        with(can, || parts.load_balancers.is_some().then(live))
    }

    fn routes(&self) -> Capability<Arc<dyn Routes>> {
        let parts = self.current.parts();
        match (offer::routes(&self.current.known(), &parts.configuration), parts.routes.capability()) {
            (Capability::Supported(()), Capability::Supported(_now)) => {
                Capability::Supported(Arc::new(LiveRoutes(self.current.clone())))
            }
            (Capability::Unavailable(why), _) | (Capability::Supported(()), Capability::Unavailable(why)) => {
                Capability::Unavailable(why)
            }
            _ => Capability::Unsupported,
        }
    }

    fn reconfigurations(&self) -> BoxStream<'static, ()> {
        self.current.reloader.new_settings()
    }

    fn concluded(&self, reconciled: Reconciled) {
        self.reconciles.observe(reconciled);
    }

    fn register_metrics(&self, registry: &mut Registry) {
        self.current.clients.metrics.show_in(registry);
        self.metrics.show_in(registry);
        self.reconciles.show_in(registry);
        self.limits.show_in(registry);
    }
}

/// The part itself where it can be had; one that is not plugged in is never there.
fn with<T>(can: Capability<()>, part: impl FnOnce() -> Option<T>) -> Capability<T> {
    match can {
        Capability::Supported(()) => part().map_or(Capability::Unsupported, Capability::Supported),
        Capability::Unsupported => Capability::Unsupported,
        Capability::Unavailable(why) => Capability::Unavailable(why),
    }
}
