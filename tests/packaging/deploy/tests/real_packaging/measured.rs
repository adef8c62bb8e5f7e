//! Whether the manager exposes what the alerts and the dashboard ask for, metric by metric and label by label.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::ensure;
use packaging::monitoring;

use crate::harness::DEPLOY;

/// Labels that Prometheus adds when it scrapes.
const OF_SCRAPES: [&str; 2] = ["job", "instance"];

/// Metrics that appear only when something goes wrong, or after a time: their labels, and the file that makes them.
const LATER: [(&str, &[&str], &str); 16] = [
    (
        "bowline_missing_permissions",
        &["verb", "resource", "controller"],
        include_str!("../../../../../crates/bowline-manager/src/right_to_act/metrics.rs"),
    ),
    (
        "bowline_rail_held_back",
        &["rail"],
        include_str!("../../../../../crates/bowline-controllers/src/metrics.rs"),
    ),
    (
        "bowline_controller_unavailable",
        &["controller"],
        include_str!("../../../../../crates/bowline-controllers/src/metrics.rs"),
    ),
    (
        "bowline_controller_restarts",
        &["controller"],
        include_str!("../../../../../crates/bowline-controllers/src/metrics.rs"),
    ),
    (
        "bowline_node_initialization_failures",
        &["reason"],
        include_str!("../../../../../crates/bowline-controllers/src/node/metrics.rs"),
    ),
    (
        "bowline_cloud_throttled",
        &["service"],
        include_str!("../../../../../crates/bowline-manager/src/budget.rs"),
    ),
    (
        "bowline_cloud_budget_waited_seconds",
        &["service"],
        include_str!("../../../../../crates/bowline-manager/src/budget.rs"),
    ),
    (
        "openstack_api_request_errors",
        &["request"],
        include_str!("../../../../../crates/openstack-client/src/metrics.rs"),
    ),
    (
        "cloudprovider_openstack_reconcile_errors",
        &["operation"],
        include_str!("../../../../../crates/bowline-openstack/src/cloud/reconciles.rs"),
    ),
    // Absent where the project has no limits, as here.
    (
        "bowline_openstack_quota_limit",
        &["resource"],
        include_str!("../../../../../crates/bowline-openstack/src/cloud/limits.rs"),
    ),
    (
        "bowline_openstack_quota_used",
        &["resource"],
        include_str!("../../../../../crates/bowline-openstack/src/cloud/limits.rs"),
    ),
    (
        "bowline_openstack_credential_expiry_timestamp_seconds",
        &["credential"],
        include_str!("../../../../../crates/bowline-openstack/src/cloud/limits.rs"),
    ),
    (
        "bowline_services_unsettled",
        &["reason"],
        include_str!("../../../../../crates/bowline-manager/src/status/metrics.rs"),
    ),
    // The operator's: another process, whose page is not looked at here.
    (
        "bowline_operator_reconciles",
        &["name", "result"],
        include_str!("../../../../../crates/bowline-operator/src/operate/metrics.rs"),
    ),
    (
        "bowline_operator_phase",
        &["name", "phase"],
        include_str!("../../../../../crates/bowline-operator/src/operate/metrics.rs"),
    ),
    (
        "bowline_operator_applied_objects",
        &["name", "what"],
        include_str!("../../../../../crates/bowline-operator/src/operate/metrics.rs"),
    ),
];

/// Every metric of a page with the labels of its series.
fn exposed(page: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap_or_default();
        let labels =
            line.split_once('{').and_then(|(_, rest)| rest.rsplit_once('}')).map_or("", |(labels, _)| labels);
        let known = all.entry(name.to_owned()).or_default();
        // A value has no `="` in it: none of ours is a text of people.
        for label in labels.split("=\"").filter_map(|part| part.rsplit([',', '"']).next()) {
            if !label.is_empty() {
                known.insert(label.to_owned());
            }
        }
    }
    all
}

/// Fails if an alert or a query asks for a metric or a label that is not on the page.
pub(crate) fn check(page: &str) -> anyhow::Result<()> {
    let exposed = exposed(page);
    let rules: serde_json::Value =
        serde_saphyr::from_str(&std::fs::read_to_string(format!("{DEPLOY}/monitoring/alerts.yaml"))?)?;
    let dashboard: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(format!("{DEPLOY}/monitoring/dashboard.json"))?)?;
    let mut expressions = Vec::new();
    for rule in rules["groups"][0]["rules"].as_array().into_iter().flatten() {
        expressions.push(rule["expr"].as_str().unwrap_or_default().to_owned());
    }
    for panel in dashboard["panels"].as_array().into_iter().flatten() {
        for target in panel["targets"].as_array().into_iter().flatten() {
            expressions.push(target["expr"].as_str().unwrap_or_default().to_owned());
        }
    }
    ensure!(expressions.len() > 50, "only {} expressions", expressions.len());
    let (mut wrong, mut seen, mut later) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for expr in &expressions {
        for metric in monitoring::metrics(expr) {
            let has_label = |label: &String, labels: &dyn Fn(&str) -> bool| {
                OF_SCRAPES.contains(&label.as_str()) || labels(label)
            };
            if let Some(labels) = exposed.get(&metric.name) {
                seen.insert(metric.name.clone());
                let missing =
                    metric.labels.iter().filter(|label| !has_label(label, &|label| labels.contains(label)));
                wrong.extend(missing.map(|label| format!("{}{{{label}}} in {expr}", metric.name)));
                continue;
            }
            let bare = metric.name.strip_suffix("_total").unwrap_or(&metric.name);
            let Some((_, labels, source)) = LATER.iter().find(|(name, _, _)| *name == bare) else {
                wrong.push(format!("{} in {expr}", metric.name));
                continue;
            };
            later.insert(bare.to_owned());
            let is_made = source.contains(&format!("\"{bare}\""))
                && labels.iter().all(|label| {
                    source.contains(&format!("{label}: ")) || source.contains(&format!("(\"{label}\", "))
                });
            if !is_made
                || !metric.labels.iter().all(|label| has_label(label, &|label| labels.contains(&label)))
            {
                wrong.push(format!("{} {:?} in {expr}", metric.name, metric.labels));
            }
        }
    }
    ensure!(wrong.is_empty(), "not exposed: {wrong:#?} among {exposed:#?}");
    println!(
        "{} expressions: {} metrics seen, {} known by their source",
        expressions.len(),
        seen.len(),
        later.len()
    );
    ensure!(seen.len() >= 25, "only {seen:?} were seen");
    Ok(())
}
