//! The root of the provider interface: what a cloud supports, and the context and configuration that the framework passes to it.

use std::collections::BTreeMap;
use std::fmt;
use std::future::{Future, pending};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::{BoxFuture, Shared};
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use prometheus_client::registry::Registry;

use crate::CloudError;
use crate::events::{EventSink, NoEvents};
use crate::extra::ExtraController;
use crate::instances::Instances;
use crate::journal::Journal;
use crate::load_balancer::{AnyLoadBalancers, Reconciled};
use crate::routes::Routes;
use crate::secrets::SecretReader;
use crate::{CallBudget, Unlimited};

/// A cloud provider. The framework calls the accessors often, so they must be cheap.
#[async_trait]
pub trait Cloud: Send + Sync {
    /// The provider's name: the scheme of its provider IDs and the value of `--cloud-provider`.
    fn name(&self) -> &str;

    /// Whether the cloud can tell clusters apart. If not, the process starts only with `--allow-untagged-cloud`.
    fn has_cluster_id(&self) -> bool {
        true
    }

    /// Called after this process became leader and before any controller starts. If it fails, the framework retries it until it succeeds.
    /// It should return quickly: until slow preparations are complete, the accessors return [`Capability::Unavailable`].
    async fn initialize(&self, _context: &CloudContext) -> Result<(), CloudError> {
        Ok(())
    }

    /// The id of the project or account that the credentials belong to, read from the cloud itself. The framework calls this periodically,
    /// while the cloud rejects the credentials, and before it trusts that an instance or load balancer is absent, and before it changes
    /// routes. If the id differs from the one at start, all changes stop (safety rail SR-3). `None` if the cloud cannot report it; then any
    /// successful answer of the cloud counts as a sign that it accepts the credentials.
    async fn identity(&self) -> Result<Option<String>, CloudError> {
        Ok(None)
    }

    /// The instances (machines) behind the Nodes.
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

    /// Yields an item each time the provider replaced its configuration by one that may lead to other load balancers. The service
    /// controller then reconciles every Service, as it does after a restart. The default never yields.
    fn reconfigurations(&self) -> BoxStream<'static, ()> {
        stream::pending().boxed()
    }

    /// Controllers that only this cloud has. The manager runs them with the common ones. Called before this process becomes leader.
    fn extra_controllers(&self) -> Vec<Arc<dyn ExtraController>> {
        Vec::new()
    }

    /// Called when a reconcile of a Service ends, for the provider's metrics. The result has no influence on the framework.
    fn concluded(&self, _reconciled: Reconciled) {}

    /// Registers the provider's own metrics. Called once, at start.
    fn register_metrics(&self, _registry: &mut Registry) {}
}

/// Whether a cloud supports a part of the interface.
#[derive(Debug, Clone)]
pub enum Capability<T> {
    /// Supported; the value implements it.
    Supported(T),
    /// Never supported with this configuration: its controllers are not started.
    Unsupported,
    /// Not available now, because a service of the cloud is missing or failing; the text is the reason. Its controllers are retried and the
    /// problem is reported, while the other controllers run (safety rail SR-11).
    Unavailable(String),
}

/// What the framework passes to a cloud at [`Cloud::initialize`]. It contains no [`Fence`](crate::Fence) on purpose: a caller that requests
/// a change passes the fence of the lease that it works under. Changes that a cloud makes on its own belong in an [`ExtraController`].
#[derive(Clone)]
#[non_exhaustive]
pub struct CloudContext {
    /// `--cluster-name`.
    pub cluster_name: Arc<str>,
    /// The UID of the cluster, because two clusters may have the same name; `None` if it is unknown.
    pub cluster_uid: Option<Arc<str>>,
    /// How often the service controller compares each load balancer with its Service even if nothing changed; `None` for never. A provider
    /// must not cache the state of a load balancer for longer than this.
    pub compared_every: Option<Duration>,
    /// The rate limiter. The provider acquires a permit before every call to the cloud.
    pub budget: Arc<dyn CallBudget>,
    /// The sink for events on Nodes and Services.
    pub events: Arc<dyn EventSink>,
    /// Records calls to the cloud for the status page.
    pub journal: Journal,
    stop: Shared<BoxFuture<'static, ()>>,
}

