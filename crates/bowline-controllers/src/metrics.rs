//! The metrics of the controllers, with upstream's names, labels and buckets, so that existing dashboards and alerts work.
//!
//! prometheus-client appends `_total` to the names of counters, so it is omitted here.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::{EncodeLabel, EncodeLabelSet, LabelSetEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::lifecycle::metrics::NodeDeletionMetrics;
use crate::node::NodeMetrics;

/// The value of the label `manager`.
const MANAGER: &str = "cloud-controller-manager";

/// All metrics of the controllers. Clones share the values.
#[derive(Debug, Clone)]
pub struct ControllerMetrics {
    /// Time from the registration of a Node until its uninitialized taint was removed, in seconds.
    pub taint_removal_delay_seconds: Histogram,
    /// Time from the registration of a Node until it was initialized, in seconds.
    pub initial_node_sync_delay_seconds: Histogram,
    /// Duration of one pass of the lifecycle controller over all Nodes, in seconds.
    pub monitor_nodes_duration_seconds: Histogram,
    /// Cloud calls of the lifecycle controller, by operation and result.
    pub lifecycle_cloud_calls: Family<CloudCallLabels, Counter>,
    /// What the rails of node deletion hold back.
    pub node_deletion: NodeDeletionMetrics,
    /// Updates of the nodes behind a load balancer.
    pub load_balancer_syncs: Counter,
    /// Failed updates of the nodes behind a load balancer.
    pub node_sync_errors: Counter,
    /// Time to update all load balancers after a change of the node set, in seconds.
    pub node_sync_latency_seconds: Histogram,
    /// Time to update the nodes behind one load balancer, in seconds.
    pub update_host_latency_seconds: Histogram,
    /// Reconciles of the routes, by outcome and trigger.
    pub route_syncs: Family<RouteSyncLabels, Counter>,
    /// Nodes that could not be initialized.
    pub node: NodeMetrics,
    /// The metrics of each cluster CIDR.
    pub ipam: IpamMetrics,
    running: Family<RunningLabels, Gauge>,
    unavailable: Family<ControllerLabels, Gauge>,
    restarts: Family<ControllerLabels, Counter>,
    /// 1 while an administrator has paused all changes (SR-15).
    pub paused: Gauge,
    /// Load balancers that the cloud reports as broken (SR-19).
    pub load_balancers_broken: Gauge,
    /// 1 while the breaker is open: so many load balancers are broken that none is replaced (SR-19).
    pub load_balancer_breaker_open: Gauge,
    /// Load balancers that differed from their Service although nothing in the cluster had changed.
    pub load_balancer_drift: Counter,
    /// Load balancers with such drift that are not repaired yet.
    pub load_balancers_drifted: Gauge,
    held_back: Family<RailLabels, Counter>,
}

/// The metrics of the node IPAM controller, one set for each cluster CIDR.
#[derive(Debug, Clone)]
pub struct IpamMetrics {
    /// Ranges assigned.
    pub allocations: Family<CidrLabel, Counter>,
    /// Ranges released.
    pub releases: Family<CidrLabel, Counter>,
    /// The number of ranges.
    pub max_cidrs: Family<CidrLabel, Gauge>,
    /// The share of the ranges in use, from 0 to 1.
    pub usage: Family<CidrLabel, Gauge<f64, AtomicU64>>,
    /// The number of taken ranges that a search skipped before it found a free one.
    pub tries: Family<CidrLabel, Histogram>,
}

/// A cluster CIDR. The label has upstream's spelling.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CidrLabel(pub String);

impl EncodeLabelSet for CidrLabel {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> Result<(), std::fmt::Error> {
        ("clusterCIDR", self.0.as_str()).encode(encoder.encode_label())
    }
}

impl IpamMetrics {
    fn new() -> Self {
        Self {
            allocations: Family::default(),
            releases: Family::default(),
            max_cidrs: Family::default(),
            usage: Family::default(),
            tries: Family::new_with_constructor(|| Histogram::new(exponential_buckets(1.0, 5.0, 5))),
        }
    }

    fn register(&self, registry: &mut Registry) {
        let name = |metric: &str| format!("node_ipam_controller_{metric}");
        registry.register(
            name("cidrset_cidrs_allocations"),
            "Pod ranges handed out",
            self.allocations.clone(),
        );
        registry.register(name("cidrset_cidrs_releases"), "Pod ranges taken back", self.releases.clone());
        // The typo is upstream's: existing dashboards use this name.
        registry.register(name("cirdset_max_cidrs"), "Pod ranges there are", self.max_cidrs.clone());
        registry.register(name("cidrset_usage_cidrs"), "Part of the pod ranges in use", self.usage.clone());
        registry.register(
            name("cidrset_allocation_tries_per_request"),
            "Tries until a free pod range was found",
            self.tries.clone(),
        );
    }
}

