//! The load balancers of one project: looks, plans by pure functions, performs. Holds what they share; decides nothing.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{
    BalancerPicture, Broken, CloudError, EventSink, Evidence, FairSemaphore, Fence, LoadBalancerRequest,
    LoadBalancerStatus, LoadBalancers, Notes, Plan, Purpose, Refusal, ServiceKey, ServiceView, Shortfall,
    Text, async_trait,
};
use jiff::Timestamp;
use openstack_client::identity::{Version, VersionStatus};
use openstack_client::load_balancer::LoadBalancer;
use openstack_client::network::FloatingIp;
use openstack_client::{Client, ProjectId};
use tokio::sync::OnceCell;

use super::broken;
use super::execute::PortTurns;
use super::features::{ApiVersion, Features};
use super::fingerprint;
use super::found::Found;
use super::group::{LeftOvers, MadeGroups, SubnetRanges};
use super::intent::{Removal, drain_of, node_labels};
use super::memory::Memory;
use super::names::Names;
use super::notes;
use super::observe::{Asking, SharedList};
use super::picture;
use super::plan;
use super::resolve::Resolver;
use super::shortfalls;
use super::step::CloudStep;
use super::told::Told;
use super::trouble::Trouble;
use super::wanted::Wanted;
use crate::config::{CloudConf, Tenancy};
use crate::inventory::Inventory;

/// How often what is pending is asked for, once for all who wait.
const POLL_PERIOD: Duration = Duration::from_secs(2);

/// How many load balancers of one namespace are created at once. With OVN, Octavia creates one after the other and answers when it is
/// done: further requests only wait, until they time out.
const MAKE_AT_ONCE: usize = 8;

/// How many more are created at once for other namespaces.
const MAKE_FOR_OTHERS: usize = 2;

