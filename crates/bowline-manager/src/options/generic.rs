//! The options that all controllers share: leader election, migration, API client, cloud, workers.

use std::path::PathBuf;
use std::time::Duration;

use bowline_controllers::rails::node_filter::NodeFilter;
use bowline_kube::lease::LeaseConfig;
use ipnet::IpNet;

use super::check::Check;
use super::ipam::ranges;
use crate::flags::GoDuration;

/// The options of leader election.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderElectionOptions {
    /// Whether leader election is enabled.
    pub enabled: bool,
    /// How long other replicas wait after the last renewal before they take over the Lease.
    pub lease_duration: Duration,
    /// How long the leader retries a renewal before it gives up.
    pub renew_deadline: Duration,
    /// The pause between two attempts to acquire or renew.
    pub retry_period: Duration,
    /// The name of the Lease.
    pub resource_name: String,
    /// The namespace of the Lease.
    pub resource_namespace: String,
}

/// The options of leader migration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderMigrationOptions {
    /// Whether leader migration is enabled; always `false` without leader election.
    pub enabled: bool,
    /// The migration configuration; if `None`, the built-in one applies.
    pub config_file: Option<PathBuf>,
}

/// The connection to the API server.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientOptions {
    /// The kubeconfig; if `None`, the pod's credentials are used.
    pub kubeconfig: Option<PathBuf>,
    /// Overrides the API server's address of the kubeconfig.
    pub master: Option<String>,
    /// Requests per second.
    pub qps: f64,
    /// The burst of the rate limit.
    pub burst: u32,
    /// The timeout of a request that is not a watch.
    pub timeout: Duration,
}

/// The cloud provider and its options.
#[derive(Debug, Clone, PartialEq)]
pub struct CloudOptions {
    /// The name of the provider.
    pub provider: String,
    /// The configuration file of the provider.
    pub config_file: Option<PathBuf>,
    /// The cluster name, which is part of the names of cloud resources.
    pub cluster_name: String,
    /// Whether to run without a cluster ID.
    pub allow_untagged: bool,
    /// Calls per second to each cloud service.
    pub api_qps: f64,
    /// The burst of the rate limit for each cloud service.
    pub api_burst: u32,
    /// The timeout of a read call of the provider.
    pub look_up_timeout: Duration,
    /// The timeout of a call of the provider that changes something.
    pub change_timeout: Duration,
    /// Whether the route controller creates routes.
    pub configure_routes: bool,
    /// The pod CIDRs: none, one, or one of each IP family.
    pub cluster_cidrs: Vec<IpNet>,
    /// How often all routes are reconciled.
    pub route_reconciliation_period: Duration,
}

/// The options of the two node controllers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeOptions {
    /// The number of Nodes initialized concurrently.
    pub concurrent_syncs: u32,
    /// The number of Nodes updated concurrently; 0 means `concurrent_syncs`, see [`NodeOptions::status_update_workers`].
    pub concurrent_status_updates: u32,
    /// Selects the Nodes that the controllers handle.
    pub filter: NodeFilter,
    /// How often Nodes that are not ready are looked up in the cloud.
    pub monitor_period: Duration,
    /// How often the Nodes' addresses are updated.
    pub status_update_frequency: Duration,
    /// The number of Nodes looked up concurrently.
    pub concurrent_lifecycle_syncs: u32,
}

impl NodeOptions {
    /// The number of Nodes updated concurrently.
    #[must_use]
    pub fn status_update_workers(&self) -> u32 {
        if self.concurrent_status_updates == 0 {
            self.concurrent_syncs
        } else {
            self.concurrent_status_updates
        }
    }
}

/// The options of the service controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceOptions {
    /// The number of Services reconciled concurrently.
    pub concurrent_syncs: u32,
    /// How often load balancers in progress are polled; `None` uses the cloud provider's default.
    pub poll_period: Option<Duration>,
}

