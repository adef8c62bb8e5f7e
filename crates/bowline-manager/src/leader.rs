//! Leader election and the order of startup and shutdown: which Leases this process holds, and which controllers run under each.
//!
//! On an orderly shutdown, the controllers stop first and the Leases are released afterwards. When a Lease is lost, the controllers are
//! stopped at once and the lost Lease is not released, because another replica may hold it.

use std::convert::Infallible;
use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::shadow::Mode;
use bowline_cloud::{CloudContext, Fence, Note, Unfenced};
use bowline_controllers::controller::Controller;
use bowline_kube::events::EventRecorder;
use bowline_kube::lease::{Elector, LeaseConfig, LeaseConfigError, Lost, News, announce, lease_reference};
use bowline_kube::ledger::LedgerPlace;
use futures::FutureExt;
use futures::future::select_all;
use http::Request;
use kube::Client;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_util::sync::DropGuard;
use tracing::{error, info};

use crate::budget::SharedBudget;
use crate::clients::ClientError;
use crate::cloud_identity::IdentityKeeper;
use crate::cluster_uid::cluster_uid;
use crate::election_runtime::ElectionRuntime;
use crate::events::{CloudEvents, NotedEvents};
use crate::exit::{Exit, StopSignal};
use crate::locks::Lock;
use crate::migration::{Component, LeaderMigration, Placement};
use crate::options::Options;
use crate::pause::{self, paused_by};
use crate::rbac::Rights;
use crate::right_to_act::{Checking, KubeAsk, RightToAct, Situation, questions};
use crate::serving::{CheckSets, certs};
use crate::shadow;
use crate::signals::Signals;
use crate::workforce::{Tools, Workforce, last_events};

/// The source component of events about the process itself.
const COMPONENT: &str = "cloud-controller-manager";

/// How long a new leader waits for a healthy API server before it gives up and exits.
const API_SERVER_DEADLINE: Duration = Duration::from_secs(10);

/// The pause between two health checks of the API server.
const API_SERVER_LOOK: Duration = Duration::from_secs(1);

type Controllers = Vec<Arc<dyn Controller>>;

/// Everything a replica needs to compete for the Leases and to run the controllers.
pub(crate) struct Leader<'a> {
    pub(crate) options: &'a Options,
    /// The runtime of the electors.
    pub(crate) election_runtime: ElectionRuntime,
    /// What the controllers and informers need.
    pub(crate) tools: Tools,
    /// Reports SIGTERM and SIGINT.
    pub(crate) signals: Signals,
    /// All enabled controllers, for both Leases.
    pub(crate) controllers: Controllers,
    /// Decides which controllers run under the migration Lease. `None` without leader migration.
    pub(crate) migration: Option<LeaderMigration>,
    /// The rate limiter for calls to the cloud.
    pub(crate) budget: Arc<SharedBudget>,
    /// The holder identity in the Leases, different for each replica.
    pub(crate) identity: String,
    pub(crate) version: String,
    /// The fingerprint of the serving certificate, published as an annotation of the main Lease. `None` without a certificate.
    pub(crate) certificate: watch::Receiver<Option<String>>,
}

/// Why the controllers stop.
#[derive(Debug)]
enum Ending {
    Signal(StopSignal),
    Lost { lease: String, why: Lost },
    Failed(LeaderError),
}

/// Errors that stop a leader.
#[derive(Debug, thiserror::Error)]
enum LeaderError {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Lease(#[from] LeaseConfigError),
    #[error("an informer ended; this is a bug, see the log")]
    Informer,
    #[error("the API server was not healthy within {0:?} of becoming leader: {1}")]
    ApiServer(Duration, String),
}

impl<E: Into<LeaderError>> From<E> for Ending {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// What must be stopped at the end: the controllers first, then the Leases, in reverse order of acquisition.
#[derive(Default)]
struct Held {
    recorder: Option<EventRecorder>,
    workforce: Option<Workforce>,
    locks: Vec<Lock>,
}

impl Leader<'_> {
    /// Runs until a signal, a lost Lease or an error ends it; then shuts down in order.
    pub(crate) async fn run(self) -> Exit {
        let mut held = Held::default();
        let Err(ending) = self.work(&mut held).await;
        held.end(ending, self.options.shutdown_grace).await
    }

