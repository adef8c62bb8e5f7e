//! Every metric of a manager's process except those of the cloud provider, as a scrape shows it. Upstream's metrics keep upstream's names.

use bowline_cloud::reference::MetricRow;

const COUNTER: &str = "counter";
const GAUGE: &str = "gauge";
const HISTOGRAM: &str = "histogram";

const fn row(
    name: &'static str,
    kind: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
) -> MetricRow {
    MetricRow { name, kind, labels, help }
}

/// All metrics, one row each.
pub const METRICS: &[MetricRow] = &[
    row(
        "rest_client_requests_total",
        COUNTER,
        &["code", "method", "host"],
        "Number of HTTP requests, partitioned by status code, method, and host",
    ),
    row(
        "rest_client_request_duration_seconds",
        HISTOGRAM,
        &["verb", "host"],
        "Request latency in seconds, by verb and host",
    ),
    row(
        "rest_client_rate_limiter_duration_seconds",
        HISTOGRAM,
        &["verb", "host"],
        "Time spent waiting for the client's request budget, in seconds, by verb and host",
    ),
    row(
        "rest_client_request_size_bytes",
        HISTOGRAM,
        &["verb", "host"],
        "Size of the request's body in bytes, by verb and host",
    ),
    row(
        "rest_client_response_size_bytes",
        HISTOGRAM,
        &["verb", "host"],
        "Size of the answer's body in bytes, by verb and host; a watch has no size",
    ),
    row(
        "rest_client_request_retries_total",
        COUNTER,
        &["code", "verb", "host"],
        "Number of request retries, partitioned by status code, verb, and host",
    ),
    row(
        "workqueue_queue_duration_seconds",
        HISTOGRAM,
        &["name"],
        "How long a key waited in the queue before a worker took it",
    ),
    row("workqueue_work_duration_seconds", HISTOGRAM, &["name"], "How long a run on a key took"),
    row("workqueue_depth", GAUGE, &["name"], "Keys ready to be worked on"),
    row(
        "workqueue_unfinished_work_seconds",
        GAUGE,
        &["name"],
        "Time taken so far by all present runs together; growing means stuck workers",
    ),
    row(
        "workqueue_longest_running_processor_seconds",
        GAUGE,
        &["name"],
        "Time taken so far by the longest present run",
    ),
    row("workqueue_adds_total", COUNTER, &["name"], "Keys added, duplicates not counted"),
    row("workqueue_retries_total", COUNTER, &["name"], "Keys put off to a later time"),
    row(
        "bowline_workqueue_panics_total",
        COUNTER,
        &["name"],
        "Runs that panicked and were caught; each is a bug",
    ),
    row("bowline_informer_objects", GAUGE, &["informer"], "Objects kept"),
    row(
        "bowline_informer_lists_total",
        COUNTER,
        &["informer"],
        "Complete lists begun; more than one means that a watch could not be resumed",
    ),
    row("bowline_informer_watches_total", COUNTER, &["informer"], "Watches begun or resumed"),
    row("bowline_informer_failures_total", COUNTER, &["informer"], "Lists and watches that failed"),
    row(
        "informer_queued_items",
        GAUGE,
        &["name", "group", "version", "resource"],
        "Changes that subscribers were not told yet, summed over the subscribers",
    ),
    row(
        "informer_processing_latency_seconds",
        HISTOGRAM,
        &["name", "group", "version", "resource"],
        "How long it took to take in an event or a complete list, subscribers' work not included",
    ),
    row(
        "informer_store_resource_version",
        GAUGE,
        &["name", "group", "version", "resource"],
        "The 15 least significant digits of the latest resource version seen on an object",
    ),
    row(
        "leader_election_master_status",
        GAUGE,
        &["name"],
        "Whether this process leads: 1 for the leader, 0 for a standby, by name of the Lease",
    ),
    row(
        "leader_election_slowpath_total",
        COUNTER,
        &["name"],
        "Renewals that had to read the Lease first, by name of the Lease",
    ),
    row(
        "bowline_events_dropped_total",
        COUNTER,
        &["component", "why"],
        "Kubernetes Events that were not written, by component and why",
    ),
    row(
        "node_controller_cloud_provider_taint_removal_delay_seconds",
        HISTOGRAM,
        &[],
        "Time from a node's registration until its uninitialized taint was removed",
    ),
    row(
        "node_controller_initial_node_sync_delay_seconds",
        HISTOGRAM,
        &[],
        "Time from a node's registration until it was initialized",
    ),
    row(
        "cloud_node_lifecycle_controller_monitor_nodes_duration_seconds",
        HISTOGRAM,
        &[],
        "Time one look at all nodes took",
    ),
    row(
        "cloud_node_lifecycle_controller_cloud_provider_calls_total",
        COUNTER,
        &["operation", "result"],
        "Questions of the lifecycle controller to the cloud",
    ),
    row(
        "service_controller_loadbalancer_sync_total",
        COUNTER,
        &[],
        "Updates of the nodes behind load balancers",
    ),
    row(
        "service_controller_nodesync_error_total",
        COUNTER,
        &[],
        "Updates of the nodes behind load balancers that failed",
    ),
    row(
        "service_controller_nodesync_latency_seconds",
        HISTOGRAM,
        &[],
        "Time to bring all load balancers up to date after a change of nodes",
    ),
    row(
        "service_controller_update_loadbalancer_host_latency_seconds",
        HISTOGRAM,
        &[],
        "Time to update the nodes behind one load balancer",
    ),
    row(
        "route_controller_route_sync_total",
        COUNTER,
        &["outcome", "trigger"],
        "Comparisons of the cloud's routes with the nodes",
    ),
    row(
        "bowline_node_initialization_failures_total",
        COUNTER,
        &["reason"],
        "Tries to initialize a node that failed, by reason",
    ),
    row(
        "bowline_nodes_initialization_failing",
        GAUGE,
        &[],
        "Nodes that wait to be initialized after a failed try",
    ),
    row(
        "node_ipam_controller_cidrset_cidrs_allocations_total",
        COUNTER,
        &["clusterCIDR"],
        "Pod ranges handed out",
    ),
    row(
        "node_ipam_controller_cidrset_cidrs_releases_total",
        COUNTER,
        &["clusterCIDR"],
        "Pod ranges taken back",
    ),
    row("node_ipam_controller_cirdset_max_cidrs", GAUGE, &["clusterCIDR"], "Pod ranges there are"),
    row("node_ipam_controller_cidrset_usage_cidrs", GAUGE, &["clusterCIDR"], "Part of the pod ranges in use"),
    row(
        "node_ipam_controller_cidrset_allocation_tries_per_request",
        HISTOGRAM,
        &["clusterCIDR"],
        "Tries until a free pod range was found",
    ),
    row(
        "bowline_node_deletion_breaker_open",
        GAUGE,
        &[],
        "Whether so many nodes look gone that none is deleted",
    ),
    row(
        "bowline_node_deletions_held",
        GAUGE,
        &["rail"],
        "Nodes not ready that a safety rail kept from being tainted or deleted at the last look, by rail",
    ),
    row("bowline_nodes_deleted_total", COUNTER, &[], "Nodes deleted because their machine was gone"),
    row("running_managed_controllers", GAUGE, &["name", "manager"], "Whether a controller runs"),
    row(
        "bowline_controller_unavailable",
        GAUGE,
        &["controller"],
        "Whether a controller waits for a service of the cloud that is missing or failing",
    ),
    row(
        "bowline_rail_held_back_total",
        COUNTER,
        &["rail"],
        "Plans that a safety rail held back: second-look (SR-7), create-budget (SR-10), adopt-only, pause (SR-15) or replacement (SR-19)",
    ),
    row(
        "bowline_services_unsettled",
        GAUGE,
        &["reason"],
        "Services that do not have what they ask for, by the reason of their condition or the safety rail that holds them",
    ),
    row(
        "bowline_load_balancer_drift_total",
        COUNTER,
        &[],
        "Load balancers that differed from what their Service asks for although neither the Service nor its Nodes had changed",
    ),
    row(
        "bowline_load_balancers_drifted",
        GAUGE,
        &[],
        "Load balancers that were found so and are not repaired yet",
    ),
    row(
        "bowline_cloud_last_read_age_seconds",
        GAUGE,
        &["service"],
        "Time since a service of the cloud last answered a read, or since it was first called if it never did; what the manager does not need is not read",
    ),
    row(
        "bowline_load_balancers_broken",
        GAUGE,
        &[],
        "Load balancers that the cloud reports as broken and that may still carry traffic (SR-19)",
    ),
    row(
        "bowline_load_balancer_breaker_open",
        GAUGE,
        &[],
        "Whether so many load balancers are broken at once that none is replaced (SR-19)",
    ),
    row("bowline_paused", GAUGE, &[], "Whether a person paused all changes (SR-15)"),
    row(
        "bowline_controller_restarts_total",
        COUNTER,
        &["controller"],
        "How often a controller was started again after it failed",
    ),
    row(
        "bowline_cloud_budget_remaining_calls",
        GAUGE,
        &["service"],
        "Calls to a cloud service that could be made at once",
    ),
    row(
        "bowline_cloud_budget_waited_seconds_total",
        COUNTER,
        &["service"],
        "Time that calls to a cloud service waited for the budget",
    ),
    row(
        "bowline_cloud_throttled_total",
        COUNTER,
        &["service"],
        "How often a cloud service asked us to slow down",
    ),
    row(
        "bowline_cloud_identity_lost",
        GAUGE,
        &[],
        "1 while the cloud does not accept our identity, or takes us for another: nothing is changed then",
    ),
    row(
        "bowline_cloud_identity_losses_total",
        COUNTER,
        &[],
        "How often the cloud began not to accept our identity",
    ),
    row(
        "bowline_missing_permissions",
        GAUGE,
        &["verb", "resource", "controller"],
        "Rights in the cluster that this process lacks, by who needs them",
    ),
    row(
        "authenticated_user_requests",
        GAUGE,
        &["username"],
        "Authenticated requests by the kind of their user's name",
    ),
    row(
        "authentication_attempts",
        GAUGE,
        &["result"],
        "Requests by the result of their authentication: success or failure",
    ),
    row(
        "authentication_duration_seconds",
        HISTOGRAM,
        &["result"],
        "Time taken to authenticate a request, by result",
    ),
    row(
        "authorization_attempts_total",
        COUNTER,
        &["result"],
        "Requests by the result of their authorization: allowed, denied or error",
    ),
    row(
        "authorization_duration_seconds",
        HISTOGRAM,
        &["result"],
        "Time taken to authorize a request, by result",
    ),
    row(
        "bowline_serving_reload_failures_total",
        COUNTER,
        &["source"],
        "Replacements of certificates or authorities that could not be used; the old ones stayed in use",
    ),
    row(
        "bowline_serving_dropped_connections_total",
        COUNTER,
        &["caller"],
        "Connections closed because others needed their place, by caller: local, authenticated or anonymous",
    ),
    row(
        "apiserver_delegated_authn_request_total",
        COUNTER,
        &["code"],
        "Token reviews asked of the API server, by HTTP status or <error>",
    ),
    row(
        "apiserver_delegated_authn_request_duration_seconds",
        HISTOGRAM,
        &["code"],
        "Time until the API server answered; Token reviews by HTTP status or <error>",
    ),
    row(
        "apiserver_delegated_authz_request_total",
        COUNTER,
        &["code"],
        "Access reviews asked of the API server, by HTTP status or <error>",
    ),
    row(
        "apiserver_delegated_authz_request_duration_seconds",
        HISTOGRAM,
        &["code"],
        "Time until the API server answered; Access reviews by HTTP status or <error>",
    ),
    row(
        "authentication_token_cache_request_total",
        COUNTER,
        &["status"],
        "Requests with a bearer token whose review was remembered (hit) or not (miss)",
    ),
    row(
        "authentication_token_cache_request_duration_seconds",
        HISTOGRAM,
        &["status"],
        "Time until the owner of a bearer token was known, remembered (hit) or not (miss)",
    ),
    row(
        "authentication_token_cache_fetch_total",
        COUNTER,
        &["status"],
        "Token reviews that were answered (ok) or not (error), retries included in one",
    ),
    row(
        "authentication_token_cache_active_fetch_count",
        GAUGE,
        &["status"],
        "Token reviews under way (in_flight) and requests that wait for one (blocked)",
    ),
    row(
        "kubernetes_build_info",
        GAUGE,
        &[
            "major",
            "minor",
            "git_version",
            "git_commit",
            "git_tree_state",
            "build_date",
            "go_version",
            "compiler",
            "platform",
        ],
        "What was built; always 1",
    ),
    row("process_cpu_seconds_total", COUNTER, &[], "User and system CPU time spent, in seconds"),
    row("process_resident_memory_bytes", GAUGE, &[], "Resident memory"),
    row("process_virtual_memory_bytes", GAUGE, &[], "Virtual memory"),
    row("process_open_fds", GAUGE, &[], "Open file descriptors"),
    row("process_max_fds", GAUGE, &[], "Limit of open file descriptors"),
    row("process_start_time_seconds", GAUGE, &[], "Start of the process since the epoch"),
    row("go_goroutines", GAUGE, &[], "Alive tokio tasks"),
];

