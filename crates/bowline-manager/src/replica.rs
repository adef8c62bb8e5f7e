//! A manager inside of another program: the same options, leader, workforce and controllers as the process has, over an API
//! server and a cloud that are handed in. It reads no flag, serves no port and hears no signal of the system: the program around
//! it does, if anybody does. For simulations and the playground.

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

/// What it says where others say their version.
const VERSION: &str = "in-memory";

/// What a replica is made from.
pub struct Surroundings {
    /// The flags.
    pub options: Options,
    /// The cloud, as its factory made it.
    pub cloud: Arc<dyn Cloud>,
    /// How the API server is reached.
    pub clients: ClientFactory,
    /// Wall time as this replica sees it.
    pub clock: Clock,
    /// Who it is to the other replicas.
    pub identity: String,
    /// Where its chance comes from: the same seed gives the same pauses.
    pub seed: u64,
}

/// One replica of a manager.
pub struct Replica {
    options: Options,
    tools: Tools,
    budget: Arc<SharedBudget>,
    registry: Arc<Registry>,
    identity: String,
}

/// Why a replica cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("a replica cannot be made: {0}")]
pub struct NoReplica(String);

impl Replica {
    /// A replica that has not begun yet.
    ///
    /// # Errors
    ///
    /// If no client can be made.
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

    /// Everything it counts.
    #[must_use]
    pub fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.registry)
    }

    /// What people see of it: to be served by the program around it.
    #[must_use]
    pub fn status_page(&self) -> StatusPage {
        self.tools.status.clone()
    }

    /// Competes, leads and works until `signals` says to end, or its lease is lost.
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
            // A simulation is one thread and one runtime.
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
