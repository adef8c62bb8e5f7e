//! Every reason to be blocked, and what is told.

use std::collections::BTreeSet;

use super::super::{Answer, ManagerMode, Reason, ShadowFinding, WouldDo, snapshot};
use super::scene::{Scene, ago, controller_manager, node, occm};
use crate::api::{MigrationKind, Phase};
use crate::rollout::Rollout;

use MigrationKind::{InTree, None, OtherManager};

fn adoption() -> Scene {
    let mut scene = Scene::relinquished(OtherManager, Phase::ServiceOnly, ManagerMode::ServiceOnly);
    let before = snapshot::take(&scene.case(), Option::None);
    scene.migration().snapshot = Some(before);
    scene
}

fn preflight(change: fn(&mut Scene)) -> Scene {
    let mut scene = Scene::at(OtherManager, Phase::Preflight, ManagerMode::Shadow);
    change(&mut scene);
    scene
}

fn hand_over_changes(scene: &mut Scene) {
    scene.report().findings = vec![ShadowFinding {
        service: "default/web".to_owned(),
        would: WouldDo::Create,
        ..ShadowFinding::default()
    }];
    scene.report().blocking = 1;
}

fn moved() -> Scene {
    let mut scene = adoption();
    scene.observed.services[0].load_balancer_id = Some("lb-2".to_owned());
    scene
}

fn stuck_node() -> Scene {
    let mut scene = Scene::relinquished(None, Phase::Nodes, ManagerMode::WithoutLifecycle);
    scene.observed.nodes = vec![node(None, "w")];
    let stuck = &mut scene.observed.nodes[0];
    (stuck.uninitialized, stuck.tainted_at) = (true, Some(ago(601)));
    stuck.addresses_writer = Some("bowline".to_owned());
    scene
}

fn not_full() -> Scene {
    let mut scene = Scene::relinquished(OtherManager, Phase::Full, ManagerMode::Full).long_ago();
    scene.observed.ours.as_mut().unwrap().rollout = Rollout::Progressing;
    scene
}

fn verify() -> Scene {
    let mut scene = adoption();
    scene.run_ours(ManagerMode::Full);
    scene.migration().phase = Phase::Verify;
    scene.observed.services[0].ingress = vec!["203.0.113.9".to_owned()];
    scene
}

fn way_back() -> Scene {
    let mut scene = Scene::relinquished(InTree, Phase::Steady, ManagerMode::Full);
    scene.spec.migration.rollback = true;
    scene
}

fn invariant() -> Scene {
    let mut scene = Scene::at(MigrationKind::Fresh, Phase::Full, ManagerMode::Shadow);
    scene.report().nodes_absent = vec!["w".to_owned()];
    scene
}

