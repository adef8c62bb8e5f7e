//! What each phase has our manager do, and where it leads.

use std::time::Duration;

use super::super::{ManagerMode, NoteType, Reason, ShadowFinding, Step, WouldDo};
use super::scene::{Scene, ago, lease, now, occm};
use crate::api::{Approval, Manager, MigrationKind, Phase};
use crate::rollout::Rollout;

use MigrationKind::{Embedded, Fresh, InTree, None, OtherManager, Upgrade};

fn external(scene: &mut Scene) {
    for node in &mut scene.observed.nodes {
        node.addresses_writer = Some("bowline".to_owned());
    }
}

#[test]
fn every_kind_takes_its_way_from_detection_on() {
    for kind in [Fresh, None, InTree, OtherManager, Embedded, Upgrade] {
        let decision = Scene::of(kind).decide();
        assert_eq!((decision.status.phase, decision.status.kind), (Phase::Preflight, Some(kind)));
        assert!(decision.hold && decision.steps.is_empty());
    }
}

#[test]
fn after_the_preflight_each_kind_goes_its_own_way() {
    let ways = [
        (Fresh, Phase::Full),
        (Upgrade, Phase::Full),
        (None, Phase::Relinquish),
        (OtherManager, Phase::Relinquish),
        (InTree, Phase::AwaitAdmin),
        (Embedded, Phase::AwaitAdmin),
    ];
    for (kind, next) in ways {
        let mode = if kind == Upgrade { ManagerMode::Full } else { ManagerMode::Shadow };
        let scene = Scene::at(kind, Phase::Preflight, mode);
        let decision = scene.decide();
        assert_eq!(decision.status.phase, next, "{kind:?}: {}", decision.message);
        assert_eq!(decision.mode, mode, "{kind:?}");
        assert!(decision.steps.is_empty());
        assert_eq!(decision.look_again, Duration::ZERO);
    }
}

#[test]
fn the_snapshot_is_taken_before_anything_changes_and_not_written_anew_for_its_time() {
    let mut scene = Scene::at(OtherManager, Phase::Preflight, ManagerMode::Shadow);
    let first = scene.decide().status;
    let snapshot = first.snapshot.clone().unwrap();
    assert_eq!(snapshot.services["default/web"], ["203.0.113.1"]);
    assert_eq!(snapshot.previous_replicas["Deployment/kube-system/openstack-cloud-controller-manager"], 2);
    assert!(!snapshot.late);
    scene.migration().snapshot = first.snapshot;
    scene.now = ago(-30);
    assert_eq!(scene.decide().status.snapshot.unwrap().taken_at, Some(now()));
    scene.observed.services[0].ingress.push("203.0.113.2".to_owned());
    assert_eq!(scene.decide().status.snapshot.unwrap().taken_at, Some(ago(-30)));
}

#[test]
fn ours_stands_by_before_the_previous_manager_is_stopped() {
    let mut scene = Scene::at(OtherManager, Phase::Relinquish, ManagerMode::Shadow);
    let decision = scene.decide();
    assert_eq!((decision.mode, decision.steps), (ManagerMode::Paused, vec![]));
    scene.run_ours(ManagerMode::Paused);
    scene.observed.leases = vec![lease("a_1")];
    let decision = scene.decide();
    assert_eq!(decision.status.phase, Phase::Relinquish);
    assert_eq!(decision.steps, [Step::ScaleDown { workload: occm().workload, replicas: 2 }]);
}

#[test]
fn a_pod_of_the_previous_manager_that_is_left_holds_everything_up() {
    let mut scene = Scene::relinquished(OtherManager, Phase::Relinquish, ManagerMode::Paused);
    scene.observed.managers[0].pods = vec![occm().pods.remove(0)];
    scene.observed.managers[0].pods[0].deleting = true;
    let (phase, message) = scene.next();
    assert_eq!(phase, Phase::Relinquish);
    assert!(message.contains("shall have 0 pods and has 1"), "{message}");
    scene.observed.managers[0].pods[0].phase = "Succeeded".to_owned();
    assert_eq!(scene.next().0, Phase::Fence);
}