impl CloudContext {
    /// A context without rate limit and events that never stops, for tests of providers.
    #[must_use]
    pub fn new(cluster_name: impl Into<Arc<str>>) -> Self {
        Self {
            cluster_name: cluster_name.into(),
            cluster_uid: None,
            compared_every: None,
            budget: Arc::new(Unlimited),
            events: Arc::new(NoEvents),
            journal: Journal::default(),
            stop: pending().boxed().shared(),
        }
    }

    /// Sets the UID of the cluster.
    #[must_use]
    pub fn with_cluster_uid(mut self, uid: Option<impl Into<Arc<str>>>) -> Self {
        self.cluster_uid = uid.map(Into::into);
        self
    }

    /// Sets the period of comparisons, see [`compared_every`](Self::compared_every).
    #[must_use]
    pub fn with_comparisons(mut self, every: Option<Duration>) -> Self {
        self.compared_every = every;
        self
    }

    /// Sets the rate limiter.
    #[must_use]
    pub fn with_budget(mut self, budget: Arc<dyn CallBudget>) -> Self {
        self.budget = budget;
        self
    }

    /// Sets the event sink.
    #[must_use]
    pub fn with_events(mut self, events: Arc<dyn EventSink>) -> Self {
        self.events = events;
        self
    }

    /// Sets the journal.
    #[must_use]
    pub fn with_journal(mut self, journal: Journal) -> Self {
        self.journal = journal;
        self
    }

    /// Sets the future whose end stops the cloud.
    #[must_use]
    pub fn with_stop(mut self, stop: impl Future<Output = ()> + Send + 'static) -> Self {
        self.stop = stop.boxed().shared();
        self
    }

    /// Returns when the process stops working. All background tasks of the cloud must end then.
    pub async fn stopped(&self) {
        self.stop.clone().await;
    }
}

impl fmt::Debug for CloudContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CloudContext").field("cluster_name", &self.cluster_name).finish_non_exhaustive()
    }
}

/// The configuration that a [`CloudFactory`] creates a cloud from.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct CloudConfig {
    /// The contents of the `--cloud-config` file; `None` if the flag was not given, which differs from an empty file. It may contain
    /// secrets: error messages must not quote it.
    pub text: Option<String>,
    /// The path of that file, for clouds that reload it while they run.
    pub path: Option<PathBuf>,
    /// The provider's own flags by name, as text: one value, or several for a list or a repeated flag.
    pub flags: BTreeMap<String, Vec<String>>,
    /// Reads Secrets that the configuration refers to; `None` if there is no reader.
    pub secrets: Option<Arc<dyn SecretReader>>,
}

impl CloudConfig {
    /// A configuration with this text and no flags.
    #[must_use]
    pub fn new(text: Option<String>) -> Self {
        Self { text, ..Self::default() }
    }

    /// Sets the path of the configuration file.
    #[must_use]
    pub fn with_path(mut self, path: Option<PathBuf>) -> Self {
        self.path = path;
        self
    }

    /// Sets the provider's flags.
    #[must_use]
    pub fn with_flags(mut self, flags: BTreeMap<String, Vec<String>>) -> Self {
        self.flags = flags;
        self
    }

    /// Sets the reader of Secrets.
    #[must_use]
    pub fn with_secrets(mut self, secrets: Arc<dyn SecretReader>) -> Self {
        self.secrets = Some(secrets);
        self
    }
}

impl fmt::Debug for CloudConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CloudConfig")
            .field("text", &self.text.as_ref().map(|text| format!("{} bytes", text.len())))
            .field("path", &self.path)
            .field("flags", &self.flags)
            .finish_non_exhaustive()
    }
}

/// Creates a cloud from its configuration. Every replica calls it, leader or not, so it must not call the cloud. It may read files that the
/// configuration names, and is asynchronous because it may have to read a Secret.
pub type CloudFactory =
    Box<dyn Fn(CloudConfig) -> BoxFuture<'static, Result<Arc<dyn Cloud>, CloudError>> + Send + Sync>;
