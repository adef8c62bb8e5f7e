//! What a cluster is migrated from.

use std::time::Duration;

use super::super::{ManagerMode, Readiness, Unclear, WorkloadKind, detect};
use super::scene::{Scene, controller_manager, lease, node, occm, ours};
use crate::api::MigrationKind;

fn kind(scene: &Scene) -> MigrationKind {
    detect(&scene.case()).kind.unwrap()
}

fn ambiguous(scene: &Scene) -> String {
    match detect(&scene.case()).kind {
        Err(Unclear::Ambiguous(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_kind_is_known_by_what_the_cluster_shows() {
    use MigrationKind::{Embedded, Fresh, InTree, None, OtherManager, Upgrade};
    for wanted in [Fresh, None, InTree, OtherManager, Embedded, Upgrade] {
        let scene = Scene::of(wanted);
        assert_eq!(kind(&scene), wanted);
        let evidence = detect(&scene.case()).evidence;
        assert!(evidence.iter().any(|seen| seen.object == "nodes"), "{evidence:?}");
    }
}

#[test]
fn a_manager_that_the_operator_has_stopped_is_still_what_was_migrated_from() {
    let mut scene = Scene::of(MigrationKind::OtherManager);
    (scene.observed.managers[0].desired, scene.observed.managers[0].previous_replicas) = (0, Some(2));
    scene.observed.managers[0].pods.clear();
    scene.observed.ours = Some(ours(ManagerMode::ServiceOnly));
    assert_eq!(kind(&scene), MigrationKind::OtherManager);
}

#[test]
fn what_our_workload_says_of_its_origin_counts_when_nothing_else_can_show_it() {
    let mut scene = Scene::of(MigrationKind::Upgrade);
    scene.observed.ours.as_mut().unwrap().kind = Some(MigrationKind::InTree);
    assert_eq!(kind(&scene), MigrationKind::InTree);
}

#[test]
fn nodes_that_have_addresses_by_a_manager_that_is_gone_are_taken_over_and_not_taken_for_fresh() {
    let mut scene = Scene::of(MigrationKind::OtherManager);
    scene.observed.managers.clear();
    assert_eq!(kind(&scene), MigrationKind::None);
}

#[test]
fn two_writers_are_ambiguous() {
    let mut scene = Scene::of(MigrationKind::InTree);
    scene.observed.managers.push(occm());
    let why = ambiguous(&scene);
    assert!(
        why.contains("--cloud-provider=openstack") && why.contains("openstack-cloud-controller-manager"),
        "{why}"
    );
    let mut scene = Scene::of(MigrationKind::OtherManager);
    let mut second = occm();
    second.workload.kind = WorkloadKind::DaemonSet;
    scene.observed.managers.push(second);
    assert!(ambiguous(&scene).contains("DaemonSet/kube-system"));
}

#[test]
fn nodes_of_another_cloud_alone_are_ambiguous_and_beside_ours_they_are_not() {
    let mut scene = Scene::of(MigrationKind::OtherManager);
    for node in &mut scene.observed.nodes {
        node.provider_id = Some("aws:///a/i-1".to_owned());
    }
    assert!(ambiguous(&scene).contains("AWS"));
    scene.observed.nodes.push(node(MigrationKind::OtherManager, "d"));
    assert_eq!(kind(&scene), MigrationKind::OtherManager);
}

#[test]
fn a_lease_that_nobody_known_renews_is_ambiguous_and_one_just_seen_is_watched_first() {
    let mut scene = Scene::of(MigrationKind::None);
    scene.observed.leases = vec![lease("stranger_1")];
    assert!(ambiguous(&scene).contains("stranger_1"));
    scene.observed.leases[0].seen_renewed = false;
    assert!(matches!(detect(&scene.case()).kind, Err(Unclear::NotYet(_))));
    scene.observed.leases[0].unchanged_for = Duration::from_secs(16);
    assert_eq!(kind(&scene), MigrationKind::None);
}

#[test]
fn a_control_plane_that_cannot_be_seen_is_ambiguous_where_the_provider_may_be_inside() {
    let mut scene = Scene::of(MigrationKind::InTree);
    scene.observed.control_plane = ["a", "b"].map(|name| controller_manager(name, "external")).into();
    assert!(ambiguous(&scene).contains("control-plane node c"));
    scene.observed.control_plane.push(controller_manager("c", "external"));
    scene.observed.nodes[1].readiness = Readiness::Unknown;
    assert!(ambiguous(&scene).contains("node b is not ready"));
    scene.observed.cluster.minor = 34;
    assert_eq!(kind(&scene), MigrationKind::None, "the provider cannot be inside any more");
}