#[test]
fn the_fence_stands_when_ours_was_seen_to_renew_the_lease() {
    let mut scene = Scene::relinquished(OtherManager, Phase::Fence, ManagerMode::Paused);
    assert_eq!(scene.next().0, Phase::ServiceOnly);
    assert_eq!(scene.decide().mode, ManagerMode::Paused);
    scene.observed.leases = vec![lease("a_old")];
    assert_eq!(scene.next().0, Phase::Fence, "another holds it");
    scene.observed.leases = vec![lease("w_1")];
    scene.observed.leases[0].seen_renewed = false;
    assert_eq!(scene.next().0, Phase::Fence, "the name of the node may be that of a dead manager, too");
    scene.observed.leases.clear();
    assert!(scene.next().1.contains("has not made Lease"));
}

#[test]
fn leader_migration_must_have_let_go_before_the_fence_stands() {
    let mut scene = Scene::relinquished(InTree, Phase::Fence, ManagerMode::Paused);
    let mut extraction = lease("kcm_1");
    extraction.name = "cloud-provider-extraction-migration".to_owned();
    scene.observed.leases.push(extraction);
    assert!(scene.next().1.contains("--enable-leader-migration"));
    scene.observed.leases[1].unchanged_for = Duration::from_secs(16);
    assert_eq!(scene.next().0, Phase::ServiceOnly);
}

#[test]
fn a_writer_that_comes_back_during_the_fence_leads_back() {
    let mut scene = Scene::relinquished(OtherManager, Phase::Fence, ManagerMode::Paused);
    scene.observed.managers[0].desired = 2;
    let decision = scene.decide();
    assert_eq!((decision.status.phase, decision.mode), (Phase::Relinquish, ManagerMode::Paused));
}

#[test]
fn adoption_is_over_when_the_leader_reports_every_service_settled() {
    let mut scene = Scene::relinquished(OtherManager, Phase::ServiceOnly, ManagerMode::ServiceOnly);
    assert_eq!(scene.next().0, Phase::Nodes);
    scene.report().settled = 0;
    assert!(scene.next().1.contains("1 of 1 Services are not settled"));
    scene.report().findings = vec![ShadowFinding {
        service: "default/web".to_owned(),
        would: WouldDo::Refuse,
        ..ShadowFinding::default()
    }];
    assert_eq!(scene.next().0, Phase::Nodes, "what is refused is refused before and after");
    scene.report().findings[0].would = WouldDo::Block;
    scene.report().findings[0].message = "annotation x is \"ten\"".to_owned();
    let (phase, message) = scene.next();
    assert_eq!(phase, Phase::ServiceOnly, "a Service that is served with another value is not settled");
    assert!(message.contains("default/web would not get what it asks for: annotation x is"), "{message}");
    scene.spec.migration.accept = vec!["default/web".to_owned()];
    assert_eq!(scene.next().0, Phase::Nodes);
    scene.spec.migration.accept.clear();
    scene.report().mode = Some(ManagerMode::Shadow);
    assert_eq!(scene.next().0, Phase::ServiceOnly, "what the shadow said does not count");
    scene.observed.ours.as_mut().unwrap().rollout = Rollout::Progressing;
    assert_eq!(scene.next().0, Phase::ServiceOnly);
}

#[test]
fn adoption_is_over_when_every_service_was_settled_once_however_often_it_is_edited() {
    let mut scene = Scene::relinquished(OtherManager, Phase::ServiceOnly, ManagerMode::ServiceOnly);
    let changes = |name: &str| ShadowFinding {
        service: format!("default/{name}"),
        would: WouldDo::Change,
        ..ShadowFinding::default()
    };
    let mut reported = |settled: usize, open: &[&str]| {
        let report = scene.report();
        (report.services, report.settled) = (2, settled);
        report.findings = open.iter().map(|name| changes(name)).collect();
        let status = scene.decide().status;
        scene.status.migration = Some(status.clone());
        (status.phase, status.unsettled)
    };
    let open = |names: &[&str]| Some(names.iter().map(|name| format!("default/{name}")).collect::<Vec<_>>());
    assert_eq!(reported(0, &["web", "shop"]), (Phase::ServiceOnly, open(&["web", "shop"])));
    assert_eq!(reported(0, &["web"]), (Phase::ServiceOnly, open(&["web", "shop"])), "one is not named");
    assert_eq!(reported(1, &["web"]), (Phase::ServiceOnly, open(&["web"])));
    assert_eq!(reported(1, &["shop"]), (Phase::Nodes, open(&[])), "the other was edited meanwhile");
}

