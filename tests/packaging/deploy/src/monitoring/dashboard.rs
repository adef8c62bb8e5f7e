//! The dashboard: rows of panels, each with its queries.

use serde_json::{Value, json};

use crate::PackagingError;

/// How a panel shows its queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Lines over time.
    Lines,
    /// The present value in large.
    Number,
}

/// A panel.
struct Panel {
    title: &'static str,
    shape: Shape,
    unit: &'static str,
    /// Expressions, and what their lines are called.
    queries: &'static [(&'static str, &'static str)],
}

const fn lines(
    title: &'static str,
    unit: &'static str,
    queries: &'static [(&'static str, &'static str)],
) -> Panel {
    Panel { title, shape: Shape::Lines, unit, queries }
}

const fn number(title: &'static str, queries: &'static [(&'static str, &'static str)]) -> Panel {
    Panel { title, shape: Shape::Number, unit: "none", queries }
}

/// Rows of panels. `$job` is what Prometheus calls the manager.
const ROWS: &[(&str, &[Panel])] = &[
    (
        "Is it well?",
        &[
            number("Leaders", &[("sum(leader_election_master_status{job=~\"$job\"})", "")]),
            number("Replicas", &[("count(bowline_paused{job=~\"$job\"})", "")]),
            number("Paused", &[("max(bowline_paused{job=~\"$job\"})", "")]),
            number("Identity lost", &[("max(bowline_cloud_identity_lost{job=~\"$job\"})", "")]),
            number(
                "Node deletion breaker",
                &[("max(bowline_node_deletion_breaker_open{job=~\"$job\"})", "")],
            ),
            number("cloud.conf refused", &[("max(bowline_openstack_config_refused{job=~\"$job\"})", "")]),
            number(
                "Nodes that cannot be initialised",
                &[("max(bowline_nodes_initialization_failing{job=~\"$job\"})", "")],
            ),
            number(
                "Services without what they ask for",
                &[("sum(bowline_services_unsettled{job=~\"$job\"}) or vector(0)", "")],
            ),
            number(
                "Largest part of a quota in use (%)",
                &[(
                    "100 * max(max by (resource) (bowline_openstack_quota_used{job=~\"$job\"}) / max by (resource) (bowline_openstack_quota_limit{job=~\"$job\"}))",
                    "",
                )],
            ),
            number(
                "Missing rights",
                &[("count(bowline_missing_permissions{job=~\"$job\"} > 0) or vector(0)", "")],
            ),
        ],
    ),
    (
        "Nodes",
        &[
            lines(
                "Nodes and Services seen",
                "none",
                &[("max by (informer) (bowline_informer_objects{job=~\"$job\"})", "{{informer}}")],
            ),
            lines(
                "Time until a Node is initialised (95 %)",
                "s",
                &[(
                    "histogram_quantile(0.95, sum by (le) (rate(node_controller_initial_node_sync_delay_seconds_bucket{job=~\"$job\"}[1h])))",
                    "initialised",
                )],
            ),
            lines(
                "Initialisation failures per minute",
                "none",
                &[(
                    "60 * sum by (reason) (rate(bowline_node_initialization_failures_total{job=~\"$job\"}[5m]))",
                    "{{reason}}",
                )],
            ),
            lines(
                "Deletions held back",
                "none",
                &[("max by (rail) (bowline_node_deletions_held{job=~\"$job\"})", "{{rail}}")],
            ),
            lines(
                "Nodes deleted per hour",
                "none",
                &[("sum(increase(bowline_nodes_deleted_total{job=~\"$job\"}[1h]))", "deleted")],
            ),
        ],
    ),
    (
        "Load balancers",
        &[
            lines(
                "Reconciles per minute",
                "none",
                &[(
                    "60 * sum by (operation) (rate(cloudprovider_openstack_reconcile_total{job=~\"$job\"}[5m]))",
                    "{{operation}}",
                )],
            ),
            lines(
                "Of them failed",
                "none",
                &[(
                    "60 * sum by (operation) (rate(cloudprovider_openstack_reconcile_errors_total{job=~\"$job\"}[5m]))",
                    "{{operation}}",
                )],
            ),
            lines(
                "Time of a reconcile (95 %)",
                "s",
                &[(
                    "histogram_quantile(0.95, sum by (le, operation) (rate(cloudprovider_openstack_reconcile_duration_seconds_bucket{job=~\"$job\"}[15m])))",
                    "{{operation}}",
                )],
            ),
            lines(
                "Plans held back by safety rails per hour",
                "none",
                &[("sum by (rail) (increase(bowline_rail_held_back_total{job=~\"$job\"}[1h]))", "{{rail}}")],
            ),
        ],
    ),
    (
        "OpenStack",
        &[
            lines(
                "Calls per second",
                "reqps",
                &[(
                    "sum by (request) (rate(openstack_api_requests_total{job=~\"$job\"}[5m]))",
                    "{{request}}",
                )],
            ),
            lines(
                "Failed calls per second",
                "reqps",
                &[(
                    "sum by (request) (rate(openstack_api_request_errors_total{job=~\"$job\"}[5m]))",
                    "{{request}}",
                )],
            ),
            lines(
                "Time of a call (95 %)",
                "s",
                &[(
                    "histogram_quantile(0.95, sum by (le, request) (rate(openstack_api_request_duration_seconds_bucket{job=~\"$job\"}[15m])))",
                    "{{request}}",
                )],
            ),
            lines(
                "Calls left in the budget",
                "none",
                &[("min by (service) (bowline_cloud_budget_remaining_calls{job=~\"$job\"})", "{{service}}")],
            ),
            lines(
                "Seconds waited for the budget, per second",
                "s",
                &[(
                    "sum by (service) (rate(bowline_cloud_budget_waited_seconds_total{job=~\"$job\"}[5m]))",
                    "{{service}}",
                )],
            ),
            lines(
                "Asked to slow down, per hour",
                "none",
                &[(
                    "sum by (service) (increase(bowline_cloud_throttled_total{job=~\"$job\"}[1h]))",
                    "{{service}}",
                )],
            ),
        ],
    ),
    (
        "Kubernetes",
        &[
            lines(
                "Requests per second",
                "reqps",
                &[(
                    "sum by (code, method) (rate(rest_client_requests_total{job=~\"$job\"}[5m]))",
                    "{{method}} {{code}}",
                )],
            ),
            lines(
                "Keys that wait",
                "none",
                &[("sum by (name) (workqueue_depth{job=~\"$job\"})", "{{name}}")],
            ),
            lines(
                "Retries per minute",
                "none",
                &[("60 * sum by (name) (rate(workqueue_retries_total{job=~\"$job\"}[5m]))", "{{name}}")],
            ),
            lines(
                "Longest run",
                "s",
                &[("max by (name) (workqueue_longest_running_processor_seconds{job=~\"$job\"})", "{{name}}")],
            ),
            lines(
                "Failed watches per minute",
                "none",
                &[(
                    "60 * sum by (informer) (rate(bowline_informer_failures_total{job=~\"$job\"}[5m]))",
                    "{{informer}}",
                )],
            ),
        ],
    ),
    (
        "The process",
        &[
            lines("Memory", "bytes", &[("process_resident_memory_bytes{job=~\"$job\"}", "{{instance}}")]),
            lines("CPU", "none", &[("rate(process_cpu_seconds_total{job=~\"$job\"}[5m])", "{{instance}}")]),
            lines(
                "Controllers that run",
                "none",
                &[("sum by (name) (running_managed_controllers{job=~\"$job\"})", "{{name}}")],
            ),
            lines(
                "Controllers that wait for the cloud",
                "none",
                &[("max by (controller) (bowline_controller_unavailable{job=~\"$job\"})", "{{controller}}")],
            ),
            lines(
                "Restarts of controllers, and panics, per hour",
                "none",
                &[
                    (
                        "sum by (controller) (increase(bowline_controller_restarts_total{job=~\"$job\"}[1h]))",
                        "{{controller}}",
                    ),
                    (
                        "sum by (name) (increase(bowline_workqueue_panics_total{job=~\"$job\"}[1h]))",
                        "panic: {{name}}",
                    ),
                ],
            ),
        ],
    ),
];

