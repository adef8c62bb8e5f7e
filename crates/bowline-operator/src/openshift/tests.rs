//! What is said in the ClusterOperator.

use jiff::Timestamp;
use serde_json::json;

use super::cluster_operator::{status_of, with_status};
use super::*;
use crate::rollout::{Failure, OperatorStatus};

fn said<'a>(managers: Reported<'a>, config: Option<&'a Trouble>) -> OperatorReport<'a> {
    let now = Timestamp::from_second(1_000_000_000).unwrap();
    OperatorReport { managers, config, trust: None, version: "4.99.0", now }
}

fn told(status: &OperatorStatus, type_: &str) -> String {
    let condition = status.condition(type_).unwrap();
    format!("{}/{}/{}", condition.status, condition.reason, condition.message)
}

fn trouble() -> Trouble {
    Trouble { reason: "ConfigInvalid", message: "line 3".to_owned(), failure: Failure::Terminal }
}

#[test]
fn conditions_are_worded_as_openshift_words_them() {
    let available = report(&OperatorStatus::default(), &said(Reported::Available, None));
    for (type_, expected) in [
        ("Available", "True/AsExpected/Cluster Cloud Controller Manager Operator is available at 4.99.0"),
        ("Progressing", "False/AsExpected/"),
        ("Degraded", "False/AsExpected/"),
        ("Upgradeable", "True/AsExpected/"),
        ("CloudConfigControllerAvailable", "True/AsExpected/Cloud Config Controller works as expected"),
        ("CloudConfigControllerDegraded", "False/AsExpected/Cloud Config Controller works as expected"),
        (
            "TrustedCABundleControllerControllerAvailable",
            "True/AsExpected/Trusted CA Bundle Controller works as expected",
        ),
    ] {
        assert_eq!(told(&available, type_), expected);
    }
}

#[test]
fn what_is_wrong_names_its_cause_and_does_not_publish_a_version() {
    let trouble = trouble();
    let degraded = report(&OperatorStatus::default(), &said(Reported::Degraded(&trouble), Some(&trouble)));
    assert_eq!(
        told(&degraded, "Degraded"),
        "True/ConfigInvalid/Failed when progressing towards operator: 4.99.0 because line 3"
    );
    assert!(told(&degraded, "Upgradeable").starts_with("False/ConfigInvalid/An upgrade has to wait"));
    assert!(
        told(&degraded, "CloudConfigControllerDegraded").ends_with("failed to sync cloud config: line 3")
    );
    assert!(degraded.versions.is_empty() && degraded.condition("Available").is_none());
    let over = report(&degraded, &said(Reported::Progressing, None));
    assert_eq!(told(&over, "Degraded"), "False/AsExpected/");
    assert_eq!(told(&over, "Progressing"), "True/SyncingResources/Progressing towards operator: 4.99.0");
    let failing = report(&over, &said(Reported::Failing, None));
    assert_eq!(failing, over, "a moment of failure says nothing");
}

#[test]
fn only_what_is_another_one_is_written_and_what_is_not_ours_stays() {
    let object = serde_json::from_value(
        json!({ "metadata": { "name": NAME }, "status": { "extension": { "a": 1 } } }),
    )
    .unwrap();
    let status = report(&status_of(&object), &said(Reported::Available, None));
    let related = related_objects("operator", "managed");
    let written = with_status(&object, &status, &related).unwrap();
    assert_eq!(written.data["status"]["extension"], json!({ "a": 1 }));
    assert_eq!(written.data["status"]["versions"], json!([{ "name": "operator", "version": "4.99.0" }]));
    assert_eq!(status_of(&written), status);
    assert!(with_status(&written, &status, &related).is_none());
}