#[test]
fn nodes_without_a_name_are_tainted_one_after_the_other_under_a_leader() {
    let mut scene = Scene::relinquished(None, Phase::Nodes, ManagerMode::WithoutNodes);
    external(&mut scene);
    let decision = scene.decide();
    assert_eq!((decision.mode, decision.steps), (ManagerMode::WithoutLifecycle, vec![]));
    scene.run_ours(ManagerMode::WithoutLifecycle);
    let taint = |name: &str| Step::TaintNode { name: name.to_owned(), uid: format!("uid-{name}") };
    assert_eq!(scene.decide().steps, [taint("a")]);
    (scene.observed.nodes[0].uninitialized, scene.observed.nodes[0].tainted_at) = (true, Some(ago(10)));
    assert_eq!(scene.decide().steps, []);
    assert_eq!(scene.decide().status.tainted, ["a"]);
    (scene.observed.nodes[0].uninitialized, scene.observed.nodes[0].provider_id) =
        (false, Some("openstack:///a".to_owned()));
    let decision = scene.decide();
    assert_eq!(decision.steps, [taint("b")]);
    assert_eq!(decision.status.percent, 65);
}

#[test]
fn nodes_are_done_when_their_addresses_have_stayed_for_two_periods() {
    let mut scene = Scene::relinquished(OtherManager, Phase::Nodes, ManagerMode::WithoutLifecycle);
    scene.observed.nodes[1].addresses_unchanged_for = Duration::from_secs(599);
    assert!(scene.next().1.contains("600 s: b"));
    scene.observed.nodes[1].addresses_unchanged_for = Duration::from_secs(600);
    assert_eq!(scene.next().0, Phase::Full);
}

#[test]
fn a_fresh_cluster_is_done_when_its_nodes_are_initialised() {
    let mut scene = Scene::at(Fresh, Phase::Full, ManagerMode::Full);
    assert!(scene.next().1.contains("a, b, c, w"));
    for node in &mut scene.observed.nodes {
        node.uninitialized = false;
    }
    assert_eq!(scene.next().0, Phase::Verify);
    scene.migration().phase = Phase::Verify;
    assert_eq!(scene.next().0, Phase::Steady);
}

#[test]
fn a_new_version_is_rolled_out_from_steady_and_published_when_it_runs() {
    let mut scene = Scene::relinquished(OtherManager, Phase::Steady, ManagerMode::Full);
    assert!(scene.decide().publish_version);
    assert_eq!(scene.next().0, Phase::Steady);
    scene.observed.wanted_version = "2".to_owned();
    let decision = scene.decide();
    assert_eq!(
        (decision.status.phase, decision.mode, decision.publish_version),
        (Phase::Full, ManagerMode::Full, false)
    );
    assert_eq!(decision.status.kind, Some(OtherManager), "the way back stays open");
}

#[test]
fn a_bad_configuration_is_not_rolled_out_and_the_last_good_one_runs_on() {
    let mut scene = Scene::relinquished(OtherManager, Phase::Steady, ManagerMode::Full);
    scene.observed.wanted_version = "2".to_owned();
    scene.observed.preflight.config = super::super::Answer::Fail("line 3: unknown key".to_owned());
    let decision = scene.decide();
    assert!(decision.hold && decision.violations.is_empty());
    assert_eq!((decision.status.phase, decision.mode), (Phase::Steady, ManagerMode::Full));
    assert!(decision.message.contains("line 3"));
    assert!(decision.notes.iter().any(|note| note.type_ == NoteType::Warning));
}

#[test]
fn the_previous_manager_is_removed_when_it_was_kept_for_long_enough() {
    let mut scene = Scene::relinquished(OtherManager, Phase::Steady, ManagerMode::Full);
    scene.migration().since = Some(ago(23 * 3600));
    assert_eq!(scene.decide().steps, []);
    scene.migration().since = Some(ago(25 * 3600));
    assert_eq!(scene.decide().steps, [Step::DeletePrevious { workload: occm().workload }]);
    scene.observed.managers[0].previous_replicas = Option::None;
    assert_eq!(scene.decide().steps, [], "what the operator has not stopped is not its to remove");
}

