//! The rules that hold always: each is caught when it is broken, and silent otherwise.

use super::super::{Answer, Decision, ManagerMode, Step, check, snapshot};
use super::scene::{Scene, ago, controller_manager, node, occm};
use crate::api::{MigrationKind, Phase};

use MigrationKind::{Fresh, InTree, None, OtherManager};

/// The rules that a decision breaks after it was changed.
fn broken(scene: &Scene, change: impl FnOnce(&mut Decision)) -> Vec<&'static str> {
    let mut decision = scene.decide();
    (decision.hold, decision.violations) = (false, Vec::new());
    change(&mut decision);
    check(&scene.case(), &decision).into_iter().map(|violation| violation.rule).collect()
}

fn steady() -> Scene {
    Scene::relinquished(OtherManager, Phase::Steady, ManagerMode::Full)
}

#[test]
fn where_all_is_well_no_rule_is_broken() {
    for kind in [Fresh, None, InTree, OtherManager, MigrationKind::Embedded] {
        for (phase, mode) in [
            (Phase::Preflight, ManagerMode::Shadow),
            (Phase::Relinquish, ManagerMode::Paused),
            (Phase::Fence, ManagerMode::Paused),
            (Phase::ServiceOnly, ManagerMode::ServiceOnly),
            (Phase::Nodes, ManagerMode::WithoutNodes),
            (Phase::Full, ManagerMode::Full),
            (Phase::Steady, ManagerMode::Full),
        ] {
            let scene = Scene::relinquished(kind, phase, mode);
            assert_eq!(check(&scene.case(), &scene.decide()), [], "{kind:?} {phase}");
        }
    }
}

#[test]
fn i1_ours_does_not_begin_to_write_beside_another() {
    let scene = Scene::at(OtherManager, Phase::Relinquish, ManagerMode::Paused);
    assert_eq!(broken(&scene, |decision| decision.mode = ManagerMode::ServiceOnly), ["I1"]);
    let mut inside = Scene::relinquished(InTree, Phase::Steady, ManagerMode::Full);
    inside.observed.control_plane[0] = controller_manager("a", "openstack");
    assert_eq!(broken(&inside, |decision| decision.mode = ManagerMode::Full), ["I1"]);
    assert_eq!(broken(&inside, |_| ()), [""; 0], "to pause it is right");
}

#[test]
fn i1_another_is_not_started_beside_ours() {
    let start = |decision: &mut Decision| {
        decision.steps = vec![Step::ScaleUp { workload: occm().workload, replicas: 2 }];
    };
    assert_eq!(broken(&steady(), start), ["I1"]);
    let mut gone = Scene::relinquished(OtherManager, Phase::RollingBack, ManagerMode::Absent);
    gone.spec.migration.rollback = true;
    assert_eq!(broken(&gone, start), [""; 0]);
}

#[test]
fn i2_a_load_balancer_that_was_made_in_adoption_stops_ours() {
    let mut scene = Scene::relinquished(OtherManager, Phase::ServiceOnly, ManagerMode::ServiceOnly);
    let before = snapshot::take(&scene.case(), Option::None);
    scene.migration().snapshot = Some(before);
    assert_eq!(broken(&scene, |_| ()), [""; 0]);
    scene.observed.services[0].load_balancer_id = Some("lb-2".to_owned());
    assert_eq!(broken(&scene, |decision| decision.mode = ManagerMode::ServiceOnly), ["I2"]);
    assert_eq!(broken(&scene, |_| ()), [""; 0]);
}

#[test]
fn i3_the_cluster_keeps_its_name() {
    let mut scene = steady();
    scene.status.cluster_name = Some("test".to_owned());
    assert_eq!(broken(&scene, |_| ()), [""; 0]);
    scene.status.cluster_name = Some("first".to_owned());
    assert_eq!(broken(&scene, |_| ()), ["I3"]);
    assert!(scene.decide().hold, "the last good one runs on");
}

#[test]
fn i4_nodes_are_proven_before_they_can_be_deleted() {
    let mut scene = Scene::relinquished(OtherManager, Phase::Nodes, ManagerMode::WithoutLifecycle);
    let raise = |decision: &mut Decision| decision.mode = ManagerMode::Full;
    assert_eq!(broken(&scene, raise), [""; 0]);
    scene.report().nodes_absent = vec!["w".to_owned()];
    assert_eq!(broken(&scene, raise), ["I4"]);
    scene.observed.shadow = Option::None;
    assert_eq!(broken(&scene, raise), ["I4"]);
}

