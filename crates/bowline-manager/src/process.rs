//! The life cycle of the process, in order: connect to the API server, create the cloud, start the serving port, run leader election and
//! the controllers, shut down.
//!
//! This module only defines the order; each step is implemented in the module that it calls.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::shadow::Mode;
use bowline_cloud::{Cloud, CloudConfig, CloudError, CloudFactory};
use bowline_controllers::controller::Controller;
use bowline_controllers::deadline::{CallDeadlines, Punctual};
use bowline_controllers::extra::Extra;
use bowline_controllers::identity::{CloudIdentity, WatchedCloud};
use bowline_controllers::registry::ControllerName;
use bowline_kube::client::{ClientFactory, ConfigError, load_config};
use bowline_kube::clock::Clock;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};
use uuid::Uuid;

use crate::budget::SharedBudget;
use crate::clients::{ClientError, Clients};
use crate::common;
use crate::config_secret::ConfigSecrets;
use crate::election_runtime::ElectionRuntime;
use crate::exit::Exit;
use crate::flags::Parsed;
use crate::leader::Leader;
use crate::logging::LogLevel;
use crate::metrics::Metrics;
use crate::migration::{LeaderMigration, MigrationError};
use crate::options::{ControllerSelection, OptionErrors, Options, configz};
use crate::pages;
use crate::serving::{AuthnError, BuildInfo, HealthRegistry, ServingError};
use crate::shadow::Shadow;
use crate::signals::Signals;
use crate::status::open::{self, OpenError};
use crate::status::{self, About, StatusPage};
use crate::workforce::Tools;

/// How long open connections may drain during shutdown: once for the serving port, and once for the open status page.
const SERVING_END: Duration = Duration::from_secs(1);

/// The inputs of the process: the parsed command line, the clouds of the binary, and the handles for logging and signals.
pub(crate) struct Setup {
    /// The name of the binary.
    pub(crate) name: String,
    pub(crate) version: String,
    /// All flags, for `/flagz`.
    pub(crate) flags: Parsed,
    /// The names of the flags that the provider added.
    pub(crate) own_flags: BTreeSet<&'static str>,
    /// The common flags, as typed values.
    pub(crate) options: Options,
    /// The cloud factories by the name that `--cloud-provider` uses.
    pub(crate) clouds: BTreeMap<String, CloudFactory>,
    /// Whether the binary supports `--allocate-node-cidrs` (node IPAM).
    pub(crate) node_ipam: bool,
    /// Changes the log level at runtime.
    pub(crate) log_level: LogLevel,
    /// Reports SIGTERM and SIGINT.
    pub(crate) signals: Signals,
    /// The loopback address that serves the status page without authentication; `None` if it is not served.
    pub(crate) open_status_page: Option<SocketAddr>,
}

