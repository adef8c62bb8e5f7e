//! The load balancers of one project: observes and executes. Holds the state shared between calls; [`super::plan`] makes the decisions.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{
    CloudError, Doubt, EventSink, FairSemaphore, Fence, LoadBalancerPolicy, LoadBalancerRequest,
    LoadBalancers, Notes, ServiceKey, ServiceView, Text, async_trait,
};
use openstack_client::identity::{Version, VersionStatus};
use openstack_client::load_balancer::LoadBalancer;
use openstack_client::network::FloatingIp;
use openstack_client::{Client, ProjectId};
use tokio::sync::OnceCell;

use super::execute::PortTurns;
use super::features::{ApiVersion, Features};
use super::group::{LeftOvers, MadeGroups, SubnetRanges};
use super::intent::{drain_of, node_labels};
use super::memory::Memory;
use super::notes;
use super::observe::{Asking, SharedList};
use super::observed::Observed;
use super::resolve::Resolver;
use super::step::CloudStep;
use super::told::Told;
use super::trouble::Trouble;
use crate::config::{CloudConf, Tenancy};
use crate::inventory::Inventory;

/// How often pending operations are polled, once for all waiting Services.
const POLL_PERIOD: Duration = Duration::from_secs(2);

/// How many load balancers of one namespace are created concurrently. With OVN, Octavia creates them one after the other and answers when
/// each is done: further requests only wait until they time out.
const MAKE_AT_ONCE: usize = 8;

/// How many more are created concurrently for other namespaces.
const MAKE_FOR_OTHERS: usize = 2;

/// The load balancers of one project in one region.
pub struct Balancers {
    pub(super) client: Client,
    pub(super) conf: Arc<CloudConf>,
    /// The `[Tenancy]` rules of `conf`, shared by the plans of all Services.
    pub(super) tenancy: Arc<Tenancy>,
    /// The UID of the cluster; `None` while it is unknown.
    pub(super) cluster: Option<Text>,
    pub(super) events: Arc<dyn EventSink>,
    pub(super) memory: Memory,
    pub(super) making: Arc<FairSemaphore>,
    pub(super) told: Told,
    pub(super) resolver: Resolver,
    pub(super) left_overs: LeftOvers,
    pub(super) made_groups: Arc<MadeGroups>,
    pub(super) port_turns: Arc<PortTurns>,
    pub(super) ranges: SubnetRanges,
    pub(super) all_balancers: SharedList<Vec<LoadBalancer>>,
    pub(super) all_floating: SharedList<Vec<FloatingIp>>,
    pub(super) asking_balancers: Asking,
    pub(super) asking_floating: Asking,
    version: OnceCell<ApiVersion>,
}

impl fmt::Debug for Balancers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Balancers").field("client", &self.client).finish_non_exhaustive()
    }
}

/// The state of a project's load balancers that survives a change of the configuration: requests without a response, operations in
/// progress, and locks. Dropping this state would create duplicates.
#[derive(Debug, Clone)]
pub struct Lore {
    memory: Memory,
    made_groups: Arc<MadeGroups>,
    port_turns: Arc<PortTurns>,
}

impl Balancers {
    /// The load balancers of the client's project. Reads nothing until the first call. `cluster` is the UID of the cluster.
    #[must_use]
    pub fn new(
        client: Client,
        conf: Arc<CloudConf>,
        inventory: Arc<Inventory>,
        cluster: Option<Text>,
        events: Arc<dyn EventSink>,
    ) -> Self {
        // With retries in the client: a failed observation would cost every Service of the batch another one, and a change that failed only
        // temporarily another reconcile.
        let client = client.patient();
        Self {
            resolver: Resolver::new(client.clone(), inventory),
            client,
            memory: Memory::new(conf.load_balancer.provider_requires_serial_api_calls, None),
            tenancy: Arc::new(conf.tenancy.clone()),
            conf,
            cluster,
            events,
            making: FairSemaphore::with_reserve(MAKE_AT_ONCE, MAKE_FOR_OTHERS),
            told: Told::default(),
            left_overs: LeftOvers::default(),
            made_groups: Arc::default(),
            port_turns: Arc::default(),
            ranges: SubnetRanges::default(),
            all_balancers: SharedList::default(),
            all_floating: SharedList::default(),
            asking_balancers: Asking::default(),
            asking_floating: Asking::default(),
            version: OnceCell::new(),
        }
    }

