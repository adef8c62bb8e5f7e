//! A manager inside another program, for simulations and the playground: the same options, leader election, informers and controllers as in
//! the process, with an API server client and a cloud that the caller provides. It parses no flags, opens no port and installs no signal
//! handlers.

use std::sync::Arc;

use bowline_cloud::Cloud;
use bowline_controllers::identity::{CloudIdentity, WatchedCloud};
use bowline_kube::client::ClientFactory;
use bowline_kube::clock::Clock;
use prometheus_client::registry::Registry;
use tracing::error;

use crate::budget::SharedBudget;
use crate::clients::Clients;
use crate::election_runtime::ElectionRuntime;
use crate::exit::Exit;
use crate::leader::Leader;
use crate::metrics::Metrics;
use crate::options::Options;
use crate::process::{enabled_controllers, punctual};
use crate::serving::{BuildInfo, HealthRegistry};
use crate::signals::Signals;
use crate::status::{self, About, StatusPage};
use crate::workforce::Tools;

/// The version that replicas report.
const VERSION: &str = "in-memory";

/// What a replica needs from its caller.
pub struct Surroundings {
    /// The options of the manager.
    pub options: Options,
    /// The cloud provider. The replica adds the call timeouts of the options.
    pub cloud: Arc<dyn Cloud>,
    /// Creates the clients for the API server.
    pub clients: ClientFactory,
    /// The wall clock of this replica, which may differ from that of other replicas.
    pub clock: Clock,
    /// The holder identity in the Lease, and the host name in events.
    pub identity: String,
    /// The seed of the jitter of leader election: the same seed gives the same delays.
    pub seed: u64,
}

/// One replica of a manager, without process, signals and servers.
pub struct Replica {
    options: Options,
    tools: Tools,
    budget: Arc<SharedBudget>,
    registry: Arc<Registry>,
    identity: String,
}

/// The error of [`Replica::new`].
#[derive(Debug, thiserror::Error)]
#[error("a replica cannot be made: {0}")]
pub struct NoReplica(String);

impl Replica {
    /// Creates a replica. It does nothing until [`run`](Self::run).
    ///
    /// # Errors
    ///
    /// If a client cannot be created.
    pub fn new(around: Surroundings) -> Result<Self, NoReplica> {
        let Surroundings { options, cloud, clients, clock, identity, seed } = around;
        let cloud_identity = CloudIdentity::default();
        let cloud: Arc<dyn Cloud> =
            Arc::new(WatchedCloud::new(punctual(cloud, &options), cloud_identity.clone()));
        let (metrics, registry) = Metrics::register(cloud.as_ref(), &BuildInfo::of(VERSION));
        let budget =
            SharedBudget::new(options.cloud.api_qps, options.cloud.api_burst, metrics.budget.clone());
        let (budget, health) = (Arc::new(budget), Arc::new(HealthRegistry::new()));
        let status = StatusPage::new(status::Surroundings {
            about: About {
                component: "cloud-controller-manager".to_owned(),
                version: VERSION.to_owned(),
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
        let own_accounts = options.use_service_account_credentials;
        let clients = Clients::new(clients.with_metrics(metrics.rest.clone()), own_accounts, clock.clone())
            .map_err(|error| NoReplica(error.to_string()))?;
        let tools = Tools {
            cloud,
            cloud_identity,
            clients,
            metrics,
            health,
            clock,
            host: identity.clone(),
            write_deadline: options.client.timeout,
            start_interval: options.controller_start_interval,
            seed,
            status,
            node_filter: options.node.filter.clone(),
        };
        Ok(Self { options, tools, budget, registry, identity })
    }

    /// The registry with the metrics of this replica.
    #[must_use]
    pub fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.registry)
    }

    /// The status page of this replica, for the caller to serve.
    #[must_use]
    pub fn status_page(&self) -> StatusPage {
        self.tools.status.clone()
    }

    /// Competes for the Lease and runs the controllers until `signals` reports a signal, the Lease is lost, or an error ends it.
    pub async fn run(self, signals: Signals) -> Exit {
        let Self { options, tools, budget, registry: _, identity } = self;
        let controllers = match enabled_controllers(&options, tools.cloud.as_ref(), false) {
            Ok(controllers) => controllers,
            Err(failed) => {
                error!("{failed}");
                return failed.exit();
            }
        };
        let version = VERSION.to_owned();
        let leader = Leader {
            options: &options,
            // A simulation runs on one thread and one runtime.
            election_runtime: ElectionRuntime::of_caller(),
            tools,
            signals,
            controllers,
            migration: None,
            budget,
            identity,
            version,
            certificate: tokio::sync::watch::channel(None).1,
        };
        leader.run().await
    }
}