#[test]
fn a_previous_manager_that_somebody_starts_again_is_stopped_while_the_lease_holds_it_back() {
    let mut scene = Scene::relinquished(OtherManager, Phase::Steady, ManagerMode::Full);
    scene.observed.managers = vec![occm()];
    let decision = scene.decide();
    assert_eq!((decision.status.phase, decision.mode), (Phase::Steady, ManagerMode::Full));
    assert_eq!(decision.steps, [Step::ScaleDown { workload: occm().workload, replicas: 2 }]);
    scene.observed.shadow = Option::None;
    scene.observed.leases = vec![lease("a_1")];
    let decision = scene.decide();
    assert_eq!(
        (decision.status.phase, decision.mode),
        (Phase::Relinquish, ManagerMode::Paused),
        "it has the Lease"
    );
}

#[test]
fn somebodys_new_manager_is_not_ours_to_stop() {
    let mut scene = Scene::at(Fresh, Phase::Steady, ManagerMode::Full);
    scene.observed.managers = vec![occm()];
    let decision = scene.decide();
    assert_eq!((decision.status.phase, decision.mode), (Phase::Steady, ManagerMode::Full));
    assert_eq!(decision.steps, []);
    assert!(
        decision
            .notes
            .iter()
            .any(|note| note.type_ == NoteType::Warning && note.message.contains("openstack-cloud"))
    );
}

#[test]
fn with_manual_approval_each_changing_phase_waits_for_its_name() {
    let gates = [
        (Phase::Preflight, ManagerMode::Shadow, Phase::Relinquish),
        (Phase::Fence, ManagerMode::Paused, Phase::ServiceOnly),
        (Phase::ServiceOnly, ManagerMode::ServiceOnly, Phase::Nodes),
        (Phase::Nodes, ManagerMode::WithoutLifecycle, Phase::Full),
    ];
    for (phase, mode, next) in gates {
        let mut scene = Scene::relinquished(OtherManager, phase, mode);
        scene.spec.migration.approval = Approval::Manual;
        let decision = scene.decide();
        assert_eq!(decision.status.phase, phase, "{}", decision.message);
        assert!(
            decision.message.contains(&format!("phase {next} waits for approval")),
            "{}",
            decision.message
        );
        let required =
            decision.conditions.iter().find(|condition| condition.type_ == "ActionRequired").unwrap();
        assert_eq!(required.reason, "ApprovalMissing", "{phase}");
        scene.spec.migration.approve = vec![next];
        assert_eq!(scene.next().0, next);
    }
}

#[test]
fn a_manager_without_a_shadow_mode_needs_a_yes_and_is_absent_until_it_writes() {
    let mut scene = Scene::at(OtherManager, Phase::Preflight, ManagerMode::Absent);
    scene.spec.manager = Manager::Upstream;
    let decision = scene.decide();
    assert_eq!((decision.status.phase, decision.mode), (Phase::Preflight, ManagerMode::Absent));
    assert!(decision.message.contains("no shadow mode"));
    scene.spec.migration.approve = vec![Phase::Relinquish];
    assert_eq!(scene.next().0, Phase::Relinquish);
    scene.migration().phase = Phase::Relinquish;
    assert_eq!(scene.decide().steps.len(), 1, "the previous one is stopped");
    let mut scene = Scene::relinquished(OtherManager, Phase::Fence, ManagerMode::Absent);
    scene.spec.manager = Manager::Upstream;
    scene.observed.leases = vec![lease("a_1")];
    assert_eq!(scene.next().0, Phase::Fence);
    scene.observed.leases[0].unchanged_for = Duration::from_secs(16);
    assert_eq!(scene.next().0, Phase::ServiceOnly);
}

#[test]
fn the_way_back_takes_the_steps_in_reverse_order() {
    let mut scene = Scene::relinquished(OtherManager, Phase::Steady, ManagerMode::Full);
    scene.spec.migration.rollback = true;
    let decision = scene.decide();
    assert_eq!((decision.status.phase, decision.mode), (Phase::RollingBack, ManagerMode::ServiceOnly));
    scene.migration().phase = Phase::RollingBack;
    scene.run_ours(ManagerMode::ServiceOnly);
    assert_eq!(scene.decide().mode, ManagerMode::Absent);
    assert_eq!(scene.decide().steps, [], "the other one is not started as long as a pod of ours is there");
    scene.observed.ours = Option::None;
    let decision = scene.decide();
    assert_eq!(decision.steps, [Step::ScaleUp { workload: occm().workload, replicas: 2 }]);
    scene.observed.managers = vec![occm()];
    assert_eq!(scene.next().0, Phase::Previous);
    scene.migration().phase = Phase::Previous;
    assert_eq!(scene.next().0, Phase::Previous);
    scene.spec.migration.rollback = false;
    assert_eq!(scene.next().0, Phase::Detect);
}