#[test]
fn every_reason_is_reached_and_says_what_to_do() {
    let appeared = {
        let mut scene = Scene::relinquished(InTree, Phase::Steady, ManagerMode::Full);
        scene.observed.control_plane[1] = controller_manager("b", "openstack");
        scene
    };
    let unstopped = {
        let mut scene = Scene::relinquished(OtherManager, Phase::RollingBack, ManagerMode::Shadow).long_ago();
        scene.spec.migration.rollback = true;
        scene
    };
    let ambiguous = {
        let mut scene = Scene::of(InTree);
        scene.observed.managers.push(occm());
        scene
    };
    let active = Scene::at(OtherManager, Phase::Relinquish, ManagerMode::Paused).long_ago();
    let unfenced = {
        let mut scene = Scene::relinquished(OtherManager, Phase::Fence, ManagerMode::Paused).long_ago();
        scene.observed.leases.clear();
        scene
    };
    let stalled = {
        let mut scene = adoption().long_ago();
        scene.report().settled = 0;
        scene
    };
    let cases = [
        (Reason::AmbiguousTopology, ambiguous, ManagerMode::Absent, "stop all but one"),
        (
            Reason::PreflightFailed,
            preflight(|scene| scene.observed.preflight.trust = Answer::Fail("give trustedCa".to_owned())),
            ManagerMode::Shadow,
            "give trustedCa",
        ),
        (
            Reason::ClusterNameMismatch,
            preflight(|scene| scene.status.cluster_name = Some("first".to_owned())),
            ManagerMode::Shadow,
            "set it back",
        ),
        (Reason::HandOverChanges, preflight(hand_over_changes), ManagerMode::Shadow, "migration.accept"),
        (
            Reason::LeaseMismatch,
            preflight(|scene| scene.observed.managers[0].arguments.push("--leader-elect=false".to_owned())),
            ManagerMode::Shadow,
            "let it elect",
        ),
        (Reason::WriterStillActive, active, ManagerMode::Paused, "shall have 2 pods"),
        (Reason::WriterAppeared, appeared, ManagerMode::Paused, "stop it, or set migration.rollback"),
        (Reason::LeaseNotAcquired, unfenced, ManagerMode::Paused, "has not made Lease"),
        (Reason::UnexpectedCreate, moved(), ManagerMode::Paused, "migration.accept"),
        (Reason::AdoptionStalled, stalled, ManagerMode::ServiceOnly, "not settled"),
        (Reason::NodesUninitialized, stuck_node(), ManagerMode::WithoutLifecycle, "See the manager's log"),
        (Reason::ManagerNotReady, not_full(), ManagerMode::ServiceOnly, "is being rolled out"),
        (Reason::VerifyFailed, verify(), ManagerMode::Full, "migration.rollback: true"),
        (Reason::RollbackWouldDuplicate, way_back(), ManagerMode::Full, "Delete these Services, or accept"),
        (Reason::ManagerStillRunning, unstopped, ManagerMode::Absent, "pods have to be gone"),
        (Reason::InvariantViolated, invariant(), ManagerMode::Shadow, "I4"),
    ];
    let reasons: BTreeSet<Reason> = cases.iter().map(|(reason, ..)| *reason).collect();
    assert_eq!(reasons, Reason::ALL.into());
    for (reason, scene, mode, words) in cases {
        let (found, message) = scene.blocked();
        assert_eq!(found, reason.to_string(), "{message}");
        assert!(message.contains(words), "{reason}: {message}");
        let decision = scene.decide();
        assert_eq!(decision.mode, mode, "{reason}");
        assert!(decision.status.came_from.is_some());
        assert!(decision.notes.iter().any(|note| note.reason == reason.to_string()), "{reason}");
        let required =
            decision.conditions.iter().find(|condition| condition.type_ == "ActionRequired").unwrap();
        assert!(reason == Reason::InvariantViolated || required.status == "True", "{reason}");
    }
}

#[test]
fn what_goes_with_a_service_that_a_person_deletes_is_not_the_hand_overs_doing() {
    let mut scene = Scene::relinquished(OtherManager, Phase::ServiceOnly, ManagerMode::ServiceOnly);
    let name = scene.observed.services[0].key();
    let finding =
        ShadowFinding { service: name, would: WouldDo::Delete, held: true, message: "gone".to_owned() };
    let report = scene.report();
    report.findings = vec![finding];
    (report.blocking, report.settled) = (1, report.services - 1);
    assert_eq!(scene.blocked().0, "UnexpectedCreate", "a load balancer of a Service that stays");
    scene.observed.services[0].deleting = true;
    assert_eq!(scene.next().0, Phase::Nodes);
}

#[test]
fn held_back_creates_block_without_stopping_what_is_served() {
    let mut scene = adoption();
    hand_over_changes(&mut scene);
    assert_eq!(scene.blocked().0, "UnexpectedCreate");
    assert_eq!(scene.decide().mode, ManagerMode::ServiceOnly);
    scene.spec.migration.accept = vec!["default/web".to_owned()];
    assert_eq!(scene.next().0, Phase::Nodes);
}

#[test]
fn a_service_that_was_made_anew_under_the_same_name_is_no_surprise() {
    let mut scene = moved();
    scene.observed.services[0].uid = "web-2".to_owned();
    assert_eq!(scene.next().0, Phase::Nodes);
}