    /// Acquires the Leases and runs the controllers. Returns only when they must stop.
    async fn work(&self, held: &mut Held) -> Result<Infallible, Ending> {
        let root = self.tools.clients.root(COMPONENT)?;
        let recorder = self.recorder(root.clone());
        held.recorder = Some(recorder.clone());
        let rights = self.check_rights(recorder.clone());
        let mut fence: Arc<dyn Fence> = if self.options.leader_election.enabled {
            self.take(&self.options.leader_election.resource_name, "leaderElection", held).await?
        } else {
            info!("leader election is off (--leader-elect=false)");
            Arc::new(Unfenced)
        };
        if self.options.paused {
            fence = paused_by(fence, Arc::new(pause::ByFlag));
        }
        rights.leads();
        self.until(held, api_server_is_healthy(&root)).await??;

        let workforce = Workforce::new(self.tools.clone())?;
        held.workforce = Some(workforce.clone());
        let lease = held.locks.first().map(|lock| {
            let (config, uid) = (lock.config(), lock.lease_uid());
            lease_reference(&config.namespace, &config.name, uid.as_deref())
        });
        workforce.tell_of_pauses(fence.clone(), recorder.clone(), lease);
        if self.options.rails.skip_node_deletion {
            workforce.show_skipped_deletions();
        }
        if self.options.shadow.mode == Some(Mode::AdoptOnly) {
            let report = shadow::controller(self.options, Mode::AdoptOnly, &self.identity, &self.version);
            workforce.report(report, shadow::despite_pause(fence.clone()))?;
        }
        let context = CloudContext::new(self.options.cloud.cluster_name.as_str())
            .with_comparisons(self.options.rails.load_balancer_repair_period)
            .with_budget(self.budget.clone())
            .with_events(Arc::new(CloudEvents(recorder)))
            .with_journal(self.tools.status.journal())
            .with_cluster_uid(self.until(held, cluster_uid(&root)).await?)
            .with_stop(workforce.stopping());
        let election = &self.options.leader_election;
        let place = LedgerPlace::beside(&election.resource_namespace, &election.resource_name);
        let ledger = workforce.keep_ledger(root.clone(), fence.clone(), place);
        self.until(held, async { tokio::join!(workforce.initialize_cloud(&context), ledger) }).await?;
        let _identity = self.watch_identity(held.recorder.clone());
        let (ours, migrated) = self.by_lock();
        self.until(held, workforce.start(ours, fence.clone())).await?;

        if let Some(migration) = &self.migration {
            // The migration Lease is acquired last: a process that held it without the main Lease would block the other replicas and
            // components.
            let migration_fence = self.take(migration.lease_name(), "leaderMigration", held).await?;
            // Pausing through the main Lease also pauses the controllers under the migration Lease.
            let fence = paused_by(migration_fence, fence);
            self.until(held, workforce.start(migrated, fence)).await?;
        }
        self.until(held, workforce.broken()).await?;
        Err(LeaderError::Informer.into())
    }

    /// Competes for a Lease until this process holds it; returns the fence of that Lease.
    async fn take(&self, name: &str, check: &str, held: &mut Held) -> Result<Arc<dyn Fence>, Ending> {
        let election = &self.options.leader_election;
        let config = LeaseConfig { name: name.to_owned(), ..election.lease_config(&self.identity) };
        let elector = self.elector(&config)?;
        let elector = match name == election.resource_name {
            true => elector.with_annotation(certs::LEASE_ANNOTATION, self.certificate.clone()),
            false => elector,
        };
        info!(lease = name, identity = config.identity, "competing");
        held.locks.push(Lock::compete_on(&self.election_runtime, config, elector));
        let held = &*held;
        let Some(lock) = held.locks.last() else { return pending().await };
        self.tools.status.competes(name, lock.leadership());
        let health = lock.health();
        self.tools
            .health
            .add(check, CheckSets::ALL, move || health.check().map_err(|stale| stale.to_string()));
        let led = self.until(held, lock.leading()).await?;
        led.map_err(|why| Ending::Lost { lease: name.to_owned(), why })?;
        held.announce(lock, News::BecameLeader);
        self.tools
            .status
            .journal()
            .note(|| Note::Leader(format!("{} leads, by the Lease {name}", self.identity)));
        Ok(Arc::new(lock.fence()))
    }

