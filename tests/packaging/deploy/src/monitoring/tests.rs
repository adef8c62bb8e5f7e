//! The tables' own promises, and how expressions are read.

use std::collections::BTreeSet;

use super::*;

fn names(expr: &str) -> Vec<(String, Vec<String>)> {
    metrics(expr).into_iter().map(|metric| (metric.name, metric.labels.into_iter().collect())).collect()
}

fn named(all: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
    all.iter()
        .map(|(name, labels)| ((*name).to_owned(), labels.iter().map(|label| (*label).to_owned()).collect()))
        .collect()
}

#[test]
fn metrics_and_labels_are_told_from_functions_words_and_texts() {
    assert_eq!(
        names("60 * sum by (reason, le) (rate(a_total{job=~\"$job\", x!=\"b{c}\"}[5m])) or vector(0)"),
        named(&[("a_total", &["job", "le", "reason", "x"])])
    );
    assert_eq!(
        names("max by (name) (a and on (job, instance) b) == 0"),
        named(&[("a", &["name"]), ("b", &[])])
    );
    assert_eq!(
        names("max by (name) (a and on (job) sum by (job) (increase(b{x=\"1\"}[5m])) > 0)"),
        named(&[("a", &["job", "name"]), ("b", &["x"])])
    );
    assert_eq!(names("absent(a)"), named(&[("a", &[])]));
    assert_eq!(names("a / on (x) group_left (y) b > 0.5"), named(&[("a", &[]), ("b", &[])]));
}

#[test]
fn every_alert_has_its_own_name_an_example_and_a_section_of_the_runbook() {
    let page = include_str!("../../../../../docs/guides/runbooks.md");
    let mut seen = BTreeSet::new();
    for alert in ALERTS {
        assert!(seen.insert(alert.name), "{} twice", alert.name);
        assert!(!alert.raised_by.is_empty() && !alert.not_by.is_empty(), "{}", alert.name);
        assert_eq!(
            page.matches(&format!("\n## {}\n", alert.name)).count(),
            1,
            "the section of {}",
            alert.name
        );
    }
    assert_eq!(page.matches("\n## Bowline").count(), ALERTS.len(), "a section of an alert that is not there");
}

#[test]
fn the_chart_looks_for_the_address_of_the_runbooks_that_the_alerts_have() {
    let template = include_str!("../../../../../deploy/chart/templates/monitoring.yaml");
    assert!(template.contains(&format!("replace \"{RUNBOOKS}\"")), "{RUNBOOKS}");
    assert_eq!(alerts().unwrap().matches(RUNBOOKS).count(), ALERTS.len());
}

#[test]
fn every_query_of_the_dashboard_asks_for_our_job_only() {
    for expr in dashboard::queries() {
        for metric in metrics(&expr) {
            assert!(metric.labels.contains("job"), "{} in {expr}", metric.name);
        }
    }
}

#[test]
fn panels_lie_side_by_side() {
    let dashboard: Value = serde_json::from_str(&dashboard().unwrap()).unwrap();
    let mut taken = BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        let side = |name: &str| panel["gridPos"][name].as_u64().unwrap();
        for x in side("x")..side("x") + side("w") {
            for y in side("y")..side("y") + side("h") {
                assert!(x < 24 && taken.insert((x, y)), "{} at {x}, {y}", panel["title"]);
            }
        }
    }
}