#[test]
fn i5_addresses_have_one_writer() {
    let mut scene = Scene::relinquished(InTree, Phase::Nodes, ManagerMode::WithoutNodes);
    let raise = |decision: &mut Decision| decision.mode = ManagerMode::WithoutLifecycle;
    assert_eq!(broken(&scene, raise), ["I5"]);
    for node in &mut scene.observed.nodes {
        node.declared = Some("external".to_owned());
    }
    assert_eq!(broken(&scene, raise), [""; 0]);
}

#[test]
fn i6_and_i7_a_node_is_tainted_only_under_a_leader_and_only_if_it_has_no_name() {
    let taint = |decision: &mut Decision| {
        decision.mode = ManagerMode::WithoutLifecycle;
        decision.steps = vec![Step::TaintNode { name: "w".to_owned(), uid: "uid-w".to_owned() }];
    };
    let mut scene = Scene::relinquished(OtherManager, Phase::Nodes, ManagerMode::WithoutLifecycle);
    assert_eq!(broken(&scene, taint), ["I7"]);
    scene.observed.nodes[3] = node(Fresh, "w");
    assert_eq!(broken(&scene, taint), [""; 0]);
    scene.observed.leases.clear();
    assert_eq!(broken(&scene, taint), ["I6"]);
}

#[test]
fn i8_pods_can_always_read_what_they_mount() {
    let mut scene = steady();
    assert_eq!(broken(&scene, |_| ()), [""; 0]);
    assert_eq!(broken(&scene, |decision| decision.keep_configs.clear()), ["I8"]);
    scene.observed.preflight.config = Answer::Fail("line 3".to_owned());
    let full = |decision: &mut Decision| decision.mode = ManagerMode::Full;
    assert_eq!(broken(&scene, full), ["I8"]);
    // The last good one is what runs: it may be applied again, and nothing else may.
    let ours = scene.observed.ours.as_mut().expect("steady");
    scene.observed.wanted_config = ours.pods[0].config.clone();
    assert!(scene.observed.wanted_config.is_some());
    assert_eq!(broken(&scene, full), [""; 0]);
    scene.observed.wanted_version = "2".to_owned();
    assert_eq!(broken(&scene, full), ["I8"]);
}

#[test]
fn i9_a_version_is_published_when_it_runs() {
    let mut scene = steady();
    let publish = |decision: &mut Decision| decision.publish_version = true;
    assert_eq!(broken(&scene, publish), [""; 0]);
    scene.observed.wanted_version = "2".to_owned();
    assert_eq!(broken(&scene, publish), ["I9"]);
}

#[test]
fn i10_nothing_begins_while_a_check_does_not_hold() {
    let mut scene = Scene::at(OtherManager, Phase::Preflight, ManagerMode::Shadow);
    let begin = |decision: &mut Decision| decision.status.phase = Phase::Relinquish;
    assert_eq!(broken(&scene, begin), [""; 0]);
    scene.observed.preflight.trust = Answer::Fail("no".to_owned());
    assert_eq!(broken(&scene, begin), ["I10"]);
}

#[test]
fn i11_the_way_back_is_kept() {
    let mut scene = steady();
    let remove =
        |decision: &mut Decision| decision.steps = vec![Step::DeletePrevious { workload: occm().workload }];
    assert_eq!(broken(&scene, remove), ["I11"]);
    scene.migration().since = Some(ago(25 * 3600));
    assert_eq!(broken(&scene, remove), [""; 0]);
    scene.migration().phase = Phase::Verify;
    assert_eq!(broken(&scene, remove), ["I11"]);
}

#[test]
fn i12_nothing_that_works_is_stopped_without_a_reason() {
    let mut scene = steady();
    assert_eq!(broken(&scene, |decision| decision.mode = ManagerMode::Absent), ["I12"]);
    assert_eq!(broken(&scene, |_| ()), [""; 0]);
    scene
        .observed
        .unread
        .push(super::super::Unread { what: "nodes".to_owned(), why: "forbidden".to_owned() });
    assert_eq!(broken(&scene, |_| ()), ["I12"], "nothing may be applied");
}