#[test]
fn a_stuck_node_loses_our_taint_and_is_not_tainted_again_at_once() {
    let mut scene = stuck_node();
    let untaint = super::super::Step::UntaintNode { name: "w".to_owned(), uid: "uid-w".to_owned() };
    assert_eq!(scene.decide().steps, [untaint]);
    scene.observed.nodes[0].uninitialized = false;
    assert_eq!(scene.blocked().0, "NodesUninitialized");
    assert_eq!(scene.decide().steps, []);
    scene.observed.nodes[0].tainted_at = Some(ago(3700));
    assert_eq!(scene.decide().steps.len(), 1, "after an hour it is tried again");
}

#[test]
fn whoever_is_patient_is_not_blocked_by_time() {
    let mut scene = Scene::at(OtherManager, Phase::Relinquish, ManagerMode::Paused).long_ago();
    scene.spec.migration.urgency = crate::api::Urgency::Patient;
    assert_eq!(scene.next().0, Phase::Relinquish);
}

#[test]
fn a_blocked_manager_is_tried_again_after_a_while() {
    let mut scene = not_full();
    let status = scene.decide().status;
    scene.status.migration = Some(status);
    assert_eq!(scene.blocked().0, "ManagerNotReady");
    scene.now = ago(-601);
    let decision = scene.decide();
    assert_eq!((decision.status.phase, decision.mode), (Phase::Full, ManagerMode::Full));
}

#[test]
fn load_balancers_that_the_previous_writer_made_itself_do_not_block_the_way_back() {
    let mut scene = way_back();
    scene.observed.ours = Option::None;
    let before = snapshot::take(&scene.case(), Option::None);
    scene.run_ours(ManagerMode::Full);
    scene.migration().snapshot = Some(before);
    assert_eq!(scene.next().0, Phase::RollingBack);
    scene.migration().snapshot.as_mut().unwrap().late = true;
    assert_eq!(scene.blocked().0, "RollbackWouldDuplicate");
}

#[test]
fn one_of_ours_blocks_the_way_back_with_the_name_that_the_provider_inside_looks_for() {
    let mut scene = way_back();
    scene.observed.ours = Option::None;
    scene.observed.services[0].uid = "11111111-2222-3333-4444-555555555555".to_owned();
    scene.observed.services[0].load_balancer_id = Some("lb-9".to_owned());
    let before = snapshot::take(&scene.case(), Option::None);
    assert!(!before.late);
    scene.run_ours(ManagerMode::Full);
    scene.migration().snapshot = Some(before);
    let (reason, message) = scene.blocked();
    assert_eq!(reason, "RollbackWouldDuplicate", "whoever noted its id was not the provider inside");
    let command = "openstack loadbalancer set --name a1111111122223333444455555555555 lb-9";
    assert!(message.contains(command), "{message}");
    scene.spec.migration.accept = vec!["default/web".to_owned()];
    assert_eq!(scene.next().0, Phase::RollingBack);
}

#[test]
fn what_is_waited_for_after_a_block_has_all_its_time() {
    let mut scene = adoption();
    hand_over_changes(&mut scene);
    let status = scene.decide().status;
    assert_eq!(status.blocked.as_deref(), Some("UnexpectedCreate"));
    scene.status.migration = Some(status);
    let mut scene = scene.long_ago();
    (scene.report().findings, scene.report().blocking, scene.report().settled) = (Vec::new(), 0, 0);
    assert_eq!(scene.next().0, Phase::ServiceOnly, "it has only begun to wait for this");
    let status = scene.decide().status;
    assert_eq!(status.since, Some(scene.now));
    scene.status.migration = Some(status);
    let mut scene = scene.long_ago();
    assert_eq!(scene.blocked().0, "AdoptionStalled");
    let status = scene.decide().status;
    scene.status.migration = Some(status);
    assert_eq!(scene.blocked().0, "AdoptionStalled", "as long as it is so");
    scene.report().settled = 1;
    assert_eq!(scene.next().0, Phase::Nodes);
}