/// Why the process could not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    /// The kubeconfig or in-cluster configuration cannot be loaded.
    #[error(transparent)]
    Configuration(#[from] ConfigError),
    /// A Kubernetes client cannot be created.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The file of `--cloud-config` cannot be read.
    #[error("--cloud-config={path}: {source}")]
    CloudConfigFile {
        /// The path of the file.
        path: String,
        /// The I/O error.
        source: std::io::Error,
    },
    /// `--cloud-provider` names a cloud that this binary does not contain.
    #[error("--cloud-provider={asked}: this binary knows only {known}")]
    UnknownCloud {
        /// The requested name.
        asked: String,
        /// The names that this binary supports, separated by commas.
        known: String,
    },
    /// The cloud provider rejected its configuration.
    #[error("cloud provider {provider} cannot be used: {source}")]
    Cloud {
        /// The name of the provider.
        provider: String,
        /// The error that the provider returned.
        source: CloudError,
    },
    /// The cloud provider has no cluster ID, so it cannot tell this cluster's resources from those of other clusters.
    #[error(
        "cloud provider {0} has no cluster ID: its resources cannot be told from those of other clusters; \
         configure one, or give --allow-untagged-cloud if this cluster is alone"
    )]
    NoClusterId(String),
    /// `--controllers` is invalid, for example because it names an unknown controller.
    #[error(transparent)]
    Options(#[from] OptionErrors),
    /// A controller rejected its options.
    #[error("{0}")]
    Controller(String),
    /// The leader migration configuration is invalid.
    #[error("--leader-migration-config: {0}")]
    Migration(#[from] MigrationError),
    /// The file of `--leader-migration-config` cannot be read.
    #[error("--leader-migration-config={path}: {source}")]
    MigrationFile {
        /// The path of the file.
        path: String,
        /// The I/O error.
        source: std::io::Error,
    },
    /// Authentication for the serving port cannot be set up.
    #[error(transparent)]
    Authentication(#[from] AuthnError),
    /// The serving port cannot be opened.
    #[error(transparent)]
    Serving(#[from] ServingError),
    /// The open status page cannot be served.
    #[error(transparent)]
    OpenStatusPage(#[from] OpenError),
    /// The operating system refused to start the thread for leader election.
    #[error("cannot start the thread for leader election: {0}")]
    ElectionThread(std::io::Error),
}

impl StartError {
    /// The exit code: 255 where upstream exits with it, otherwise 1.
    #[must_use]
    pub(crate) const fn exit(&self) -> Exit {
        match self {
            Self::CloudConfigFile { .. }
            | Self::UnknownCloud { .. }
            | Self::Cloud { .. }
            | Self::NoClusterId(_)
            | Self::Controller(_) => Exit::Fatal,
            _ => Exit::Failed,
        }
    }
}

/// Runs the process until it ends. A startup error is logged and becomes the exit code.
pub(crate) async fn run(setup: Setup) -> Exit {
    match try_run(setup).await {
        Ok(exit) => exit,
        Err(failed) => {
            error!("{failed}");
            failed.exit()
        }
    }
}

async fn try_run(setup: Setup) -> Result<Exit, StartError> {
    let Setup {
        name,
        version,
        flags,
        own_flags,
        options,
        clouds,
        node_ipam,
        log_level,
        signals,
        open_status_page,
    } = setup;
    info!(name, version, "starting");
    for warning in &options.warnings {
        warn!("{warning}");
    }
    let config = load_config(options.client.kubeconfig.as_deref(), options.client.master.as_deref()).await?;
    let own_flags = own_flags.into_iter().map(|name| (name.to_owned(), flags.texts(name))).collect();
    let cloud_identity = CloudIdentity::default();
    let secrets = ConfigSecrets::new(
        ClientFactory::new(config.clone(), &name, &version, options.client.qps, options.client.burst)
            .with_deadline(options.client.timeout)
            .client("cloud-config")
            .map_err(ClientError::from)?,
    );
    let cloud = tokio::select! {
        cloud = make_cloud(&options, &clouds, own_flags, Arc::new(secrets)) => cloud?,
        signal = signals.received() => return Ok(Exit::Signal(signal)),
    };
    let cloud: Arc<dyn Cloud> = Arc::new(WatchedCloud::new(cloud, cloud_identity.clone()));
    let controllers = enabled_controllers(&options, cloud.as_ref(), node_ipam)?;
    let migration = read_migration(&options, &controllers)?;

    let clock = Clock::system();
    let build = BuildInfo::of(&version);
    let (metrics, registry) = Metrics::register(cloud.as_ref(), &build);
    let factory = ClientFactory::new(config, &name, &version, options.client.qps, options.client.burst)
        .with_deadline(options.client.timeout)
        .with_metrics(metrics.rest.clone());
    let clients = Clients::new(factory, options.use_service_account_credentials, clock.clone())?;
    let budget = SharedBudget::new(options.cloud.api_qps, options.cloud.api_burst, metrics.budget.clone());
    let budget = Arc::new(budget);
    let health = Arc::new(HealthRegistry::new());
    let host = gethostname::gethostname().to_string_lossy().into_owned();
    let identity = format!("{host}_{}", Uuid::new_v4());
    let status = StatusPage::new(status::Surroundings {
        about: About {
            component: name.clone(),
            version: version.clone(),
            identity: identity.clone(),
            cloud: cloud.name().to_owned(),
            cluster: options.cloud.cluster_name.clone(),
        },
        options: &options,
        clock: clock.clone(),
        health: health.clone(),
        budget: budget.clone(),
        metrics: metrics.controllers.clone(),
        identity: cloud_identity.clone(),
    });
    metrics.status.read(&status);
    let pages = pages::Pages {
        name: &name,
        build,
        flags,
        registry,
        log_level,
        budget: budget.clone(),
        configz: configz(&options, migration.as_ref()),
        status: status.clone(),
    };
    let server = tokio::select! {
        server = pages::serve(pages, &options, &metrics, &health) => server?,
        signal = signals.received() => return Ok(Exit::Signal(signal)),
    };

    let closing = CancellationToken::new();
    let open_page = match open_status_page {
        Some(address) => Some(open::serve(&status, address, closing.clone()).await?),
        None => None,
    };
    let tools = Tools {
        cloud,
        cloud_identity,
        clients,
        metrics,
        health,
        clock,
        host,
        write_deadline: options.client.timeout,
        start_interval: options.controller_start_interval,
        seed: rand::random(),
        status,
        node_filter: options.node.filter.clone(),
    };
    let exit = if options.shadow.mode == Some(Mode::Shadow) {
        Shadow { options: &options, tools, signals, budget, identity, version }.run().await
    } else {
        let leader = Leader {
            options: &options,
            // A thread of its own: work that occupies every worker thread must not delay renewals of the Lease.
            election_runtime: ElectionRuntime::on_own_thread().map_err(StartError::ElectionThread)?,
            tools,
            signals,
            controllers,
            migration,
            budget,
            identity,
            version,
            certificate: server.fingerprint(),
        };
        leader.run().await
    };
    if tokio::time::timeout(SERVING_END, server.end()).await.is_err() {
        info!("connections to the serving port were cut");
    }
    closing.cancel();
    if let Some(open_page) = open_page
        && tokio::time::timeout(SERVING_END, open_page.ended()).await.is_err()
    {
        info!("connections to the open status page were cut");
    }
    info!(?exit, "ended");
    Ok(exit)
}

async fn make_cloud(
    options: &Options,
    clouds: &BTreeMap<String, CloudFactory>,
    own_flags: BTreeMap<String, Vec<String>>,
    secrets: Arc<ConfigSecrets>,
) -> Result<Arc<dyn Cloud>, StartError> {
    let provider = options.cloud.provider.clone();
    let Some(factory) = clouds.get(&provider) else {
        let known = clouds.keys().cloned().collect::<Vec<_>>().join(", ");
        return Err(StartError::UnknownCloud { asked: provider, known });
    };
    let text = match &options.cloud.config_file {
        None => None,
        Some(path) => Some(
            std::fs::read_to_string(path)
                .map_err(|source| StartError::CloudConfigFile { path: path.display().to_string(), source })?,
        ),
    };
    let config = CloudConfig::new(text)
        .with_path(options.cloud.config_file.clone())
        .with_flags(own_flags)
        .with_secrets(secrets);
    let made = factory(config).await;
    let cloud = made.map_err(|source| StartError::Cloud { provider: provider.clone(), source })?;
    if !cloud.has_cluster_id() {
        if !options.cloud.allow_untagged {
            return Err(StartError::NoClusterId(provider));
        }
        warn!(provider, "the cloud has no cluster ID; running all the same, as --allow-untagged-cloud asks");
    }
    Ok(punctual(cloud, options))
}

/// Wraps the cloud so that every call times out after `--cloud-look-up-timeout` or `--cloud-change-timeout`.
pub(crate) fn punctual(cloud: Arc<dyn Cloud>, options: &Options) -> Arc<dyn Cloud> {
    let deadlines =
        CallDeadlines { look_up: options.cloud.look_up_timeout, change: options.cloud.change_timeout };
    Arc::new(Punctual::new(cloud, deadlines))
}

/// The common controllers and the cloud's extra controllers, filtered by `--controllers`.
pub(crate) fn enabled_controllers(
    options: &Options,
    cloud: &dyn Cloud,
    node_ipam: bool,
) -> Result<Vec<Arc<dyn Controller>>, StartError> {
    let extras = cloud.extra_controllers();
    let extras: Vec<_> =
        extras.into_iter().map(|extra| -> Arc<dyn Controller> { Arc::new(Extra::new(extra)) }).collect();
    let known: Vec<_> = known_names(&extras).into_iter().map(|name| (name.canonical, name.alias)).collect();
    let selection = ControllerSelection::parse(&options.controllers, &known)?;
    let (enabled, disabled): (Vec<_>, Vec<_>) = common::controllers(options, node_ipam)?
        .into_iter()
        .chain(extras)
        .partition(|controller| selection.is_enabled(&controller.name().canonical));
    for controller in disabled {
        warn!(controller = controller.name().canonical, "disabled by --controllers");
    }
    Ok(enabled)
}

/// The names of the common controllers and of the given controllers of the cloud.
fn known_names(controllers: &[Arc<dyn Controller>]) -> Vec<ControllerName> {
    let of_the_cloud = controllers.iter().map(|controller| controller.name().clone());
    ControllerName::common().into_iter().chain(of_the_cloud).collect()
}

fn read_migration(
    options: &Options,
    controllers: &[Arc<dyn Controller>],
) -> Result<Option<LeaderMigration>, StartError> {
    if !options.leader_migration.enabled {
        return Ok(None);
    }
    let migration = match &options.leader_migration.config_file {
        None => LeaderMigration::built_in(),
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(|source| StartError::MigrationFile { path: path.display().to_string(), source })?;
            LeaderMigration::from_text_knowing(&text, &known_names(controllers))?
        }
    };
    migration.check_lease_name(&options.leader_election.resource_name)?;
    for warning in migration.warnings() {
        warn!("--leader-migration-config: {warning}");
    }
    Ok(Some(migration))
}
