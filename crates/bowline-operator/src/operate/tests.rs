//! What is said of a resource, who is refused, and how workloads are marked.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Taint;
use serde_json::{Value, json};

use super::marks::mark;
use super::steps::with_taint;
use super::watches::{input, resource_view};
use super::*;
use crate::api::{CloudControllerManager, CloudControllerManagerStatus, MigrationStatus, Phase};
use crate::migration::{Decision, ManagerMode, NodeFacts};
use crate::observe::{Fetched, InputProblem, read_inputs, wishes};
use crate::render::Object;
use crate::rollout::Rollout;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn resource(name: &str, born: &str, spec: &Value) -> CloudControllerManager {
    let mut all = json!({ "platform": "OpenStack", "clusterName": "c" });
    for (key, value) in spec.as_object().unwrap() {
        all[key] = value.clone();
    }
    let metadata = json!({ "name": name, "creationTimestamp": born, "generation": 3 });
    serde_json::from_value(json!({ "apiVersion": "bowline.dev/v1alpha1", "kind": "CloudControllerManager", "metadata": metadata, "spec": all })).unwrap()
}

fn decision(phase: Phase, publish_version: bool) -> Decision {
    Decision {
        status: MigrationStatus { phase, percent: 100, ..MigrationStatus::default() },
        mode: ManagerMode::Full,
        hold: false,
        steps: Vec::new(),
        notes: Vec::new(),
        conditions: Vec::new(),
        message: "waits".to_owned(),
        look_again: Duration::from_secs(60),
        publish_version,
        keep_configs: Vec::new(),
        violations: Vec::new(),
    }
}

fn workload(ready: i32, rollout: Rollout) -> Workload {
    Workload { ready, desired: 2, rollout }
}

fn found<'a>(resource: &'a CloudControllerManager, now: i64) -> Found<'a> {
    Found {
        resource,
        problem: None,
        is_degraded: false,
        workload: None,
        config_hash: None,
        version: "2.0",
        decision: None,
        now: at(now),
    }
}

fn told(status: &CloudControllerManagerStatus, type_: &str) -> String {
    let condition = status.conditions.iter().find(|condition| condition.type_ == type_).unwrap();
    format!("{}/{}", condition.status, condition.reason)
}

fn missing() -> Problem {
    let spec = resource("x", "2026-01-01T00:00:00Z", &json!({ "credentials": { "name": "secret" } })).spec;
    let problem: InputProblem = read_inputs(&spec, &wishes(&spec), &Fetched::default()).unwrap_err();
    Problem::Input(problem)
}

#[test]
fn the_version_is_told_when_the_rollout_is_done_and_not_before() {
    let resource = resource("main", "2026-01-01T00:00:00Z", &json!({}));
    for (rollout, publish, expected) in [
        (Rollout::Progressing, true, None),
        (Rollout::Complete, false, None),
        (Rollout::Complete, true, Some("2.0")),
    ] {
        let (decision, workload) = (decision(Phase::Steady, publish), workload(2, rollout));
        let found = Found { decision: Some(&decision), workload: Some(&workload), ..found(&resource, 1) };
        let status = status(found);
        assert_eq!(status.version.as_deref(), expected);
        assert_eq!((status.ready.as_deref(), status.progress.as_deref()), (Some("2/2"), Some("100% Steady")));
        assert_eq!((status.observed_generation, status.cluster_name.as_deref()), (Some(3), Some("c")));
    }
}

#[test]
fn a_problem_says_what_to_do_and_keeps_what_was_known() {
    let mut resource = resource("main", "2026-01-01T00:00:00Z", &json!({}));
    let (done, running) = (decision(Phase::Steady, true), workload(2, Rollout::Complete));
    let good = Found {
        decision: Some(&done),
        workload: Some(&running),
        config_hash: Some("h"),
        ..found(&resource, 1)
    };
    let good = status(good);
    assert_eq!(told(&good, "Degraded"), "False/AsExpected");
    resource.status = Some(good.clone());
    let problem = missing();
    let bad =
        Found { problem: Some(&problem), is_degraded: true, workload: Some(&running), ..found(&resource, 9) };
    let bad = status(bad);
    for (type_, expected) in [
        ("Available", "True/AsExpected"),
        ("Progressing", "False/CredentialsMissing"),
        ("Degraded", "True/CredentialsMissing"),
        ("Upgradeable", "False/CredentialsMissing"),
        ("ActionRequired", "True/CredentialsMissing"),
    ] {
        assert_eq!(told(&bad, type_), expected);
    }
    assert!(bad.message.unwrap().contains("create it with the key \"clouds.yaml\""));
    assert_eq!(
        (bad.version, bad.config_hash, bad.migration),
        (good.version, good.config_hash, good.migration)
    );
    assert_eq!(bad.conditions[0].last_transition_time, at(1), "what stays keeps its time");
}

