//! Static pods: a person puts them there, and the operator says where, and sees it.

use super::super::{Answer, ManagerMode, OurWorkload, StaticPodFacts, WorkloadKind};
use super::scene::{Scene, pod};
use crate::api::{AdminStep, Form, MigrationKind, Phase};

use MigrationKind::{Fresh, OtherManager, Upgrade};

fn placed(node: &str) -> StaticPodFacts {
    let pod = pod(&format!("test-{node}"), node, Some(ManagerMode::Full));
    StaticPodFacts { pod, version: "1".to_owned() }
}

fn wanted(kind: MigrationKind, phase: Phase, mode: ManagerMode) -> Scene {
    let mut scene = Scene::relinquished(kind, phase, mode);
    scene.spec.form = Form::StaticPod;
    scene.observed.wanted_config = Some("config-1".to_owned());
    scene
}

/// They run on these nodes.
fn place(scene: &mut Scene, nodes: &[&str]) {
    scene.observed.static_pods = nodes.iter().map(|node| placed(node)).collect();
    if nodes.len() == 3 {
        let ours: &mut OurWorkload = scene.observed.ours.as_mut().unwrap();
        ours.workload.kind = WorkloadKind::Pod;
        ours.pods = scene.observed.static_pods.iter().map(|one| one.pod.clone()).collect();
        scene.observed.leases = vec![super::scene::lease("test-a_1")];
    }
}

fn open(steps: &[AdminStep]) -> Vec<&str> {
    steps.iter().filter(|step| !step.done).map(|step| step.on.as_str()).collect()
}

#[test]
fn a_fresh_cluster_waits_for_a_person_and_is_never_blocked_by_that() {
    let mut scene = wanted(Fresh, Phase::Full, ManagerMode::Shadow).long_ago();
    let decision = scene.decide();
    assert_eq!((decision.status.phase, decision.hold), (Phase::Full, false), "{}", decision.message);
    assert_eq!(open(&decision.status.steps), ["kubectl", "node a", "node b", "node c"]);
    let commands = &decision.status.steps[0].commands;
    assert_eq!(commands[1], "bowline operator render --config test.yaml --out test");
    place(&mut scene, &["a"]);
    assert_eq!(open(&scene.decide().status.steps), ["kubectl", "node b", "node c"]);

    scene.run_ours(ManagerMode::Full);
    place(&mut scene, &["a", "b", "c"]);
    for node in &mut scene.observed.nodes {
        (node.uninitialized, node.provider_id) = (false, Some(format!("openstack:///{}", node.name)));
    }
    assert_eq!(scene.next().0, Phase::Verify);
}

#[test]
fn another_configuration_or_version_is_to_be_put_there_anew() {
    let mut scene = wanted(Fresh, Phase::Steady, ManagerMode::Full);
    place(&mut scene, &["a", "b", "c"]);
    assert_eq!(open(&scene.decide().status.steps), [""; 0]);
    scene.observed.wanted_config = Some("config-2".to_owned());
    let decision = scene.decide();
    assert_eq!(decision.status.phase, Phase::Steady);
    assert_eq!(open(&decision.status.steps), ["kubectl", "node a", "node b", "node c"]);
    assert!(decision.status.steps[1].what.contains("another configuration"), "{:?}", decision.status.steps);
    scene.observed.wanted_config = Some("config-1".to_owned());
    scene.observed.static_pods[2].version = "0".to_owned();
    let steps = scene.decide().status.steps;
    assert_eq!(open(&steps), ["kubectl", "node c"]);
    assert!(steps[3].what.contains("version 0"), "{steps:?}");
}

#[test]
fn what_runs_as_a_deployment_runs_on_until_the_static_pods_do() {
    let mut scene = wanted(Upgrade, Phase::Steady, ManagerMode::Full);
    let decision = scene.decide();
    assert!(decision.hold, "nothing takes it away");
    scene.observed.ours.as_mut().unwrap().pods[0].config = Some("config-1".to_owned());
    scene.observed.preflight.config = Answer::Fail("line 3".to_owned());
    assert!(scene.decide().hold, "nor while its configuration is wrong");
    scene.observed.preflight.config = Answer::Pass("read".to_owned());
    assert_eq!(open(&decision.status.steps).len(), 4);
    place(&mut scene, &["a", "b"]);
    assert!(scene.decide().hold);
    place(&mut scene, &["a", "b", "c"]);
    let decision = scene.decide();
    assert!(!decision.hold && open(&decision.status.steps).is_empty());
    // And back: a Deployment runs beside them, under the same Lease, until somebody takes them away.
    scene.spec.form = Form::Deployment;
    let steps = scene.decide().status.steps;
    assert_eq!(open(&steps), ["node a", "node b", "node c"]);
    assert_eq!(steps[0].commands, ["rm /etc/kubernetes/manifests/test.yaml"]);
}

#[test]
fn a_hand_over_needs_a_manager_that_can_be_told_how_much_it_may_do() {
    let scene = wanted(OtherManager, Phase::Preflight, ManagerMode::Shadow);
    let (reason, message) = scene.blocked();
    assert_eq!(reason, "PreflightFailed");
    assert!(message.contains("form Deployment or DaemonSet"), "{message}");
}

#[test]
fn a_form_that_is_changed_in_the_middle_of_a_hand_over_stops_nothing() {
    let scene = wanted(OtherManager, Phase::ServiceOnly, ManagerMode::ServiceOnly);
    let decision = scene.decide();
    assert!(decision.hold && decision.violations.is_empty(), "{}", decision.message);
}