    /// Creates an elector whose client runs its connections on the electors' runtime.
    fn elector(&self, config: &LeaseConfig) -> Result<Elector, Ending> {
        let _entered = self.election_runtime.enter();
        let client = self.tools.clients.leader_election()?;
        let (clock, metrics) = (self.tools.clock.clone(), self.tools.metrics.leases.clone());
        Ok(Elector::new(client, config.clone(), clock, metrics, self.tools.seed)?)
    }

    /// Awaits `work`; a signal or the loss of a Lease ends the wait early.
    async fn until<T>(&self, held: &Held, work: impl Future<Output = T>) -> Result<T, Ending> {
        tokio::select! {
            biased;
            signal = self.signals.received() => Err(Ending::Signal(signal)),
            done = held.unless_lost(work) => done,
        }
    }

    /// Splits the controllers into those under the main Lease and those under the migration Lease.
    fn by_lock(&self) -> (Controllers, Controllers) {
        let (mut ours, mut migrated) = (Vec::new(), Vec::new());
        for controller in &self.controllers {
            let name = &controller.name().canonical;
            let placement = self.migration.as_ref().map_or(Placement::UnderMainLock, |migration| {
                migration.placement(Component::CloudControllerManager, name)
            });
            match placement {
                Placement::UnderMainLock => ours.push(controller.clone()),
                Placement::UnderMigrationLock => migrated.push(controller.clone()),
                Placement::NotOurs => info!(controller = name, "runs elsewhere, says the leader migration"),
            }
        }
        (ours, migrated)
    }

    /// Starts the permission checks in the background; startup does not wait for their results.
    fn check_rights(&self, events: EventRecorder) -> Checking {
        let election = &self.options.leader_election;
        RightToAct {
            questions: questions(&Rights::of(self.tools.cloud.as_ref()), &self.situation()),
            ask: Arc::new(KubeAsk::new(self.tools.clients.clone())),
            metrics: self.tools.metrics.permissions.clone(),
            events,
            about: lease_reference(&election.resource_namespace, &election.resource_name, None),
            manifest: match self.options.use_service_account_credentials {
                true => "deploy/rbac-service-account-credentials.yaml",
                false => "deploy/rbac.yaml",
            },
        }
        .start(&self.tools.health)
    }

    /// Starts the periodic check of the cloud identity, before the first controller starts. The check ends when the returned guard is
    /// dropped. `None` without an event recorder.
    fn watch_identity(&self, events: Option<EventRecorder>) -> Option<DropGuard> {
        let election = &self.options.leader_election;
        let keeper = IdentityKeeper {
            cloud: self.tools.cloud.clone(),
            identity: self.tools.cloud_identity.clone(),
            metrics: self.tools.metrics.identity.clone(),
            events: events?,
            about: lease_reference(&election.resource_namespace, &election.resource_name, None),
        };
        Some(keeper.start(&self.tools.health))
    }