    /// Sets the period after which load balancers are compared with their Services although nothing has changed.
    #[must_use]
    pub fn compared_every(mut self, period: Option<Duration>) -> Self {
        self.memory = Memory::new(self.conf.load_balancer.provider_requires_serial_api_calls, period);
        self
    }

    /// The state for the successor of this value after a change of the configuration.
    #[must_use]
    pub fn lore(&self) -> Lore {
        let (made_groups, port_turns) = (Arc::clone(&self.made_groups), Arc::clone(&self.port_turns));
        Lore { memory: self.memory.clone(), made_groups, port_turns }
    }

    /// Continues with the state from before a change of the configuration.
    #[must_use]
    pub fn knowing(self, lore: &Lore) -> Self {
        Self {
            memory: lore.memory.succeeded_by(&self.memory),
            made_groups: Arc::clone(&lore.made_groups),
            port_turns: Arc::clone(&lore.port_turns),
            ..self
        }
    }

    /// The features of the cloud.
    ///
    /// An error if they cannot be determined: if Octavia seemed to have no tags, a shared load balancer would look like one that the
    /// Service owns.
    pub(super) async fn features(&self) -> Result<Features, Trouble> {
        let read = || async {
            let first = self.read_version().await?;
            if first.is_whole {
                return Ok(first.newest);
            }
            // The list is truncated, or this cloud marks no version as current: accepted only if a second answer is complete or names the
            // same version.
            let again = self.read_version().await?;
            if again.is_whole || again.newest == first.newest {
                return Ok(again.newest);
            }
            Err(unknown_version("Octavia named versions of its API, but not all of them; it is asked again"))
        };
        let version = self.version.get_or_try_init(read).await?;
        Ok(Features::of(&self.conf.load_balancer.lb_provider, *version))
    }

    async fn read_version(&self) -> Result<NamedVersions, Trouble> {
        let versions = self.client.load_balancer().api_versions().await?;
        let newest = versions.iter().filter_map(Version::number).max();
        let (major, minor) = newest.ok_or_else(|| {
            unknown_version(
                "Octavia names no version of its API that could be read; see what its endpoint answers",
            )
        })?;
        let is_whole = versions.iter().any(|version| version.status == VersionStatus::Current);
        Ok(NamedVersions { newest: ApiVersion(major, minor), is_whole })
    }

    /// The features of load balancers of a provider; `None` while the API version is unknown.
    pub(super) fn features_of(&self, provider: &str) -> Option<Features> {
        self.version.get().map(|version| Features::of(provider, *version))
    }

    /// The project, which limits all lists: with the credentials of an administrator they would contain the whole cloud.
    pub(super) async fn project(&self) -> Result<ProjectId, Trouble> {
        let identity = self.client.identity().await?;
        identity.project_id.ok_or_else(|| {
            Trouble::refused(
                "the credentials are for no project, so they have no load balancers; give a project in cloud.conf (tenant-id)",
            )
        })
    }
}

/// The API versions that Octavia listed.
struct NamedVersions {
    newest: ApiVersion,
    /// Whether the version with status CURRENT is among them. A truncated list has the oldest versions, which have no tags, and tags are
    /// what distinguishes shared load balancers from owned ones.
    is_whole: bool,
}

fn unknown_version(why: &str) -> Trouble {
    Trouble::Unknown(Doubt::new(why))
}

#[async_trait]
impl LoadBalancers for Balancers {
    type Observed = Observed;

    async fn observe(&self, requests: &[LoadBalancerRequest]) -> Vec<Result<Observed, Doubt>> {
        self.look(requests).await
    }

    async fn execute(&self, step: &CloudStep, fence: &dyn Fence) -> Result<(), CloudError> {
        self.perform(step, fence).await
    }

    async fn poll(&self, waiting: &[LoadBalancerRequest]) -> Result<Vec<ServiceKey>, CloudError> {
        self.poll_all(waiting).await
    }

    fn policy(&self) -> Arc<dyn LoadBalancerPolicy> {
        Arc::new(Policy(Arc::clone(&self.conf)))
    }
}

/// The settings for Services that need no observation.
struct Policy(Arc<CloudConf>);

impl LoadBalancerPolicy for Policy {
    fn poll_period(&self) -> Duration {
        POLL_PERIOD
    }

    fn drains(&self, service: &ServiceView) -> Option<Duration> {
        drain_of(service, &self.0.load_balancer)
    }

    fn node_labels(&self, service: &ServiceView) -> BTreeSet<String> {
        node_labels(service, &self.0.load_balancer)
    }

    fn annotations_after_removal(&self) -> Notes {
        notes::removed()
    }
}