/// The labels of a cloud call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct CloudCallLabels {
    /// `instance_exists`, `instance_shutdown` or `instance_metadata`.
    pub operation: &'static str,
    /// `success`, `error`, `instance_not_found`, `not_implemented` or `canceled`.
    pub result: &'static str,
}

/// The labels of a reconcile of the routes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RouteSyncLabels {
    /// `changed`, `noop` or `error` as in upstream; and `held` while a drastic removal waits for a second observation, or all changes are
    /// stopped.
    pub outcome: &'static str,
    /// `periodic` or `node_change`.
    pub trigger: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RunningLabels {
    name: String,
    manager: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RailLabels {
    rail: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ControllerLabels {
    controller: String,
}

impl ControllerMetrics {
    /// Creates the metrics and registers them.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::new();
        metrics.register_node(registry);
        metrics.register_service_and_route(registry);
        metrics.node.register(registry);
        metrics.ipam.register(registry);
        metrics.node_deletion.register(registry);
        registry.register(
            "running_managed_controllers",
            "Whether a controller runs",
            metrics.running.clone(),
        );
        registry.register(
            "bowline_controller_unavailable",
            "Whether a controller waits for a service of the cloud that is missing or failing",
            metrics.unavailable.clone(),
        );
        registry.register(
            "bowline_rail_held_back",
            "Plans that a safety rail held back: second-look (SR-7), create-budget (SR-10), adopt-only, pause (SR-15) or replacement (SR-19)",
            metrics.held_back.clone(),
        );
        registry.register(
            "bowline_paused",
            "Whether a person paused all changes (SR-15)",
            metrics.paused.clone(),
        );
        registry.register(
            "bowline_load_balancer_drift",
            "Load balancers that differed from what their Service asks for although neither the Service nor its Nodes had changed",
            metrics.load_balancer_drift.clone(),
        );
        registry.register(
            "bowline_load_balancers_drifted",
            "Load balancers that were found so and are not repaired yet",
            metrics.load_balancers_drifted.clone(),
        );
        registry.register(
            "bowline_load_balancers_broken",
            "Load balancers that the cloud reports as broken and that may still carry traffic (SR-19)",
            metrics.load_balancers_broken.clone(),
        );
        registry.register(
            "bowline_load_balancer_breaker_open",
            "Whether so many load balancers are broken at once that none is replaced (SR-19)",
            metrics.load_balancer_breaker_open.clone(),
        );
        registry.register(
            "bowline_controller_restarts",
            "How often a controller was started again after it failed",
            metrics.restarts.clone(),
        );
        metrics
    }

    fn new() -> Self {
        let node_delay = || Histogram::new(exponential_buckets(1.0, 4.0, 6));
        let service_latency = || Histogram::new(exponential_buckets(1.0, 2.0, 15));
        Self {
            taint_removal_delay_seconds: node_delay(),
            initial_node_sync_delay_seconds: node_delay(),
            monitor_nodes_duration_seconds: Histogram::new(exponential_buckets(0.001, 2.0, 15)),
            lifecycle_cloud_calls: Family::default(),
            node_deletion: NodeDeletionMetrics::default(),
            load_balancer_syncs: Counter::default(),
            node_sync_errors: Counter::default(),
            node_sync_latency_seconds: service_latency(),
            update_host_latency_seconds: service_latency(),
            route_syncs: Family::default(),
            node: NodeMetrics::default(),
            ipam: IpamMetrics::new(),
            running: Family::default(),
            unavailable: Family::default(),
            restarts: Family::default(),
            paused: Gauge::default(),
            load_balancer_drift: Counter::default(),
            load_balancers_drifted: Gauge::default(),
            load_balancers_broken: Gauge::default(),
            load_balancer_breaker_open: Gauge::default(),
            held_back: Family::default(),
        }
    }

    fn register_node(&self, registry: &mut Registry) {
        registry.register(
            "node_controller_cloud_provider_taint_removal_delay_seconds",
            "Time from a node's registration until its uninitialized taint was removed",
            self.taint_removal_delay_seconds.clone(),
        );
        registry.register(
            "node_controller_initial_node_sync_delay_seconds",
            "Time from a node's registration until it was initialized",
            self.initial_node_sync_delay_seconds.clone(),
        );
        registry.register(
            "cloud_node_lifecycle_controller_monitor_nodes_duration_seconds",
            "Time one look at all nodes took",
            self.monitor_nodes_duration_seconds.clone(),
        );
        registry.register(
            "cloud_node_lifecycle_controller_cloud_provider_calls",
            "Questions of the lifecycle controller to the cloud",
            self.lifecycle_cloud_calls.clone(),
        );
    }

    fn register_service_and_route(&self, registry: &mut Registry) {
        registry.register(
            "service_controller_loadbalancer_sync",
            "Updates of the nodes behind load balancers",
            self.load_balancer_syncs.clone(),
        );
        registry.register(
            "service_controller_nodesync_error",
            "Updates of the nodes behind load balancers that failed",
            self.node_sync_errors.clone(),
        );
        registry.register(
            "service_controller_nodesync_latency_seconds",
            "Time to bring all load balancers up to date after a change of nodes",
            self.node_sync_latency_seconds.clone(),
        );
        registry.register(
            "service_controller_update_loadbalancer_host_latency_seconds",
            "Time to update the nodes behind one load balancer",
            self.update_host_latency_seconds.clone(),
        );
        registry.register(
            "route_controller_route_sync",
            "Comparisons of the cloud's routes with the nodes",
            self.route_syncs.clone(),
        );
    }

    /// Sets whether a controller runs. `name` is its alias, as upstream's dashboards use it.
    pub fn set_running(&self, name: &str, running: bool) {
        let labels = RunningLabels { name: name.to_owned(), manager: MANAGER };
        self.running.get_or_create(&labels).set(running.into());
    }

    /// Sets whether a controller waits because its cloud API is unavailable.
    pub fn set_unavailable(&self, controller: &str, unavailable: bool) {
        let labels = ControllerLabels { controller: controller.to_owned() };
        self.unavailable.get_or_create(&labels).set(unavailable.into());
    }

    /// Counts a plan that a safety rail held back.
    pub fn held_back(&self, rail: &'static str) {
        self.held_back.get_or_create(&RailLabels { rail }).inc();
    }

    /// How many plans a safety rail has held back.
    #[must_use]
    pub fn times_held_back(&self, rail: &'static str) -> u64 {
        self.held_back.get_or_create(&RailLabels { rail }).get()
    }

    /// Counts a restart of a controller.
    pub fn restarted(&self, controller: &str) {
        self.restarts.get_or_create(&ControllerLabels { controller: controller.to_owned() }).inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_framework_metric_of_upstream_has_its_name_and_its_labels() {
        let mut registry = Registry::default();
        let metrics = ControllerMetrics::register(&mut registry);
        metrics.set_running("service", true);
        metrics
            .lifecycle_cloud_calls
            .get_or_create(&CloudCallLabels { operation: "instance_exists", result: "error" })
            .inc();
        metrics.route_syncs.get_or_create(&RouteSyncLabels { outcome: "noop", trigger: "periodic" }).inc();
        let cidr = CidrLabel("10.0.0.0/16".to_owned());
        metrics.ipam.allocations.get_or_create(&cidr).inc();
        metrics.ipam.releases.get_or_create(&cidr).inc();
        metrics.ipam.max_cidrs.get_or_create(&cidr).set(256);
        metrics.ipam.usage.get_or_create(&cidr).set(0.5);
        metrics.ipam.tries.get_or_create(&cidr).observe(1.0);
        let mut scrape = String::new();
        prometheus_client::encoding::text::encode(&mut scrape, &registry).unwrap();
        for wanted in [
            r#"node_controller_cloud_provider_taint_removal_delay_seconds_bucket{le="1024.0"}"#,
            r#"node_controller_initial_node_sync_delay_seconds_bucket{le="256.0"}"#,
            r#"cloud_node_lifecycle_controller_monitor_nodes_duration_seconds_bucket{le="0.001"}"#,
            r#"cloud_node_lifecycle_controller_cloud_provider_calls_total{operation="instance_exists",result="error"}"#,
            "service_controller_loadbalancer_sync_total",
            "service_controller_nodesync_error_total",
            r#"service_controller_nodesync_latency_seconds_bucket{le="16384.0"}"#,
            r#"service_controller_update_loadbalancer_host_latency_seconds_bucket{le="1.0"}"#,
            r#"route_controller_route_sync_total{outcome="noop",trigger="periodic"}"#,
            r#"running_managed_controllers{name="service",manager="cloud-controller-manager"} 1"#,
            r#"node_ipam_controller_cidrset_cidrs_allocations_total{clusterCIDR="10.0.0.0/16"}"#,
            r#"node_ipam_controller_cidrset_cidrs_releases_total{clusterCIDR="10.0.0.0/16"}"#,
            r#"node_ipam_controller_cirdset_max_cidrs{clusterCIDR="10.0.0.0/16"}"#,
            r#"node_ipam_controller_cidrset_usage_cidrs{clusterCIDR="10.0.0.0/16"}"#,
            r#"node_ipam_controller_cidrset_allocation_tries_per_request_bucket{le="625.0",clusterCIDR="10.0.0.0/16"}"#,
        ] {
            assert!(scrape.contains(wanted), "{wanted} is missing in\n{scrape}");
        }
    }
}
