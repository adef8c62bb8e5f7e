//! What promtool is given: each alert with the series that raise it and those that do not; and all queries of the dashboard as rules, so that it
//! reads them.

use serde_json::{Value, json};

use super::alerts::ALERTS;
use super::{Alert, dashboard};
use crate::{PackagingError, yaml};

/// A file for `promtool test rules`, about the rules in the file `rules`.
///
/// # Errors
///
/// If it has no YAML.
pub fn trial(rules: &str) -> Result<String, PackagingError> {
    let mut tests: Vec<Value> = ALERTS.iter().flat_map(|alert| [raised(alert), not_raised(alert)]).collect();
    tests.extend(ALERTS.iter().filter(|alert| alert.name == "BowlineCloudNotRead").map(raised_for_octavia));
    yaml("the trial", &json!({"rule_files": [rules], "evaluation_interval": "1m", "tests": tests}))
}

/// The queries of the dashboard as rules for `promtool check rules`.
///
/// # Errors
///
/// If they have no YAML.
pub fn queries() -> Result<String, PackagingError> {
    let rules: Vec<Value> = dashboard::queries()
        .iter()
        .enumerate()
        .map(|(index, expr)| json!({"record": format!("panel:{index}"), "expr": expr}))
        .collect();
    yaml("the queries", &json!({"groups": [{"name": "dashboard", "rules": rules}]}))
}

fn raised(alert: &Alert) -> Value {
    let count = json!([{"labels": "{}", "value": 1}]);
    test(alert, "raised", alert.raised_by, "firing", &count)
}

/// The rule for Octavia is one of its own: Octavia is read only while there are Services for it.
fn raised_for_octavia(alert: &Alert) -> Value {
    let series = [
        (
            "bowline_cloud_last_read_age_seconds{job=\"ccm\",instance=\"a\",service=\"load-balancer\"}",
            "0+60x120",
        ),
        (
            "openstack_api_request_errors_total{job=\"ccm\",instance=\"a\",request=\"loadbalancer_list\"}",
            "0+2x120",
        ),
        (
            "leader_election_master_status{job=\"ccm\",instance=\"a\",name=\"cloud-controller-manager\"}",
            "1x120",
        ),
    ];
    test(alert, "raised for Octavia", &series, "firing", &json!([{"labels": "{}", "value": 1}]))
}

fn not_raised(alert: &Alert) -> Value {
    test(alert, "not raised", alert.not_by, "firing", &json!([]))
}

fn test(alert: &Alert, what: &str, series: &[(&str, &str)], state: &str, wanted: &Value) -> Value {
    let series: Vec<Value> =
        series.iter().map(|(series, values)| json!({"series": series, "values": values})).collect();
    let expr = format!("count(ALERTS{{alertname=\"{}\",alertstate=\"{state}\"}})", alert.name);
    json!({
        "name": format!("{} is {what}", alert.name),
        "interval": "1m",
        "input_series": series,
        "promql_expr_test": [{"expr": expr, "eval_time": "2h", "exp_samples": wanted}],
    })
}
