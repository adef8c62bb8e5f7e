//! Alert rules and the dashboard, as tables. Each alert has an example that raises it and one that does not, which promtool tries.

mod alerts;
mod dashboard;
mod promql;
mod trial;

#[cfg(test)]
mod tests;

pub use self::dashboard::dashboard;
pub use self::promql::{Metric, metrics};
pub use self::trial::{queries, trial};

use serde_json::{Value, json};

use self::alerts::ALERTS;
use crate::{PackagingError, yaml};

/// Where the page that tells what to do about each alert (docs/guides/runbooks.md) is read. Nobody publishes it yet: `.example` is no place, and
/// whoever installs the alerts puts their own address here; deploy/README.md tells how. Templates of the chart look for it, too.
const RUNBOOKS: &str = "https://bowline.example/guides/runbooks.html";

const GENERATED: &str =
    "# Generated from tests/packaging/deploy/src/monitoring by `cargo xtask gen`. Do not edit.\n";

/// An alert.
#[derive(Debug, Clone, Copy)]
struct Alert {
    name: &'static str,
    expr: &'static str,
    /// For how long it has to be so.
    lasts: &'static str,
    severity: Severity,
    /// What is so, in one line.
    summary: &'static str,
    /// What it means.
    description: &'static str,
    /// Series, minute by minute, that raise it within two hours.
    raised_by: &'static [(&'static str, &'static str)],
    /// Series that look similar and do not.
    not_by: &'static [(&'static str, &'static str)],
}

/// How soon a person has to look.
#[derive(Debug, Clone, Copy)]
enum Severity {
    /// Now.
    Critical,
    /// Today.
    Warning,
    /// When there is time.
    Info,
}

impl Severity {
    const fn word(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

/// The names of the alerts.
#[must_use]
pub fn alert_names() -> Vec<&'static str> {
    ALERTS.iter().map(|alert| alert.name).collect()
}

/// The rules, as Prometheus reads them.
///
/// # Errors
///
/// If they have no YAML.
pub fn alerts() -> Result<String, PackagingError> {
    Ok(format!("{GENERATED}{}", yaml("the alerts", &groups())?))
}

/// The same as an object of the Prometheus operator.
///
/// # Errors
///
/// If it has no YAML.
pub fn rule_object() -> Result<String, PackagingError> {
    let labels = json!({"app.kubernetes.io/name": "cloud-controller-manager"});
    let object = json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "cloud-controller-manager", "namespace": "kube-system", "labels": labels},
        "spec": groups(),
    });
    Ok(format!("{GENERATED}{}", yaml("the alerts", &object)?))
}

fn groups() -> Value {
    let rules: Vec<Value> = ALERTS.iter().map(rule).collect();
    json!({"groups": [{"name": "bowline", "rules": rules}]})
}

fn rule(alert: &Alert) -> Value {
    json!({
        "alert": alert.name,
        "expr": alert.expr,
        "for": alert.lasts,
        "labels": {"severity": alert.severity.word()},
        "annotations": {
            "summary": alert.summary,
            "description": alert.description,
            "runbook_url": format!("{RUNBOOKS}#{}", alert.name.to_lowercase()),
        },
    })
}