    fn situation(&self) -> Situation {
        let options = self.options;
        let election = &options.leader_election;
        let leases = match election.enabled {
            true => {
                let migration = self.migration.as_ref().map(|migration| migration.lease_name().to_owned());
                [election.resource_name.clone()].into_iter().chain(migration).collect()
            }
            false => Vec::new(),
        };
        let serves = options.serving.port != 0;
        // With a separate kubeconfig, another identity needs these permissions, and this process cannot check them.
        let authentication = serves && options.authentication_kubeconfig == options.client.kubeconfig;
        Situation {
            controllers: self.controllers.iter().map(|controller| controller.name().clone()).collect(),
            own_accounts: options.use_service_account_credentials,
            lease_namespace: election.resource_namespace.clone(),
            leases,
            ledger: LedgerPlace::beside(&election.resource_namespace, &election.resource_name).name,
            authentication,
            authorities: authentication && !options.authentication.skip_lookup,
            report: options.shadow.mode.map(|_mode| options.shadow.report.clone()),
            authorization: serves && options.authorization_kubeconfig == options.client.kubeconfig,
        }
    }

    fn recorder(&self, client: Client) -> EventRecorder {
        let Tools { host, clock, metrics, status, .. } = &self.tools;
        EventRecorder::new(client, COMPONENT, host, clock.clone(), metrics.events.clone())
            .witnessed_by(Arc::new(NotedEvents(status.journal())))
    }
}

impl Held {
    /// Waits until one of the Leases is lost. Never returns if there is none.
    async fn lost(&self) -> Ending {
        if self.locks.is_empty() {
            return pending().await;
        }
        let each =
            self.locks.iter().map(|lock| async move { (lock.name().to_owned(), lock.lost().await) }.boxed());
        let ((lease, why), ..) = select_all(each).await;
        Ending::Lost { lease, why }
    }

    fn announce(&self, lock: &Lock, news: News) {
        if let Some(recorder) = &self.recorder {
            announce(recorder, lock.config(), lock.lease_uid().as_deref(), news);
        }
    }

    async fn end(self, ending: Ending, grace: Duration) -> Exit {
        // If a Lease is lost while the controllers finish their work, they are stopped at once.
        let ending = match ending {
            lost @ Ending::Lost { .. } => lost,
            other => self.unless_lost(self.finish_work(grace)).await.err().unwrap_or(other),
        };
        let exit = match &ending {
            Ending::Signal(signal) => Exit::Signal(*signal),
            Ending::Failed(why) => {
                error!("{why}");
                Exit::Fatal
            }
            // Another replica may already lead, so the controllers get no grace period.
            Ending::Lost { lease, why } => {
                error!(lease, %why, "leader election lost");
                self.finish_work(Duration::ZERO).await;
                Exit::Failed
            }
        };
        for lock in self.locks.iter().rev().filter(|lock| lock.has_led()) {
            self.announce(lock, News::StoppedLeading);
        }
        for lock in self.locks.into_iter().rev() {
            lock.release().await;
        }
        if let Some(workforce) = &self.workforce {
            workforce.last_events().await;
        }
        if let Some(recorder) = &self.recorder {
            last_events(recorder).await;
        }
        exit
    }

    async fn finish_work(&self, grace: Duration) {
        if let Some(workforce) = &self.workforce {
            workforce.end(grace).await;
        }
    }

    async fn unless_lost<T>(&self, work: impl Future<Output = T>) -> Result<T, Ending> {
        tokio::select! {
            biased;
            lost = self.lost() => Err(lost),
            done = work => Ok(done),
        }
    }
}

/// Waits until the API server is healthy: reconciling without it would lead to wrong decisions.
async fn api_server_is_healthy(client: &Client) -> Result<(), LeaderError> {
    let mut last = String::from("no answer");
    let looks = async {
        loop {
            match look(client).await {
                Ok(()) => return,
                Err(why) => last = why,
            }
            sleep(API_SERVER_LOOK).await;
        }
    };
    let healthy = timeout(API_SERVER_DEADLINE, looks).await;
    healthy.map_err(|_elapsed| LeaderError::ApiServer(API_SERVER_DEADLINE, last))
}

async fn look(client: &Client) -> Result<(), String> {
    let request = Request::get("/healthz").body(Vec::new()).map_err(|error| error.to_string())?;
    client.request_text(request).await.map(|_ok| ()).map_err(|error| error.to_string())
}
