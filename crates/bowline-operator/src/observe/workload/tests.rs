//! Pods whose workload is gone are seen until they are gone, too.

use bowline_kube::objects::Pod;
use serde_json::json;

use super::{managers_of_pods, our_last_pods};
use crate::migration::{ManagerMode, ManagerWorkload, WorkloadKind};

fn pod(name: &str, phase: &str, arguments: &[&str]) -> Pod {
    let pod = json!({
        "metadata": { "name": name, "namespace": "kube-system", "uid": name, "annotations": { "bowline.dev/mode": "Full" } },
        "spec": {
            "nodeName": "a",
            "containers": [{ "name": "manager", "image": "registry.k8s.io/provider-os/openstack-cloud-controller-manager:v1.34.0", "args": arguments }],
        },
        "status": { "phase": phase },
    });
    serde_json::from_value(pod).unwrap()
}

#[test]
fn a_pod_of_a_deleted_manager_is_a_manager_and_one_of_a_known_manager_is_not_twice() {
    let left = pod("occm-1", "Running", &["--cluster-name=test"]);
    let found = managers_of_pods(&[left.clone(), left.clone()], &[]);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].workload.kind, found[0].live().count()), (WorkloadKind::Pod, 1));
    assert_eq!(found[0].arguments, ["--cluster-name=test"]);
    let known = ManagerWorkload { pods: found[0].pods.clone(), ..ManagerWorkload::default() };
    assert_eq!(managers_of_pods(&[left], &[known]), []);
}

#[test]
fn the_manager_inside_rke2_is_not_taken_for_another_one() {
    assert_eq!(
        managers_of_pods(&[pod("cloud-controller-manager-a", "Running", &["--cloud-provider=rke2"])], &[]),
        []
    );
}

#[test]
fn our_manager_is_there_until_its_last_pod_has_ended() {
    let left = our_last_pods(&[pod("bowline-1", "Running", &[])], "config-").unwrap();
    assert_eq!((left.mode, left.strongest()), (Some(ManagerMode::Absent), ManagerMode::Full));
    assert_eq!(our_last_pods(&[pod("bowline-1", "Succeeded", &[])], "config-"), None);
    assert_eq!(our_last_pods(&[], "config-"), None);
}
