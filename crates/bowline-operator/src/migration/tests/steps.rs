//! What a person is told to do, by how the cluster was made.

use super::super::{ManagerMode, MirrorPod};
use super::scene::{Scene, ago, controller_manager};
use crate::api::{AdminStep, MigrationKind, Phase};
use crate::flags::Component;

fn text(steps: &[AdminStep]) -> String {
    let each = steps.iter().map(|step| format!("{} | {} | {}", step.on, step.what, step.commands.join("\n")));
    each.collect::<Vec<_>>().join("\n")
}

fn as_made_by(scene: &mut Scene, distribution: &str) {
    for node in &mut scene.observed.nodes {
        match distribution {
            "rke2" => node.kubelet_version = "v1.30.1+rke2r1".to_owned(),
            "talos" => node.os_image = "Talos (v1.7.0)".to_owned(),
            "capi" => node.cluster_api = true,
            _ => {}
        }
    }
    scene.observed.cluster.openshift = distribution == "openshift";
    scene.observed.cluster.kubeadm_config = distribution == "kubeadm" || distribution == "capi";
}

#[test]
fn the_steps_to_relinquish_are_those_of_the_distribution() {
    let wanted = [
        ("kubeadm", "kubeadm init phase control-plane controller-manager"),
        ("talos", "talosctl patch machineconfig"),
        ("capi", "KubeadmControlPlane"),
        ("openshift", "cluster-kube-controller-manager-operator"),
        ("unknown", "start kube-controller-manager with --cloud-provider=external"),
    ];
    for (distribution, words) in wanted {
        let mut scene = Scene::at(MigrationKind::InTree, Phase::AwaitAdmin, ManagerMode::Shadow);
        as_made_by(&mut scene, distribution);
        let decision = scene.decide();
        let told = text(&decision.status.steps);
        assert!(told.contains(words), "{distribution}: {told}");
        assert_eq!(decision.status.phase, Phase::AwaitAdmin);
        let required =
            decision.conditions.iter().find(|condition| condition.type_ == "ActionRequired").unwrap();
        assert_eq!((required.status.as_str(), required.reason.as_str()), ("True", "StepsToDo"));
    }
}

#[test]
fn k3s_and_rke2_are_told_to_switch_off_the_manager_inside() {
    for (distribution, service) in
        [("k3s", "systemctl restart k3s"), ("rke2", "systemctl restart rke2-server")]
    {
        let mut scene = Scene::at(MigrationKind::Embedded, Phase::AwaitAdmin, ManagerMode::Shadow);
        as_made_by(&mut scene, distribution);
        let told = text(&scene.decide().status.steps);
        assert!(told.contains("disable-cloud-controller: true") && told.contains(service), "{told}");
    }
}

#[test]
fn each_control_plane_node_is_told_of_and_done_by_evidence() {
    let mut scene = Scene::at(MigrationKind::InTree, Phase::AwaitAdmin, ManagerMode::Shadow);
    scene.observed.control_plane[0] = controller_manager("a", "external");
    let steps = scene.decide().status.steps;
    let of = |node: &str| steps.iter().find(|step| step.on == format!("node {node}")).unwrap().done;
    assert!(of("a") && !of("b") && !of("c"));
}

#[test]
fn a_manager_that_has_not_started_since_its_flags_changed_is_not_done() {
    let mut scene = Scene::at(MigrationKind::InTree, Phase::AwaitAdmin, ManagerMode::Shadow);
    scene.observed.control_plane = ["a", "b", "c"].map(|node| controller_manager(node, "external")).into();
    scene.migration().snapshot.get_or_insert_default().in_tree.insert("b".to_owned(), ago(100));
    let (phase, message) = scene.next();
    assert_eq!(phase, Phase::AwaitAdmin, "{message}");
    scene.observed.control_plane[1].started_at = Some(ago(50));
    assert_eq!(scene.next().0, Phase::Relinquish);
}

#[test]
fn kubelets_have_steps_of_their_own_and_those_nobody_can_see_are_asked_for() {
    let mut scene = Scene::relinquished(MigrationKind::InTree, Phase::Nodes, ManagerMode::WithoutNodes);
    scene.observed.nodes[0].provided_node_ip = Some("10.0.0.1".to_owned());
    let decision = scene.decide();
    let told = text(&decision.status.steps);
    assert!(told.contains("/var/lib/kubelet/kubeadm-flags.env"), "{told}");
    assert!(told.contains("kubectl annotate node a bowline.dev/kubelet-cloud-provider=external"), "{told}");
    assert!(told.contains("node b | its kubelet writes addresses itself"), "{told}");
    assert_eq!(decision.mode, ManagerMode::WithoutNodes);
    for node in &mut scene.observed.nodes {
        node.declared = Some("external".to_owned());
    }
    assert_eq!(scene.decide().mode, ManagerMode::WithoutLifecycle);
}

#[test]
fn a_static_pod_of_the_previous_manager_is_taken_away_by_a_person() {
    let mut scene = Scene::at(MigrationKind::OtherManager, Phase::Preflight, ManagerMode::Shadow);
    scene.observed.managers[0].workload.kind = super::super::WorkloadKind::Pod;
    assert_eq!(scene.next().0, Phase::AwaitAdmin);
    scene.migration().phase = Phase::AwaitAdmin;
    assert!(text(&scene.decide().status.steps).contains("/etc/kubernetes/manifests"));
}

#[test]
fn in_the_end_old_node_names_and_the_flag_of_the_api_server_are_told_of() {
    let mut scene = Scene::relinquished(MigrationKind::Embedded, Phase::Steady, ManagerMode::Full);
    scene
        .observed
        .control_plane
        .push(MirrorPod { component: Component::ApiServer, ..controller_manager("a", "external") });
    let decision = scene.decide();
    let told = text(&decision.status.steps);
    assert!(
        told.contains("k3s://w can never be changed") && told.contains("kubectl delete node w"),
        "{told}"
    );
    assert!(told.contains("kube-apiserver-arg"), "{told}");
    assert_eq!(decision.status.phase, Phase::Steady);
}

#[test]
fn on_the_way_back_the_flags_are_those_of_before() {
    let mut scene = Scene::relinquished(MigrationKind::InTree, Phase::RollingBack, ManagerMode::Absent);
    scene.spec.migration.rollback = true;
    let told = text(&scene.decide().status.steps);
    assert!(told.contains("cloud-provider: openstack"), "{told}");
    let mut scene = Scene::relinquished(MigrationKind::Embedded, Phase::RollingBack, ManagerMode::Absent);
    scene.spec.migration.rollback = true;
    assert!(text(&scene.decide().status.steps).contains("Remove:\ndisable-cloud-controller: true"));
}