#[test]
fn what_may_pass_is_not_told_at_once_and_what_was_told_stays_until_it_is_over() {
    let mut resource = resource("main", "2026-01-01T00:00:00Z", &json!({}));
    let problem = Problem::Unread("nodes".to_owned());
    let first = status(Found { problem: Some(&problem), ..found(&resource, 1) });
    assert_eq!(
        (told(&first, "Degraded"), told(&first, "ActionRequired")),
        ("False/AsExpected".to_owned(), "False/AsExpected".to_owned())
    );
    resource.status =
        Some(status(Found { problem: Some(&problem), is_degraded: true, ..found(&resource, 2) }));
    let again = status(Found { problem: Some(&problem), ..found(&resource, 3) });
    assert_eq!(told(&again, "Degraded"), "True/ClusterUnknown");
    let over = status(found(&resource, 4));
    assert_eq!(told(&over, "Degraded"), "False/AsExpected");
}

#[test]
fn a_rollout_that_stalls_and_pods_that_are_not_ready_are_told() {
    let resource = resource("main", "2026-01-01T00:00:00Z", &json!({ "namespace": "cloud" }));
    let stalled = workload(0, Rollout::Stalled { message: "no node".to_owned() });
    let status = status(Found { workload: Some(&stalled), ..found(&resource, 1) });
    assert_eq!(
        (told(&status, "Degraded"), told(&status, "Available")),
        ("True/RolloutStalled".to_owned(), "False/NoPodReady".to_owned())
    );
    let message = &status.conditions.iter().find(|each| each.type_ == "Available").unwrap().message;
    assert!(message.contains("kubectl -n cloud describe pods"), "{message}");
}

#[test]
fn phases_that_move_are_progress_and_a_pause_is_none() {
    let waiting = resource("main", "2026-01-01T00:00:00Z", &json!({}));
    for (phase, expected) in [
        (Phase::Fence, "True/Fence"),
        (Phase::AwaitAdmin, "False/AsExpected"),
        (Phase::Blocked, "False/AsExpected"),
        (Phase::Steady, "False/AsExpected"),
    ] {
        let decision = decision(phase, false);
        let status = status(Found { decision: Some(&decision), ..found(&waiting, 1) });
        assert_eq!(told(&status, "Progressing"), expected, "{phase}");
    }
    let paused = resource("main", "2026-01-01T00:00:00Z", &json!({ "paused": true }));
    assert_eq!(told(&status(found(&paused, 1)), "Progressing"), "False/Paused");
}

