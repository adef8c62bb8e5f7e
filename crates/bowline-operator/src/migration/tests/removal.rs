//! When an object that is being deleted may go.

use super::super::{ManagerMode, Step, Uninstall, uninstall};
use super::scene::{Scene, ago};
use crate::api::{DeletionPolicy, MigrationKind, Phase};

fn steady() -> Scene {
    Scene::relinquished(MigrationKind::OtherManager, Phase::Steady, ManagerMode::Full)
}

fn refused(scene: &Scene) -> String {
    match uninstall(&scene.case()) {
        Uninstall::Refused { message } => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn as_long_as_services_have_load_balancers_it_stays_unless_they_may_be_orphaned() {
    let mut scene = steady();
    assert!(refused(&scene).contains("default/web"));
    scene.observed.services[0].deleting = true;
    assert!(refused(&scene).contains("default/web"), "who removes it is still needed");
    scene.spec.deletion_policy = DeletionPolicy::Orphan;
    assert!(matches!(uninstall(&scene.case()), Uninstall::Stopping { .. }));
    scene.spec.deletion_policy = DeletionPolicy::Refuse;
    scene.observed.services.clear();
    assert!(matches!(uninstall(&scene.case()), Uninstall::Stopping { .. }));
}

#[test]
fn a_shadow_that_served_nobody_may_go_at_once() {
    let scene = Scene::at(MigrationKind::OtherManager, Phase::Preflight, ManagerMode::Shadow);
    assert!(matches!(uninstall(&scene.case()), Uninstall::Stopping { .. }));
}

#[test]
fn nothing_is_removable_before_the_last_pod_and_the_last_taint_of_ours_are_gone() {
    let mut scene = steady();
    scene.observed.services.clear();
    scene.observed.ours.as_mut().unwrap().mode = Some(ManagerMode::Absent);
    assert!(matches!(uninstall(&scene.case()), Uninstall::Stopping { .. }));
    scene.observed.ours = None;
    (scene.observed.nodes[0].uninitialized, scene.observed.nodes[0].tainted_at) = (true, Some(ago(1)));
    let Uninstall::Stopping { steps, .. } = uninstall(&scene.case()) else { panic!() };
    assert_eq!(steps, [Step::UntaintNode { name: "a".to_owned(), uid: "uid-a".to_owned() }]);
    scene.observed.nodes[0].uninitialized = false;
    assert_eq!(uninstall(&scene.case()), Uninstall::Removable);
}

#[test]
fn what_cannot_be_read_may_be_in_use() {
    let mut scene = steady();
    scene
        .observed
        .unread
        .push(super::super::Unread { what: "services".to_owned(), why: "forbidden".to_owned() });
    assert!(refused(&scene).contains("forbidden"));
}