/// The limits of the safety rails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RailOptions {
    /// The percentage of Nodes that may be deleted within the window.
    pub node_deletion_limit_percent: u8,
    /// The window of the limit of Node deletions.
    pub node_deletion_window: Duration,
    /// The percentage of Nodes without a machine above which the breaker opens and stops deletions.
    pub node_deletion_breaker_percent: u8,
    /// The minimum age of a Node before it may be deleted because its machine was never seen.
    pub new_node_grace: Duration,
    /// Whether Nodes of stopped machines also get the out-of-service taint.
    pub out_of_service_taint: bool,
    /// Whether deletion of Nodes is switched off.
    pub skip_node_deletion: bool,
    /// How long reads must be healthy after the breaker opened before Nodes are deleted again.
    pub node_deletion_breaker_recovery: Duration,
    /// The keys of taints that announce the removal of a Node.
    pub node_removal_taints: Vec<String>,
    /// Whether labels follow the cloud after the initialization too.
    pub reconcile_node_labels: bool,
    /// The delay before a large removal is checked a second time.
    pub second_look_delay: Duration,
    /// The minimum time between two observations of a broken load balancer before it is replaced.
    pub load_balancer_replacement_delay: Duration,
    /// The percentage of broken load balancers above which the breaker opens and stops replacements.
    pub load_balancer_breaker_percent: u8,
    /// How often the same resource may be created for a Service within the window.
    pub create_limit: usize,
    /// The window of the limit of creations.
    pub create_limit_window: Duration,
    /// How often load balancers are compared with the cloud although nothing changed; `None` means never.
    pub load_balancer_repair_period: Option<Duration>,
}

pub(super) fn rails(check: &mut Check<'_>) -> RailOptions {
    let repair = check.duration("load-balancer-repair-period");
    RailOptions {
        node_deletion_limit_percent: check.int("node-deletion-limit-percent", 0..=100),
        node_deletion_window: check.period("node-deletion-window"),
        node_deletion_breaker_percent: check.int("node-deletion-breaker-percent", 1..=100),
        new_node_grace: check.duration("new-node-grace-period"),
        out_of_service_taint: check.parsed.bool("out-of-service-taint"),
        skip_node_deletion: check.parsed.bool("skip-node-deletion"),
        node_deletion_breaker_recovery: check.duration("node-deletion-breaker-recovery"),
        node_removal_taints: check.parsed.list("node-removal-taints").to_vec(),
        reconcile_node_labels: check.parsed.bool("reconcile-node-labels"),
        second_look_delay: check.period("second-look-delay"),
        load_balancer_replacement_delay: check.period("load-balancer-replacement-delay"),
        load_balancer_breaker_percent: check.int("load-balancer-breaker-percent", 1..=100),
        create_limit: check.int("create-limit", 1..=1_000),
        create_limit_window: check.period("create-limit-window"),
        load_balancer_repair_period: (!repair.is_zero()).then_some(repair),
    }
}

pub(super) fn service(check: &mut Check<'_>) -> ServiceOptions {
    let poll = check.duration("load-balancer-poll-period");
    ServiceOptions {
        concurrent_syncs: check.workers("concurrent-service-syncs"),
        poll_period: (!poll.is_zero()).then_some(poll),
    }
}

/// Options that are accepted and shown in `/configz`, but have no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusedOptions {
    /// `--min-resync-period`.
    pub min_resync_period: Duration,
    /// `--kube-api-content-type`.
    pub kube_api_content_type: String,
    /// `--contention-profiling`.
    pub contention_profiling: bool,
    /// `--external-cloud-volume-plugin`.
    pub external_cloud_volume_plugin: String,
    /// `--node-sync-period`.
    pub node_sync_period: GoDuration,
    /// `--webhooks`.
    pub webhooks: Vec<String>,
    /// `--leader-elect-resource-lock`; always `leases` if leader election is enabled.
    pub resource_lock: String,
    /// `--cluster-cidr`, as given.
    pub cluster_cidr: String,
}

pub(super) fn leader_election(check: &mut Check<'_>) -> LeaderElectionOptions {
    let parsed = check.parsed;
    let options = LeaderElectionOptions {
        enabled: parsed.bool("leader-elect"),
        lease_duration: check.duration("leader-elect-lease-duration"),
        renew_deadline: check.duration("leader-elect-renew-deadline"),
        retry_period: check.duration("leader-elect-retry-period"),
        resource_name: parsed.text("leader-elect-resource-name").to_owned(),
        resource_namespace: parsed.text("leader-elect-resource-namespace").to_owned(),
    };
    if options.enabled {
        let lock = parsed.text("leader-elect-resource-lock");
        if lock != "leases" {
            check.refuse("leader-elect-resource-lock", &lock, "only \"leases\" is accepted");
        }
        check.problems.extend(options.lease_config("x").validate().err().map(Into::into));
    }
    options
}