#[test]
fn taints_of_ours_go_on_the_way_back() {
    let mut scene = Scene::relinquished(None, Phase::Nodes, ManagerMode::WithoutLifecycle);
    scene.spec.migration.rollback = true;
    (scene.observed.nodes[3].uninitialized, scene.observed.nodes[3].tainted_at) = (true, Some(ago(5)));
    assert_eq!(scene.decide().steps, [Step::UntaintNode { name: "w".to_owned(), uid: "uid-w".to_owned() }]);
}

#[test]
fn kubelets_go_back_before_the_provider_inside_does() {
    let mut scene = Scene::relinquished(InTree, Phase::RollingBack, ManagerMode::ServiceOnly);
    scene.spec.migration.rollback = true;
    scene.spec.migration.accept = vec!["default/web".to_owned()];
    external(&mut scene);
    let decision = scene.decide();
    assert_eq!(decision.mode, ManagerMode::ServiceOnly);
    assert!(!decision.status.steps.is_empty());
    for node in &mut scene.observed.nodes {
        node.addresses_writer = Some("kubelet".to_owned());
    }
    assert_eq!(scene.decide().mode, ManagerMode::Absent);
}

#[test]
fn where_there_is_nothing_to_go_back_to_it_is_told_and_nothing_stops() {
    let mut scene = Scene::at(Upgrade, Phase::Steady, ManagerMode::Full);
    scene.spec.migration.rollback = true;
    let decision = scene.decide();
    assert_eq!((decision.status.phase, decision.mode), (Phase::Steady, ManagerMode::Full));
    assert!(decision.notes.iter().any(|note| note.message.contains("set version")));
}

#[test]
fn nothing_is_changed_while_something_cannot_be_read_or_a_person_has_paused() {
    let mut unread = Scene::relinquished(OtherManager, Phase::Relinquish, ManagerMode::Paused);
    unread
        .observed
        .unread
        .push(super::super::Unread { what: "nodes".to_owned(), why: "forbidden".to_owned() });
    let mut paused = Scene::at(OtherManager, Phase::Relinquish, ManagerMode::Paused);
    paused.spec.paused = true;
    for scene in [unread, paused] {
        let decision = scene.decide();
        assert!(decision.hold && decision.steps.is_empty());
        assert_eq!((decision.status.phase, decision.mode), (Phase::Relinquish, ManagerMode::Paused));
    }
}

#[test]
fn blocked_ends_by_itself_when_its_reason_is_gone() {
    let mut scene = Scene::relinquished(OtherManager, Phase::Blocked, ManagerMode::Paused);
    scene.migration().came_from = Some(Phase::Relinquish);
    scene.migration().blocked = Some(Reason::WriterStillActive.to_string());
    let decision = scene.decide();
    assert_eq!((decision.status.phase, decision.status.blocked), (Phase::Fence, Option::None));
    assert_eq!(decision.notes.len(), 1);
}

#[test]
fn the_history_is_bounded_and_tells_why() {
    let mut scene = Scene::relinquished(OtherManager, Phase::Fence, ManagerMode::Paused);
    for _ in 0..30 {
        let status = scene.decide().status;
        scene.status.migration = Some(status);
        scene.migration().phase = Phase::Fence;
    }
    let history = &scene.migration().history;
    assert_eq!(history.len(), 20);
    assert_eq!(history[19].because, "the Lease is ours, and nobody else writes");
}

#[test]
fn a_way_back_before_anything_was_changed_only_removes_the_shadow() {
    let mut scene = Scene::at(OtherManager, Phase::AwaitAdmin, ManagerMode::Shadow);
    scene.spec.migration.rollback = true;
    let decision = scene.decide();
    assert_eq!((decision.status.phase, decision.mode), (Phase::RollingBack, ManagerMode::Absent));
    assert_eq!(decision.steps, []);
}
