//! The life of the operator: reach the API server, serve, lead, work, give the Lease back.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::Fence;
use bowline_kube::client::{ClientFactory, ConfigError, RestMetrics, load_config};
use bowline_kube::clock::Clock;
use bowline_kube::events::{EventMetrics, EventRecorder};
use bowline_kube::informer::InformerMetrics;
use bowline_kube::lease::{Elector, LeaseConfig, LeaseConfigError, LeaseMetrics, News, announce};
use bowline_kube::queue::{Backoff, KeyedQueue, QueueMetrics, QueueSettings, run_workers};
use bowline_kube::write::Writer;
use bowline_manager::exit::Exit;
use bowline_manager::locks::Lock;
use bowline_manager::serving::reviews::KubeReviews;
use bowline_manager::serving::{
    self, AccessReviewer, AuthConfigLookup, AuthenticationConfig, Authenticator, AuthnError,
    AuthorizationConfig, Authorizer, BuildInfo, CheckSets, Endpoints, HealthRegistry, MetricsPage,
    ProcessMetrics, RunningServer, ServerParts, ServingConfig, ServingError, ServingMetrics, ServingTimings,
    TokenReviewer,
};
use bowline_manager::signals::Signals;
use parking_lot::Mutex;
use prometheus_client::registry::Registry;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};
use uuid::Uuid;

use super::watches::{Base, Watches};
use super::{Key, Operator, OperatorMetrics, Options};
use crate::apply::Applier;
use crate::observe::Gatherer;
use crate::openshift::{OpenShift, Parts};

/// The name of the Lease, and of the component in events and user-agents.
pub(crate) const NAME: &str = "bowline-operator";
/// Requests a second, and burst: looks are many small reads.
const BUDGET: (f64, u32) = (50.0, 100);
const WRITE_DEADLINE: Duration = Duration::from_secs(30);
/// How long work under way may take at the end. A step is a few requests.
const GRACE: Duration = Duration::from_secs(10);
const LAST_EVENTS: Duration = Duration::from_secs(2);
/// Resources that are worked on at once.
const WORKERS: usize = 4;

