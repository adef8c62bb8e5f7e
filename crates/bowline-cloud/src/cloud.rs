//! A cloud: the root of the interface. What it supports, and what it is given to work with.

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

    /// Whom the credentials stand for: the id of the project or account, read from the cloud itself. Asked from time to
    /// time, before a Node is deleted, and while the cloud refuses us: when the answer is not the one of the start,
    /// nothing is changed any more (safety rail SR-3). `None` if the cloud cannot say; then any answer of the cloud counts
    /// as a sign that it accepts us.
    async fn identity(&self) -> Result<Option<String>, CloudError> {
        Ok(None)
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

    /// An item each time the provider replaced its configuration by one that may ask for other load balancers. The service controller then
    /// reconciles every Service, as it does after a restart. The default never yields.
    fn reconfigurations(&self) -> BoxStream<'static, ()> {
        stream::pending().boxed()
    }

    /// Controllers of the cloud's own, run by the manager beside the common ones. Asked for before leadership.
    fn extra_controllers(&self) -> Vec<Arc<dyn ExtraController>> {
        Vec::new()
    }

    /// Work for a Service came to an end: for the metrics of a cloud. Nothing waits for this, and it decides nothing.
    fn concluded(&self, _reconciled: Reconciled) {}

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

/// What a cloud is given to work with. It holds no fence on purpose: whoever asks the cloud for a change hands over the
/// fence of the lock it works under. Work of the cloud's own that changes things belongs into an [`ExtraController`].
#[derive(Clone)]
#[non_exhaustive]
pub struct CloudContext {
    /// `--cluster-name`.
    pub cluster_name: Arc<str>,
    /// The UID of the cluster, if it is known: two clusters may have one name.
    pub cluster_uid: Option<Arc<str>>,
    /// How often a load balancer is compared with its Service although nothing changed; `None` for never. What a cloud remembers
    /// of one has to be read again by then.
    pub compared_every: Option<Duration>,
    /// Asked before every call.
    pub budget: Arc<dyn CallBudget>,
    /// For events on Nodes and Services.
    pub events: Arc<dyn EventSink>,
    /// Where calls are noted, for the status page.
    pub journal: Journal,
    stop: Shared<BoxFuture<'static, ()>>,
}

impl CloudContext {
    /// A context without a limit, without events and without an end: what a test of a provider needs.
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

    /// In the cluster with this UID.
    #[must_use]
    pub fn with_cluster_uid(mut self, uid: Option<impl Into<Arc<str>>>) -> Self {
        self.cluster_uid = uid.map(Into::into);
        self
    }

    /// Where load balancers are compared with their Services so often.
    #[must_use]
    pub fn with_comparisons(mut self, every: Option<Duration>) -> Self {
        self.compared_every = every;
        self
    }

    /// With this call budget.
    #[must_use]
    pub fn with_budget(mut self, budget: Arc<dyn CallBudget>) -> Self {
        self.budget = budget;
        self
    }

    /// With these events.
    #[must_use]
    pub fn with_events(mut self, events: Arc<dyn EventSink>) -> Self {
        self.events = events;
        self
    }

    /// With this journal.
    #[must_use]
    pub fn with_journal(mut self, journal: Journal) -> Self {
        self.journal = journal;
        self
    }

    /// Ending when `stop` does.
    #[must_use]
    pub fn with_stop(mut self, stop: impl Future<Output = ()> + Send + 'static) -> Self {
        self.stop = stop.boxed().shared();
        self
    }

    /// Returns when the process stops working: what the cloud runs in the background must end then.
    pub async fn stopped(&self) {
        self.stop.clone().await;
    }
}

impl fmt::Debug for CloudContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CloudContext").field("cluster_name", &self.cluster_name).finish_non_exhaustive()
    }
}

/// What a cloud is made from.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct CloudConfig {
    /// The contents of the `--cloud-config` file; `None` if the flag was not given, which is not the same as an empty
    /// file. May hold secrets: no error message may quote it.
    pub text: Option<String>,
    /// The path of that file, for clouds that look at it again while they run.
    pub path: Option<PathBuf>,
    /// The provider's own flags by name, as text: one value, or as many as a list or a repeatable flag was given.
    pub flags: BTreeMap<String, Vec<String>>,
    /// Reads Secrets that the configuration points to.
    pub secrets: Option<Arc<dyn SecretReader>>,
}

impl CloudConfig {
    /// A configuration with this text and no flags.
    #[must_use]
    pub fn new(text: Option<String>) -> Self {
        Self { text, ..Self::default() }
    }

    /// Read from this file.
    #[must_use]
    pub fn with_path(mut self, path: Option<PathBuf>) -> Self {
        self.path = path;
        self
    }

    /// With these flags.
    #[must_use]
    pub fn with_flags(mut self, flags: BTreeMap<String, Vec<String>>) -> Self {
        self.flags = flags;
        self
    }

    /// With somebody who reads Secrets.
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

/// Makes a cloud from its configuration. It may read files the configuration names, but makes no call to the cloud:
/// every replica makes one, leader or not. It is waited for, since a Secret that the configuration points to has to be read.
pub type CloudFactory =
    Box<dyn Fn(CloudConfig) -> BoxFuture<'static, Result<Arc<dyn Cloud>, CloudError>> + Send + Sync>;