#[cfg(test)]
mod tests {
    use bowline_cloud::reference::differences;
    use bowline_testkit::provider::FakeCloud;
    use prometheus_client::encoding::text::encode;

    use super::*;
    use crate::metrics::Metrics;
    use crate::serving::BuildInfo;

    /// Of collectors, which cannot be listed: they are looked for in a scrape where one shows them.
    const COLLECTED: [&str; 14] = [
        "bowline_services_unsettled",
        "bowline_cloud_last_read_age_seconds",
        "workqueue_depth",
        "workqueue_unfinished_work_seconds",
        "workqueue_longest_running_processor_seconds",
        "workqueue_adds_total",
        "workqueue_retries_total",
        "process_cpu_seconds_total",
        "process_resident_memory_bytes",
        "process_virtual_memory_bytes",
        "process_open_fds",
        "process_max_fds",
        "process_start_time_seconds",
        "go_goroutines",
    ];

    #[test]
    fn every_metric_has_a_row_and_every_row_a_metric() {
        let (_metrics, registry) = Metrics::register(&FakeCloud::default(), &BuildInfo::of("0"));
        assert_eq!(differences(METRICS, &registry, &COLLECTED), [""; 0]);
    }

    #[tokio::test]
    async fn what_a_scrape_shows_has_a_row_of_that_kind() {
        let (_metrics, registry) = Metrics::register(&FakeCloud::default(), &BuildInfo::of("0"));
        let mut scrape = String::new();
        encode(&mut scrape, &registry).unwrap();
        let kinds = scrape.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
        for (name, kind) in kinds {
            let is_it = |row: &&MetricRow| row.name == name || row.name.strip_suffix("_total") == Some(name);
            let row = METRICS.iter().find(is_it).unwrap_or_else(|| panic!("no row for {name}"));
            assert_eq!(row.kind, kind, "{name}");
        }
    }
}
