//! What people and programs are told.

use jiff::Timestamp;
use serde_json::json;

use super::{report, to_text};
use crate::api::CloudControllerManager;

fn object(status: &serde_json::Value) -> CloudControllerManager {
    let object = json!({
        "apiVersion": "bowline.dev/v1alpha1",
        "kind": "CloudControllerManager",
        "metadata": { "name": "openstack" },
        "spec": { "platform": "OpenStack", "clusterName": "test" },
        "status": status,
    });
    serde_json::from_value(object).unwrap()
}

fn now() -> Timestamp {
    "2030-01-01T01:00:00Z".parse().unwrap()
}

fn text(status: &serde_json::Value) -> String {
    to_text(&[report(&object(status))], now())
}

#[test]
fn people_read_the_phase_what_it_waits_for_and_the_steps_with_their_commands() {
    let told = text(&json!({
        "platform": "OpenStack",
        "message": "2 steps are to be done by you",
        "conditions": [
            { "type": "CertificatesTrusted", "status": "False", "reason": "Failed", "message": "not trusted", "lastTransitionTime": "2030-01-01T00:00:00Z" },
            { "type": "ImagesPullable", "status": "Unknown", "reason": "NotAsked", "message": "", "lastTransitionTime": "2030-01-01T00:00:00Z" },
            { "type": "Degraded", "status": "False", "reason": "AsExpected", "message": "", "lastTransitionTime": "2030-01-01T00:00:00Z" },
        ],
        "migration": {
            "phase": "AwaitAdmin", "kind": "InTree", "percent": 20, "since": "2030-01-01T00:30:00Z",
            "steps": [
                { "on": "node a", "what": "set the flag", "commands": ["vi kube-controller-manager.yaml"], "done": false },
                { "on": "node b", "what": "set the flag", "done": true },
            ],
        },
    }));
    let wanted = "\
openstack (OpenStack, from InTree): 20% AwaitAdmin, for 30m
  2 steps are to be done by you
  Checks that do not hold:
    CertificatesTrusted (Failed): not trusted
  To be done by you (1 of 2 are open):
    1. [open] node a: set the flag
           vi kube-controller-manager.yaml
    2. [done] node b: set the flag
";
    assert_eq!(told, wanted);
}

#[test]
fn a_blocked_migration_says_why_and_where() {
    let told = text(&json!({
        "message": "stop all but one",
        "migration": { "phase": "Blocked", "percent": 0, "blocked": "AmbiguousTopology", "cameFrom": "Detect", "since": "2030-01-01T00:59:30Z" },
    }));
    assert_eq!(
        told,
        "openstack (OpenStack): 0% Blocked (AmbiguousTopology) in Detect, for 30s\n  stop all but one\n"
    );
}

#[test]
fn names_messages_and_conditions_of_the_cluster_command_no_terminal_and_add_no_lines() {
    let attack = "\u{1b}[2J\u{9b}H\u{202e}\u{7}\nopenstack: 100% Steady";
    let said = json!({
        "platform": attack,
        "message": attack,
        "conditions": [
            { "type": attack, "status": "False", "reason": attack, "message": attack, "lastTransitionTime": "2030-01-01T00:00:00Z" },
        ],
        "migration": {
            "phase": "Blocked", "percent": 0, "blocked": attack, "since": "2030-01-01T00:59:30Z",
            "steps": [{ "on": attack, "what": attack, "commands": [attack], "done": false }],
        },
    });
    let unseen = text(&json!({ "platform": attack }));
    for told in [text(&said), unseen] {
        assert!(told.contains("\\u{1b}[2J\\u{9b}H\\u{202e}\\u{7}\\nopenstack"), "{told}");
        assert!(
            told.chars().all(|one| one == '\n' || !one.is_control()) && !told.contains('\u{202e}'),
            "{told}"
        );
        assert!(!told.lines().any(|line| line.starts_with("openstack: 100%")), "{told}");
    }
    assert_eq!(report(&object(&said)).message.as_deref(), Some(attack), "json and yaml stay exact");
}

#[test]
fn an_object_that_nobody_has_looked_at_and_no_object_at_all_are_told_of() {
    assert!(text(&json!({})).contains("the operator has not looked at it yet"));
    assert_eq!(to_text(&[], now()), "There is no CloudControllerManager in this cluster.\n");
}

#[test]
fn programs_get_the_same_as_json() {
    let found =
        report(&object(&json!({ "migration": { "phase": "Steady", "kind": "Fresh", "percent": 100 } })));
    let json = serde_json::to_value([found]).unwrap();
    assert_eq!(json[0]["phase"], "Steady");
    assert_eq!(json[0]["percent"], 100);
    assert_eq!(json[0]["steps"], json!([]));
}

#[test]
fn json_and_yaml_say_the_same_and_only_what_waits_for_a_person_is_found() {
    let of = |migration: serde_json::Value| report(&object(&json!({ "migration": migration })));
    let steady = of(json!({ "phase": "Steady", "kind": "Fresh", "percent": 100 }));
    let blocked = of(json!({ "phase": "Blocked", "percent": 0, "blocked": "AmbiguousTopology" }));
    let step = json!({ "on": "node a", "what": "set the flag", "done": false });
    let open = of(json!({ "phase": "Full", "percent": 80, "steps": [step] }));
    assert_eq!([&steady, &blocked, &open].map(super::Report::waits_for_a_person), [false, true, true]);
    let reports = [steady, blocked, open];
    let json: serde_json::Value =
        serde_json::from_str(&super::printed(&reports, super::Output::Json).unwrap()).unwrap();
    let yaml: serde_json::Value =
        serde_saphyr::from_str(&super::printed(&reports, super::Output::Yaml).unwrap()).unwrap();
    assert_eq!(json, yaml);
}