/// The load balancers of one project in one region.
pub struct Balancers {
    pub(super) client: Client,
    pub(super) conf: Arc<CloudConf>,
    /// The rules of `conf`, for the plans of all Services.
    pub(super) tenancy: Arc<Tenancy>,
    /// The UID of the cluster, if it is known.
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

/// What stays known of a project's load balancers when the configuration changes: what was asked for without an answer, what is under
/// way, and whose turn it is. Whoever forgets that makes things twice.
#[derive(Debug, Clone)]
pub struct Lore {
    memory: Memory,
    made_groups: Arc<MadeGroups>,
    port_turns: Arc<PortTurns>,
}

/// What was seen for a Service, with what it is compared with.
#[derive(Debug)]
pub enum Observed {
    /// Its wish cannot be fulfilled as it is.
    Refused(Refusal),
    /// A load balancer shall be there.
    Ensure {
        /// What is wanted.
        wanted: Box<Wanted>,
        /// What is there.
        found: Box<Found>,
    },
    /// It shall go.
    Remove {
        /// What is to go.
        removal: Box<Removal>,
        /// What is there.
        found: Box<Found>,
    },
}

impl Balancers {
    /// The load balancers of the client's project. Nothing is read before it is asked for. `cluster` is the UID of the cluster.
    #[must_use]
    pub fn new(
        client: Client,
        conf: Arc<CloudConf>,
        inventory: Arc<Inventory>,
        cluster: Option<Text>,
        events: Arc<dyn EventSink>,
    ) -> Self {
        // A look that fails costs all who share it another one, and a change that was only refused for a moment one of its own.
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

    /// Where they are compared with their Services so often, although nothing changed.
    #[must_use]
    pub fn compared_every(mut self, period: Option<Duration>) -> Self {
        self.memory = Memory::new(self.conf.load_balancer.provider_requires_serial_api_calls, period);
        self
    }

    /// What is to be handed on to the next ones of this project.
    #[must_use]
    pub fn lore(&self) -> Lore {
        let (made_groups, port_turns) = (Arc::clone(&self.made_groups), Arc::clone(&self.port_turns));
        Lore { memory: self.memory.clone(), made_groups, port_turns }
    }

    /// Goes on with what was known under the configuration before.
    #[must_use]
    pub fn knowing(self, lore: &Lore) -> Self {
        Self {
            memory: lore.memory.succeeded_by(&self.memory),
            made_groups: Arc::clone(&lore.made_groups),
            port_turns: Arc::clone(&lore.port_turns),
            ..self
        }
    }

    /// What the cloud can do. Where that cannot be learned nothing is concluded: an Octavia without tags would make every shared
    /// load balancer look like one's own.
    pub(super) async fn features(&self) -> Result<Features, Trouble> {
        let read = || async {
            let first = self.read_version().await?;
            if first.is_whole {
                return Ok(first.newest);
            }
            // Cut short, or of a cloud that calls none current: believed if it says the same once more.
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

    /// What load balancers of a provider can do, once the version is known.
    pub(super) fn features_of(&self, provider: &str) -> Option<Features> {
        self.version.get().map(|version| Features::of(provider, *version))
    }

    /// The project, by which all lists are limited: an administrator would see those of the whole cloud.
    pub(super) async fn project(&self) -> Result<ProjectId, Trouble> {
        let identity = self.client.identity().await?;
        identity.project_id.ok_or_else(|| {
            Trouble::refused(
                "the credentials are for no project, so they have no load balancers; give a project in cloud.conf (tenant-id)",
            )
        })
    }
}

/// The versions of its API that Octavia named.
struct NamedVersions {
    newest: ApiVersion,
    /// Whether the current one is among them. A list that was cut short has the oldest, and who believes it thinks that there are no
    /// tags, by which shared load balancers are told from one's own.
    is_whole: bool,
}

fn unknown_version(why: &str) -> Trouble {
    Trouble::Unknown(bowline_cloud::Doubt::new(why))
}

#[async_trait]
impl LoadBalancers for Balancers {
    type Observed = Observed;
    type Step = CloudStep;

    fn name(&self, request: &LoadBalancerRequest) -> String {
        Names::of(&request.cluster, &request.service).load_balancer()
    }

    async fn observe(&self, requests: &[LoadBalancerRequest]) -> Vec<Evidence<Observed>> {
        self.look(requests).await
    }

    fn plan(
        &self,
        request: &LoadBalancerRequest,
        observed: Option<&Observed>,
        _now: Timestamp,
    ) -> Plan<CloudStep, LoadBalancerStatus> {
        let mut plan = match observed {
            Some(Observed::Refused(refusal)) => Plan::Refuse(refusal.clone()),
            Some(Observed::Ensure { wanted, found }) => plan::ensure(wanted, found),
            Some(Observed::Remove { removal, found }) => plan::remove(removal, found),
            None if request.purpose == Purpose::Remove => Plan::Settled(LoadBalancerStatus::default()),
            None => Plan::Refuse(Refusal { problems: vec![NOT_LOOKED_AT.to_owned()] }),
        };
        if let Plan::Act(steps) = &mut plan {
            steps.iter_mut().for_each(|planned| planned.step.for_whom_it_is(request.urgency));
        }
        plan
    }

    fn notes(&self, request: &LoadBalancerRequest, observed: Option<&Observed>) -> Notes {
        match observed {
            Some(Observed::Ensure { wanted, found }) => {
                notes::notes(wanted, found, super::observe::hinted_address(&request.service).is_some())
            }
            None if request.purpose == Purpose::Remove => notes::removed(),
            _ => Notes::default(),
        }
    }

    fn fingerprint(&self, request: &LoadBalancerRequest, observed: Option<&Observed>) -> Option<Text> {
        let Observed::Ensure { wanted, found } = observed? else { return None };
        fingerprint::of(wanted, &found.balancer.as_ref()?.balancer, &request.service)
    }

    fn outlook(
        &self,
        _request: &LoadBalancerRequest,
        observed: Option<&Observed>,
    ) -> Option<LoadBalancerStatus> {
        match observed? {
            Observed::Ensure { wanted, found } => plan::outlook(wanted, found),
            Observed::Refused(_) | Observed::Remove { .. } => None,
        }
    }

    fn picture(&self, request: &LoadBalancerRequest, observed: Option<&Observed>) -> Option<BalancerPicture> {
        let names = Names::of(&request.cluster, &request.service);
        match observed? {
            Observed::Ensure { wanted, found } => picture::picture(&names, Some(wanted), found),
            Observed::Remove { found, .. } => picture::picture(&names, None, found),
            Observed::Refused(_) => None,
        }
    }

    fn broken(&self, _request: &LoadBalancerRequest, observed: Option<&Observed>) -> Option<Broken> {
        let Observed::Ensure { wanted, found } = observed? else { return None };
        // One that the Service only names, or may not use, is no load balancer of the Service.
        let there = found.balancer.as_ref().filter(|there| broken::is_broken(&there.balancer))?;
        if !plan::has(wanted, found) {
            return None;
        }
        Some(Broken { id: there.balancer.id.to_string(), traffic: broken::traffic(there, found) })
    }

    fn shortfalls(&self, _request: &LoadBalancerRequest, observed: Option<&Observed>) -> Vec<Shortfall> {
        match observed {
            Some(Observed::Ensure { wanted, found }) => shortfalls::shortfalls(wanted, found),
            _ => Vec::new(),
        }
    }

    async fn execute(&self, step: &CloudStep, fence: &dyn Fence) -> Result<(), CloudError> {
        self.perform(step, fence).await
    }

    async fn poll(&self, waiting: &[LoadBalancerRequest]) -> Result<Vec<ServiceKey>, CloudError> {
        self.poll_all(waiting).await
    }

    fn poll_period(&self) -> Duration {
        POLL_PERIOD
    }

    fn drains(&self, service: &ServiceView) -> Option<Duration> {
        drain_of(service, &self.conf.load_balancer)
    }

    fn node_labels(&self, service: &ServiceView) -> BTreeSet<String> {
        node_labels(service, &self.conf.load_balancer)
    }
}

const NOT_LOOKED_AT: &str = "a load balancer shall be there and nobody has looked for it; this is a defect of Bowline, please report it";