impl LeaderElectionOptions {
    /// The configuration of the election for a replica with this identity.
    #[must_use]
    pub fn lease_config(&self, identity: &str) -> LeaseConfig {
        LeaseConfig {
            namespace: self.resource_namespace.clone(),
            name: self.resource_name.clone(),
            identity: identity.to_owned(),
            lease_duration: self.lease_duration,
            renew_deadline: self.renew_deadline,
            retry_period: self.retry_period,
        }
    }
}

pub(super) fn leader_migration(check: &mut Check<'_>, election: bool) -> LeaderMigrationOptions {
    let asked = check.parsed.bool("enable-leader-migration");
    if asked && !election {
        check.warnings.push("--enable-leader-migration does nothing without --leader-elect".to_owned());
    }
    LeaderMigrationOptions { enabled: asked && election, config_file: check.path("leader-migration-config") }
}

pub(super) fn client(check: &mut Check<'_>) -> ClientOptions {
    ClientOptions {
        kubeconfig: check.path("kubeconfig"),
        master: Some(check.parsed.text("master").to_owned()).filter(|master| !master.is_empty()),
        qps: check.kube_qps("kube-api-qps"),
        burst: check.burst("kube-api-burst"),
        timeout: check.period("kube-api-timeout"),
    }
}

pub(super) fn cloud(check: &mut Check<'_>) -> CloudOptions {
    let parsed = check.parsed;
    let provider = parsed.text("cloud-provider").to_owned();
    if provider.is_empty() {
        check.refuse("cloud-provider", &"", "must not be empty; give the name of the cloud provider");
    }
    CloudOptions {
        provider,
        config_file: check.path("cloud-config"),
        cluster_name: parsed.text("cluster-name").to_owned(),
        allow_untagged: parsed.bool("allow-untagged-cloud"),
        api_qps: check.qps("cloud-api-qps"),
        api_burst: check.burst("cloud-api-burst"),
        look_up_timeout: check.period("cloud-look-up-timeout"),
        change_timeout: check.period("cloud-change-timeout"),
        configure_routes: parsed.bool("configure-cloud-routes"),
        cluster_cidrs: ranges(check, "cluster-cidr"),
        route_reconciliation_period: check.period("route-reconciliation-period"),
    }
}

pub(super) fn node(check: &mut Check<'_>) -> NodeOptions {
    NodeOptions {
        concurrent_syncs: check.workers("concurrent-node-syncs"),
        concurrent_status_updates: check.workers_or_zero("concurrent-node-status-updates"),
        filter: node_filter(check),
        monitor_period: check.period("node-monitor-period"),
        status_update_frequency: check.period("node-status-update-frequency"),
        concurrent_lifecycle_syncs: check.workers("concurrent-node-lifecycle-syncs"),
    }
}

/// Parses `--node-filter`; each invalid requirement is a separate problem.
fn node_filter(check: &mut Check<'_>) -> NodeFilter {
    const FLAG: &str = "node-filter";
    NodeFilter::parse(check.parsed.text(FLAG)).unwrap_or_else(|problems| {
        for problem in problems {
            check.refuse(FLAG, &problem.part, problem.wanted);
        }
        NodeFilter::default()
    })
}

pub(super) fn unused(check: &mut Check<'_>) -> UnusedOptions {
    let parsed = check.parsed;
    UnusedOptions {
        min_resync_period: check.duration("min-resync-period"),
        kube_api_content_type: parsed.text("kube-api-content-type").to_owned(),
        contention_profiling: parsed.bool("contention-profiling"),
        external_cloud_volume_plugin: parsed.text("external-cloud-volume-plugin").to_owned(),
        node_sync_period: parsed.duration("node-sync-period"),
        webhooks: parsed.list("webhooks").to_vec(),
        resource_lock: parsed.text("leader-elect-resource-lock").to_owned(),
        cluster_cidr: parsed.text("cluster-cidr").to_owned(),
    }
}
