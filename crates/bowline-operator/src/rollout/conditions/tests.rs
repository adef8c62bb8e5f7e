//! Conditions: upstream's tables, and times that stay.

use super::*;

const CAUSE: Cause<'static> = Cause { reason: REASON_SYNC_FAILED, message: "some failure" };

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).unwrap()
}

fn running(version: Option<&str>) -> OperatorStatus {
    OperatorStatus { versions: version.map(desired).unwrap_or_default(), ..OperatorStatus::default() }
}

fn said(status: &OperatorStatus) -> Vec<(&str, &str, &str, &str)> {
    let each = status.conditions.iter();
    each.map(|c| (c.type_.as_str(), c.status.as_str(), c.reason.as_str(), c.message.as_str())).collect()
}

#[test]
fn versions_are_printed_in_order() {
    let versions = [
        OperandVersion { name: "operator".to_owned(), version: "1.0".to_owned() },
        OperandVersion { name: "controller-manager".to_owned(), version: "2.0".to_owned() },
    ];
    assert_eq!(print_versions(&versions), "operator: 1.0, controller-manager: 2.0");
}

#[test]
fn progress_is_towards_a_version_only_if_it_is_another_one() {
    let towards_1 = ("Progressing", "True", REASON_SYNCING, "Progressing towards operator: 1.0");
    let towards_2 = ("Progressing", "True", REASON_SYNCING, "Progressing towards operator: 2.0");
    let same = ("Progressing", "True", REASON_AS_EXPECTED, "");
    let upgradeable = ("Upgradeable", "True", REASON_AS_EXPECTED, "");
    for (before, version, wanted) in
        [(None, "1.0", towards_1), (Some("1.0"), "1.0", same), (Some("1.0"), "2.0", towards_2)]
    {
        let mut status = running(before);
        assert!(status.set_progressing(version, at(0)));
        assert_eq!(said(&status), [wanted, upgradeable]);
        assert_eq!(status.versions, running(before).versions, "no version is published on the way");
        let once = status.clone();
        assert!(!status.set_progressing(version, at(60)), "nothing is to be written again");
        assert_eq!(status, once);
    }
}

#[test]
fn a_failure_says_what_failed_and_stops_upgrades() {
    let cases = [
        ("1.0", "Failed to resync for operator: 1.0 because some failure"),
        ("2.0", "Failed when progressing towards operator: 2.0 because some failure"),
    ];
    for (version, message) in cases {
        let mut status = running(Some("1.0"));
        assert!(status.set_degraded(version, CAUSE, at(0)));
        let upgradeable = "An upgrade has to wait until this is mended: some failure";
        let wanted = [
            ("Degraded", "True", REASON_SYNC_FAILED, message),
            ("Upgradeable", "False", REASON_SYNC_FAILED, upgradeable),
        ];
        assert_eq!(said(&status), wanted);
        assert!(!status.set_degraded(version, CAUSE, at(60)));
        assert_eq!(status.condition("Degraded").unwrap().last_transition_time, at(0));
    }
}

#[test]
fn success_publishes_the_version_and_sets_all_four() {
    let not_now = Cause { reason: "PlatformTechPreview", message: "This platform is a preview" };
    for (before, version, upgradeable) in
        [(None, "1.0", None), (Some("1.0"), "2.0", None), (Some("1.0"), "2.0", Some(not_now))]
    {
        let mut status = running(before);
        assert!(status.set_available(version, upgradeable, at(0)));
        let available = format!("Cluster Cloud Controller Manager Operator is available at {version}");
        let last = match upgradeable {
            None => ("Upgradeable", "True", REASON_AS_EXPECTED, ""),
            Some(cause) => ("Upgradeable", "False", cause.reason, cause.message),
        };
        let wanted = [
            ("Available", "True", REASON_AS_EXPECTED, available.as_str()),
            ("Progressing", "False", REASON_AS_EXPECTED, ""),
            ("Degraded", "False", REASON_AS_EXPECTED, ""),
            last,
        ];
        assert_eq!(said(&status), wanted);
        assert_eq!(status.versions, desired(version));
        assert!(!status.set_available(version, upgradeable, at(60)));
    }
}

#[test]
fn the_time_of_a_transition_moves_with_the_status_and_not_with_the_words() {
    let mut status = running(Some("1.0"));
    status.set_degraded("1.0", CAUSE, at(0));
    let other = Cause { reason: "ConfigInvalid", message: "line 3" };
    assert!(status.set_degraded("1.0", other, at(10)));
    let degraded = status.condition("Degraded").unwrap();
    assert_eq!((degraded.reason.as_str(), degraded.last_transition_time), ("ConfigInvalid", at(0)));
    status.set_available("1.0", None, at(20));
    assert_eq!(status.condition("Degraded").unwrap().last_transition_time, at(20));
    status.set_degraded("1.0", CAUSE, at(30));
    assert_eq!(status.condition("Degraded").unwrap().last_transition_time, at(30));
    assert_eq!(
        status.condition("Available").unwrap().last_transition_time,
        at(20),
        "what is said of others stays"
    );
}

#[test]
fn conditions_of_others_are_left_alone() {
    let mut status = running(None);
    status.set("CloudConfigControllerAvailable", "True", REASON_AS_EXPECTED, "as expected", at(0));
    status.set_available("1.0", None, at(5));
    assert_eq!(status.conditions.len(), 5);
    assert_eq!(status.condition("CloudConfigControllerAvailable").unwrap().last_transition_time, at(0));
}