#[test]
fn conditions_of_the_preflight_come_and_go_with_it() {
    let mut resource = resource("main", "2026-01-01T00:00:00Z", &json!({}));
    let mut with_check = decision(Phase::Preflight, false);
    with_check.conditions = vec![serde_json::from_value(json!({ "type": "CloudReachable", "status": "True", "reason": "Passed", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z" })).unwrap()];
    let status_with = status(Found { decision: Some(&with_check), ..found(&resource, 1) });
    assert_eq!(told(&status_with, "CloudReachable"), "True/Passed");
    resource.status = Some(status_with);
    let steady = decision(Phase::Steady, true);
    let after = status(Found { decision: Some(&steady), ..found(&resource, 2) });
    assert!(after.conditions.iter().all(|condition| condition.type_ != "CloudReachable"));
}

#[test]
fn of_two_that_ask_for_the_same_the_younger_is_refused() {
    let older = resource("z", "2026-01-01T00:00:00Z", &json!({}));
    let younger = resource("a", "2026-01-02T00:00:00Z", &json!({ "clusterName": "other" }));
    let all = [older.clone(), younger.clone()];
    assert!(rival(&older, &all).is_none());
    let problem = rival(&younger, &all).unwrap();
    assert!(problem.reason() == "Conflicting" && problem.to_string().contains("same Lease"), "{problem}");
    let same_name = resource("b", "2026-01-02T00:00:00Z", &json!({ "leaseName": "mine" }));
    assert!(rival(&same_name, &all).unwrap().to_string().contains("clusterName c"));
    let other = resource("c", "2026-01-02T00:00:00Z", &json!({ "leaseName": "mine", "clusterName": "mine" }));
    assert!(rival(&other, &all).is_none());
}

#[test]
fn workloads_and_their_pods_say_their_mode() {
    let body = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "x", "namespace": "n" }, "spec": { "template": {} } });
    let mut objects = [Object::untyped(body).unwrap()];
    mark(&mut objects, ManagerMode::Paused, Some(crate::api::MigrationKind::InTree), "1.0");
    let body = &objects[0].body;
    assert_eq!(body["metadata"]["annotations"]["bowline.dev/mode"], "Paused");
    assert_eq!(body["metadata"]["annotations"]["bowline.dev/migrated-from"], "InTree");
    assert_eq!(body["metadata"]["annotations"]["bowline.dev/version"], "1.0");
    assert_eq!(body["spec"]["template"]["metadata"]["annotations"], json!({ "bowline.dev/mode": "Paused" }));
}

#[test]
fn a_taint_is_added_once_and_removed_without_touching_others() {
    let other = Taint { key: "other".to_owned(), effect: "NoExecute".to_owned(), ..Taint::default() };
    let tainted = with_taint(vec![other.clone()], true).unwrap();
    assert_eq!(
        (tainted.len(), tainted[1].key.as_str(), tainted[1].effect.as_str()),
        (2, NodeFacts::TAINT, "NoSchedule")
    );
    assert_eq!(with_taint(tainted.clone(), true), None);
    assert_eq!(with_taint(tainted, false), Some(vec![other.clone()]));
    assert_eq!(with_taint(vec![other], false), None);
}

fn changed(object: &Value, pointer: &str, value: Value) -> Value {
    let mut object = object.clone();
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[field] = value;
    object
}

#[test]
fn a_resource_is_looked_at_again_for_what_a_person_changes_and_not_for_what_we_write() {
    let view = |object: &Value| resource_view(&serde_json::from_value(object.clone()).unwrap()).unwrap();
    let metadata = json!({ "name": "main", "resourceVersion": "1" });
    let before = json!({ "apiVersion": "bowline.dev/v1alpha1", "kind": "CloudControllerManager", "metadata": metadata,
        "spec": { "platform": "OpenStack", "clusterName": "c" }, "status": {} });
    assert_eq!(view(&before).namespace, "kube-system", "as the definition has it where nobody says");
    assert_eq!(view(&changed(&before, "/spec/namespace", json!("n"))).namespace, "n");
    for (pointer, value) in [
        ("/spec/paused", json!(true)),
        ("/metadata/annotations", json!({ "a": "b" })),
        ("/metadata/finalizers", json!(["f"])),
        ("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z")),
    ] {
        assert_ne!(view(&changed(&before, pointer, value)), view(&before), "{pointer}");
    }
    for (pointer, value) in [("/status/message", json!("m")), ("/metadata/resourceVersion", json!("2"))] {
        assert_eq!(view(&changed(&before, pointer, value)), view(&before), "{pointer}");
    }
}

#[test]
fn what_others_keep_is_an_input_by_its_content() {
    let view = |object: &Value| input(&serde_json::from_value(object.clone()).unwrap());
    let before = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s", "resourceVersion": "1" }, "data": { "k": "YQ==" } });
    assert_ne!(view(&changed(&before, "/data/k", json!("Yg=="))), view(&before));
    assert_ne!(view(&changed(&before, "/binaryData", json!({ "k": "YQ==" }))), view(&before));
    assert_eq!(view(&changed(&before, "/metadata/resourceVersion", json!("2"))), view(&before));
    assert!(view(&before).is_some());
    assert_eq!(
        view(&changed(&before, "/metadata/labels", json!({ "bowline.dev/managed-by": "main" }))),
        None
    );
    assert_eq!(view(&changed(&before, "/metadata/name", json!("kube-root-ca.crt"))), None);
}
