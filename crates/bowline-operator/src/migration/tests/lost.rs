//! Whatever the status says, or does not: from any cluster, decisions lead to what is safe, and to no broken rule.

use std::time::Duration;

use proptest::prelude::*;

use super::super::writers::{Writer, others};
use super::super::{ManagerMode, OurWorkload};
use super::scene::{Scene, lease, occm, ours, pod};
use crate::api::{MigrationKind, MigrationStatus, Phase};

const PHASES: [Phase; 13] = [
    Phase::Detect,
    Phase::Preflight,
    Phase::AwaitAdmin,
    Phase::Relinquish,
    Phase::Fence,
    Phase::ServiceOnly,
    Phase::Nodes,
    Phase::Full,
    Phase::Verify,
    Phase::Steady,
    Phase::RollingBack,
    Phase::Previous,
    Phase::Blocked,
];

fn kinds() -> impl Strategy<Value = MigrationKind> {
    use MigrationKind::{Embedded, Fresh, InTree, None, OtherManager, Upgrade};
    prop::sample::select(vec![Fresh, None, InTree, OtherManager, Embedded, Upgrade])
}

prop_compose! {
    fn statuses()(phase in prop::sample::select(PHASES.to_vec()), from in prop::sample::select(PHASES.to_vec()), kind in prop::option::of(kinds()), lost in any::<bool>()) -> Option<MigrationStatus> {
        let came_from = (phase == Phase::Blocked).then_some(from);
        (!lost).then(|| MigrationStatus { phase, kind, came_from, ..MigrationStatus::default() })
    }
}

prop_compose! {
    fn scenes()(
        kind in kinds(),
        status in statuses(),
        mode in prop::sample::select(ManagerMode::ALL.to_vec()),
        older in prop::option::of(prop::sample::select(ManagerMode::ALL.to_vec())),
        inside in prop::collection::vec(any::<bool>(), 3),
        (stopped, leftover, heeds, rollback) in any::<(bool, bool, bool, bool)>(),
        (holder, age, renewed) in (prop::sample::select(vec!["w_1", "a_1", "x_1"]), 0..30_u64, any::<bool>()),
    ) -> Scene {
        let mut scene = Scene::at(kind, Phase::Detect, mode);
        scene.status.migration = status;
        scene.spec.migration.rollback = rollback;
        if let (Some(ours), Some(older)) = (&mut scene.observed.ours, older) {
            ours.pods.push(pod("bowline-0", "b", Some(older)));
        }
        for (pod, inside) in scene.observed.control_plane.iter_mut().zip(inside) {
            if !inside {
                pod.arguments = vec!["--cloud-provider=external".to_owned()];
            }
        }
        for manager in scene.observed.managers.iter_mut().filter(|_| stopped) {
            (manager.desired, manager.previous_replicas) = (0, Some(2));
            manager.pods = if leftover { vec![occm().pods.remove(0)] } else { Vec::new() };
        }
        for manager in scene.observed.managers.iter_mut().filter(|_| !heeds) {
            manager.arguments.push("--leader-elect=false".to_owned());
        }
        let mut lease = lease(holder);
        (lease.unchanged_for, lease.seen_renewed) = (Duration::from_secs(age), renewed);
        scene.observed.leases = vec![lease];
        scene
    }
}

fn strongest(scene: &Scene) -> ManagerMode {
    scene.observed.ours.as_ref().map_or(ManagerMode::Absent, OurWorkload::strongest)
}

/// The modes and phases of a few passes in a cluster that stays as it is, but for what our manager is told.
fn settled(scene: &mut Scene) -> ManagerMode {
    for _ in 0..5 {
        let decision = scene.decide();
        if !decision.hold {
            scene.observed.ours = (decision.mode != ManagerMode::Absent).then(|| ours(decision.mode));
        }
        scene.status.migration = Some(decision.status);
    }
    strongest(scene)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn ours_never_begins_to_write_while_somebody_else_may(scene in scenes()) {
        let decision = scene.decide();
        let may = others(&scene.case());
        let begins = !decision.hold && decision.mode.acts() && !strongest(&scene).acts();
        prop_assert!(!begins || may.is_empty(), "{:?} beside {may:?}", decision.status.phase);
        prop_assert!(decision.status.phase != Phase::Blocked || !decision.message.is_empty());
    }

    #[test]
    fn ours_stops_when_somebody_writes_who_does_not_heed_the_lease(mut scene in scenes()) {
        let mode = settled(&mut scene);
        let heedless = others(&scene.case()).iter().any(Writer::is_heedless);
        prop_assert!(!heedless || !mode.acts(), "{:?}", scene.status.migration);
    }

    #[test]
    fn another_is_never_started_while_a_pod_of_ours_is_there(scene in scenes()) {
        let decision = scene.decide();
        let starts = decision.steps.iter().any(|step| matches!(step, super::super::Step::ScaleUp { .. }));
        prop_assert!(!starts || strongest(&scene) == ManagerMode::Absent);
    }
}