/// Why the operator cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No API server to talk to.
    #[error(transparent)]
    Configuration(#[from] ConfigError),
    /// No client.
    #[error("cannot make a client for the API server: {0}")]
    Client(#[from] kube::Error),
    /// Times of the Lease that cannot work.
    #[error(transparent)]
    Lease(#[from] LeaseConfigError),
    /// Callers of the serving port could not be told apart.
    #[error(transparent)]
    Authentication(#[from] AuthnError),
    /// The serving port cannot be had.
    #[error(transparent)]
    Serving(#[from] ServingError),
}

/// All metrics of the process.
struct Metrics {
    rest: RestMetrics,
    queues: QueueMetrics,
    informers: InformerMetrics,
    leases: LeaseMetrics,
    events: EventMetrics,
    serving: ServingMetrics,
    operator: OperatorMetrics,
}

impl Metrics {
    fn register(build: &BuildInfo) -> (Self, Arc<Registry>) {
        let mut registry = Registry::default();
        let metrics = Self {
            rest: RestMetrics::register(&mut registry),
            queues: QueueMetrics::register(&mut registry),
            informers: InformerMetrics::register(&mut registry),
            leases: LeaseMetrics::register(&mut registry),
            events: EventMetrics::register(&mut registry),
            serving: ServingMetrics::default(),
            operator: OperatorMetrics::register(&mut registry),
        };
        metrics.serving.register(&mut registry);
        ProcessMetrics::register(&mut registry, build);
        (metrics, Arc::new(registry))
    }
}

/// Runs the operator to its end, which comes with a signal.
///
/// # Errors
///
/// If it cannot start.
pub async fn run(options: Options, signals: Signals) -> Result<Exit, StartError> {
    info!(version = options.version, "starting");
    let config = load_config(options.kubeconfig.as_deref(), None).await?;
    let build = BuildInfo::of(&options.version);
    let (metrics, registry) = Metrics::register(&build);
    let factory = ClientFactory::new(config, NAME, &options.version, BUDGET.0, BUDGET.1)
        .with_metrics(metrics.rest.clone());
    let health = Arc::new(HealthRegistry::new());
    let stop_serving = CancellationToken::new();
    let server = serve(&options, &factory, &metrics, registry, build, &health, stop_serving.clone()).await?;

    let clock = Clock::system();
    let host = gethostname::gethostname().to_string_lossy().into_owned();
    let recorder =
        EventRecorder::new(factory.client("events")?, NAME, &host, clock.clone(), metrics.events.clone());
    let lease = lease_config(&options, &host);
    let elector = Elector::new(
        factory.client("leader-election")?,
        lease.clone(),
        clock.clone(),
        metrics.leases.clone(),
        rand::random(),
    )?;
    let lock = Lock::compete(lease, elector);
    let election = lock.health();
    health.add("leaderElection", CheckSets::ALL, move || election.check().map_err(|stale| stale.to_string()));

    let exit = tokio::select! {
        signal = signals.received() => Exit::Signal(signal),
        led = lock.leading() => match led {
            Err(why) => {
                error!(%why, "leader election lost");
                Exit::Failed
            }
            Ok(()) => {
                announce(&recorder, lock.config(), lock.lease_uid().as_deref(), News::BecameLeader);
                lead(&options, &factory, &metrics, &recorder, &clock, &lock, &signals, &health).await?
            }
        },
    };
    if lock.has_led() {
        announce(&recorder, lock.config(), lock.lease_uid().as_deref(), News::StoppedLeading);
    }
    lock.release().await;
    if recorder.flush(LAST_EVENTS).await.is_err() {
        warn!("the last events were not written in time");
    }
    stop_serving.cancel();
    if let Some(server) = server {
        server.ended().await;
    }
    info!(?exit, "ended");
    Ok(exit)
}

fn lease_config(options: &Options, host: &str) -> LeaseConfig {
    LeaseConfig {
        namespace: options.namespace.clone(),
        name: NAME.to_owned(),
        identity: format!("{host}_{}", Uuid::new_v4()),
        lease_duration: options.election.lease_duration,
        renew_deadline: options.election.renew_deadline,
        retry_period: options.election.retry_period,
    }
}

/// Works until a signal comes or the Lease is lost. When this returns, nothing of it runs any more.
#[expect(clippy::too_many_arguments, reason = "the parts of the process, each made once")]
async fn lead(
    options: &Options,
    factory: &ClientFactory,
    metrics: &Metrics,
    recorder: &EventRecorder,
    clock: &Clock,
    lock: &Lock,
    signals: &Signals,
    health: &Arc<HealthRegistry>,
) -> Result<Exit, StartError> {
    let backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));
    let queue: KeyedQueue<Key> = KeyedQueue::new(NAME, QueueSettings { backoff, ..QueueSettings::default() });
    queue.report_to(&metrics.queues);
    let cancel = CancellationToken::new();
    let _stop_watching = cancel.clone().drop_guard();
    let watches = Watches::start(
        factory.client("watches")?,
        queue.clone(),
        metrics.informers.clone(),
        cancel.clone(),
        options.allowed.allowed_namespaces.iter().cloned().collect(),
    );
    watch_health(health, &watches);
    let fence: Arc<dyn Fence> = Arc::new(lock.fence());
    let client = factory.client("operator")?;
    let writer = Writer::new(client.clone(), fence, WRITE_DEADLINE);
    let base = Base {
        client: factory.client("watches")?,
        metrics: metrics.informers.clone(),
        cancel: cancel.clone(),
    };
    let openshift = OpenShift::detect(
        base,
        &queue,
        Parts {
            client: client.clone(),
            writer: writer.clone(),
            recorder: recorder.clone(),
            clock: clock.clone(),
            version: options.version.clone(),
            namespace: options.namespace.clone(),
            managed_namespace: options.managed_namespace.clone(),
            images_file: options.images_file.clone(),
            system_ca_file: options.system_ca_file.clone(),
            resync: options.resync,
        },
    )
    .await?;
    let operator = Operator {
        gatherer: Gatherer::new(client.clone(), watches.nodes.clone(), watches.services.clone()),
        applier: Applier::new(client.clone(), writer.clone()),
        client,
        writer,
        recorder: recorder.clone(),
        clock: clock.clone(),
        metrics: metrics.operator.clone(),
        version: options.version.clone(),
        image: options.image.clone(),
        allowed: options.allowed.clone(),
        resync: options.resync,
        timings: options.timings,
        assume_minor: options.assume_minor,
        openshift,
        failures: Mutex::default(),
    };
    let stop = CancellationToken::new();
    let operator = Arc::new(operator);
    let work = async {
        // Before that, "not found" means nothing.
        watches.synced().await;
        let handler = move |picked| {
            let operator = operator.clone();
            async move { operator.pass(&picked).await }
        };
        run_workers(WORKERS, queue, handler, stop.clone()).await;
    };
    tokio::pin!(work);
    tokio::select! {
        why = lock.lost() => {
            error!(%why, "leader election lost");
            Ok(Exit::Failed)
        }
        () = &mut work => Ok(Exit::Failed),
        signal = signals.received() => {
            stop.cancel();
            if timeout(GRACE, &mut work).await.is_err() {
                warn!("work under way was cut off; the next leader does it again");
            }
            Ok(Exit::Signal(signal))
        }
    }
}

fn watch_health(health: &Arc<HealthRegistry>, watches: &Watches) {
    let (nodes, services) = (watches.nodes.clone(), watches.services.clone());
    health.add("informers", CheckSets::READY_ONLY, move || {
        let now = Instant::now();
        let problems = [nodes.health().problem(now), services.health().problem(now)];
        match problems.into_iter().flatten().next() {
            None => Ok(()),
            Some(problem) => Err(problem),
        }
    });
}

async fn serve(
    options: &Options,
    factory: &ClientFactory,
    metrics: &Metrics,
    registry: Arc<Registry>,
    build: BuildInfo,
    health: &Arc<HealthRegistry>,
    stop: CancellationToken,
) -> Result<Option<RunningServer>, StartError> {
    if options.port == 0 {
        info!("serving is off (--secure-port=0)");
        return Ok(None);
    }
    let reviews = Arc::new(KubeReviews::new(factory.client("delegated-auth")?));
    let authenticator = Authenticator::open(
        AuthenticationConfig { tolerate_lookup_failure: true, ..AuthenticationConfig::default() },
        Some(reviews.clone() as Arc<dyn TokenReviewer>),
        Some(reviews.clone() as Arc<dyn AuthConfigLookup>),
        metrics.serving.clone(),
    )
    .await?;
    let access: Arc<dyn AccessReviewer> = reviews;
    let parts = ServerParts {
        authenticator: Arc::new(authenticator),
        authorizer: Arc::new(Authorizer::new(
            &AuthorizationConfig::default(),
            Some(access),
            metrics.serving.clone(),
        )),
        endpoints: Endpoints {
            component: NAME.to_owned(),
            build,
            metrics: MetricsPage::of(registry),
            configz: Arc::new(|| serde_json::json!({})),
            flagz: Arc::new(Vec::new),
            log_level: None,
            status_page: None,
        },
        health: health.clone(),
        metrics: metrics.serving.clone(),
        timings: ServingTimings::default(),
    };
    let config =
        ServingConfig { bind_address: options.bind_address, port: options.port, ..ServingConfig::default() };
    Ok(serving::start(&config, parts, None, stop).await?)
}
