//! The options all controllers share: election, migration, client, cloud, workers.

use std::path::PathBuf;
use std::time::Duration;

use bowline_controllers::rails::node_filter::NodeFilter;
use bowline_kube::lease::LeaseConfig;
use ipnet::IpNet;

use super::check::Check;
use super::ipam::ranges;
use crate::flags::GoDuration;

/// Who leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderElectionOptions {
    /// Whether there is an election at all.
    pub enabled: bool,
    /// How long others wait before they take over.
    pub lease_duration: Duration,
    /// How long the leader tries to renew.
    pub renew_deadline: Duration,
    /// Pause between two tries.
    pub retry_period: Duration,
    /// Name of the Lease.
    pub resource_name: String,
    /// Namespace of the Lease.
    pub resource_namespace: String,
}

/// Moving controllers between managers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderMigrationOptions {
    /// Whether it is on; never without leader election.
    pub enabled: bool,
    /// The assignment; without it the built-in one.
    pub config_file: Option<PathBuf>,
}

/// How the API server is reached.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientOptions {
    /// Address and credentials; without it those of the pod.
    pub kubeconfig: Option<PathBuf>,
    /// Another address than the file's.
    pub master: Option<String>,
    /// Requests per second.
    pub qps: f64,
    /// Requests at once.
    pub burst: u32,
    /// Limit of one call that is no watch.
    pub timeout: Duration,
}

/// The provider and what it is told.
#[derive(Debug, Clone, PartialEq)]
pub struct CloudOptions {
    /// Its name.
    pub provider: String,
    /// Its configuration.
    pub config_file: Option<PathBuf>,
    /// Part of the names of cloud objects.
    pub cluster_name: String,
    /// Run without a cluster ID.
    pub allow_untagged: bool,
    /// Requests per second to each service of the cloud.
    pub api_qps: f64,
    /// Requests at once to each service of the cloud.
    pub api_burst: u32,
    /// How long a look-up of the provider may take.
    pub look_up_timeout: Duration,
    /// How long a change of the provider may take.
    pub change_timeout: Duration,
    /// Whether the route controller makes routes.
    pub configure_routes: bool,
    /// The ranges of pods: none, one, or one of each family.
    pub cluster_cidrs: Vec<IpNet>,
    /// How often routes are compared.
    pub route_reconciliation_period: Duration,
}

/// The two node controllers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeOptions {
    /// Nodes initialised at the same time.
    pub concurrent_syncs: u32,
    /// Nodes brought up to date at the same time; 0 means `concurrent_syncs`, see
    /// [`NodeOptions::status_update_workers`].
    pub concurrent_status_updates: u32,
    /// Which Nodes are handled at all.
    pub filter: NodeFilter,
    /// How often nodes that are not ready are looked up.
    pub monitor_period: Duration,
    /// How often addresses are brought up to date.
    pub status_update_frequency: Duration,
    /// Nodes looked up at the same time.
    pub concurrent_lifecycle_syncs: u32,
}

impl NodeOptions {
    /// How many nodes are brought up to date at the same time.
    #[must_use]
    pub fn status_update_workers(&self) -> u32 {
        if self.concurrent_status_updates == 0 {
            self.concurrent_syncs
        } else {
            self.concurrent_status_updates
        }
    }
}

/// The service controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceOptions {
    /// Services worked on at the same time.
    pub concurrent_syncs: u32,
    /// How often what is being built is asked for; `None` leaves it to the cloud.
    pub poll_period: Option<Duration>,
}

/// The limits of the safety rails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RailOptions {
    /// The part of the nodes that may be deleted within the window.
    pub node_deletion_limit_percent: u8,
    /// The window.
    pub node_deletion_window: Duration,
    /// The part of the nodes that must not look gone at once.
    pub node_deletion_breaker_percent: u8,
    /// How old a node must be to be deleted for a machine that was never seen.
    pub new_node_grace: Duration,
    /// Whether nodes of stopped machines get the out-of-service taint too.
    pub out_of_service_taint: bool,
    /// Whether no node is ever deleted.
    pub skip_node_deletion: bool,
    /// For how long reads must be healthy until nodes are deleted again after the breaker opened.
    pub node_deletion_breaker_recovery: Duration,
    /// The keys of taints that announce a node's removal.
    pub node_removal_taints: Vec<String>,
    /// Whether labels follow the cloud after the initialisation too.
    pub reconcile_node_labels: bool,
    /// How long to wait before the second look at a large removal.
    pub second_look_delay: Duration,
    /// The least time between two observations of a broken load balancer before it is replaced.
    pub load_balancer_replacement_delay: Duration,
    /// The part of the load balancers that must not be broken at once.
    pub load_balancer_breaker_percent: u8,
    /// How often one thing may be created for a Service within the window.
    pub create_limit: usize,
    /// The window.
    pub create_limit_window: Duration,
    /// How often load balancers are compared although nothing changed; `None` for never.
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

/// What is accepted and shown, but steers nothing.
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
    /// `--leader-elect-resource-lock`; `leases` whenever there is an election.
    pub resource_lock: String,
    /// `--cluster-cidr`, as written.
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
    /// The election of a replica with this identity.
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

/// `--node-filter`; each requirement that cannot be used is a problem of its own.
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