/// The dashboard in Grafana's JSON.
///
/// # Errors
///
/// If it has no JSON.
pub fn dashboard() -> Result<String, PackagingError> {
    crate::json(
        "the dashboard",
        &json!({
            "uid": "bowline",
            "title": "Bowline",
            "description": "Generated from tests/packaging/deploy/src/monitoring/dashboard.rs by `cargo xtask gen`. Do not edit.",
            "tags": ["kubernetes", "openstack"],
            "editable": true,
            "schemaVersion": 39,
            "version": 1,
            "refresh": "30s",
            "time": {"from": "now-6h", "to": "now"},
            "templating": {"list": [
                {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
                {"name": "job", "label": "Job", "type": "query", "datasource": SOURCE(), "query": "label_values(bowline_paused, job)",
                 "refresh": 2, "includeAll": true, "multi": true, "current": {"text": "All", "value": "$__all"}},
            ]},
            "panels": panels(),
        }),
    )
}

/// All queries as Prometheus sees them: Grafana's variable filled in.
pub(super) fn queries() -> Vec<String> {
    let panels = ROWS.iter().flat_map(|(_, panels)| panels.iter());
    panels.flat_map(|panel| panel.queries).map(|(expr, _)| expr.replace("$job", ".*")).collect()
}

const SOURCE: fn() -> Value = || json!({"type": "prometheus", "uid": "${datasource}"});

/// Grafana's grid is 24 wide.
fn panels() -> Vec<Value> {
    let mut all = Vec::new();
    let mut y = 0;
    for (title, panels) in ROWS {
        all.push(json!({
            "id": all.len() + 1, "type": "row", "title": title, "collapsed": false, "panels": [],
            "gridPos": {"h": 1, "w": 24, "x": 0, "y": y},
        }));
        y += 1;
        let numbers = panels.iter().all(|panel| panel.shape == Shape::Number);
        let (width, height) = if numbers { (3, 4) } else { (8, 7) };
        let per_line = 24 / width;
        for (index, panel) in panels.iter().enumerate() {
            let place = json!({
                "h": height, "w": width, "x": index % per_line * width, "y": y + index / per_line * height,
            });
            all.push(shown(all.len() + 1, panel, &place));
        }
        y += panels.len().div_ceil(per_line) * height;
    }
    all
}

fn shown(id: usize, panel: &Panel, place: &Value) -> Value {
    let targets: Vec<Value> = panel
        .queries
        .iter()
        .zip(["A", "B", "C"])
        .map(|((expr, legend), name)| {
            let range = panel.shape == Shape::Lines;
            json!({"refId": name, "datasource": SOURCE(), "expr": expr, "legendFormat": legend, "range": range, "instant": !range})
        })
        .collect();
    let kind = match panel.shape {
        Shape::Lines => "timeseries",
        Shape::Number => "stat",
    };
    json!({
        "id": id, "type": kind, "title": panel.title, "datasource": SOURCE(), "gridPos": place, "targets": targets,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
    })
}
