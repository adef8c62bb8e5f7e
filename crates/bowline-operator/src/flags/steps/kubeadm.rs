//! kubeadm: flags are in files of each node, and a ConfigMap decides what the next upgrade writes.

use super::{Change, Component, Step, extra_args};

const NODE: &str = "On each node, one after the other";
const CONTROL_PLANE: &str = "On each control-plane node, one after the other";
const ANYWHERE: &str = "Where kubectl reaches the cluster";

pub(super) fn steps(component: Component, change: &Change, minor: u32) -> Vec<Step> {
    match component {
        Component::Kubelet => kubelet(change, minor),
        Component::ControllerManager => {
            control_plane("controllerManager", "controller-manager", component, change, minor)
        }
        Component::ApiServer => control_plane("apiServer", "apiserver", component, change, minor),
    }
}

fn kubelet(change: &Change, minor: u32) -> Vec<Step> {
    let (edit, registration) = match change {
        Change::Set(value) => (
            format!("KUBELET_KUBEADM_ARGS=\"<what is there> --cloud-provider={value}\""),
            format!("nodeRegistration:\n  kubeletExtraArgs:\n{}", extra_args(value, minor, "  ")),
        ),
        Change::Remove => (
            "Remove --cloud-provider and --cloud-config from KUBELET_KUBEADM_ARGS.".to_owned(),
            "Remove cloud-provider and cloud-config from nodeRegistration.kubeletExtraArgs.".to_owned(),
        ),
    };
    vec![
        Step::edit(
            "In your kubeadm configuration files",
            "InitConfiguration and JoinConfiguration, both",
            registration,
            "nodes that join later do not inherit the flag from those that are there",
        ),
        Step::edit(
            NODE,
            "/var/lib/kubelet/kubeadm-flags.env",
            edit,
            "the flag is in no configuration file of the kubelet; kubeadm upgrade keeps this file. KUBELET_EXTRA_ARGS in /etc/default/kubelet or /etc/sysconfig/kubelet comes after it and wins: look there too",
        ),
        Step::run(NODE, "systemctl restart kubelet", "flags are read at start"),
        Step::run(
            ANYWHERE,
            "kubectl wait --for=condition=Ready node/<name> --timeout=5m",
            "the next node is begun when this one is ready",
        ),
    ]
}

fn control_plane(section: &str, phase: &str, component: Component, change: &Change, minor: u32) -> Vec<Step> {
    let edit = match change {
        Change::Set(value) => format!("{section}:\n  extraArgs:\n{}", extra_args(value, minor, "  ")),
        Change::Remove => format!("Remove cloud-provider and cloud-config from {section}.extraArgs."),
    };
    vec![
        Step::edit(
            ANYWHERE,
            "the ClusterConfiguration in ConfigMap kube-system/kubeadm-config",
            edit,
            "kubeadm upgrade writes the manifests anew from it; by itself the change does nothing",
        ),
        Step::run(
            CONTROL_PLANE,
            format!(
                "kubectl --kubeconfig /etc/kubernetes/admin.conf -n kube-system get configmap kubeadm-config -o jsonpath='{{.data.ClusterConfiguration}}' > /root/kubeadm.yaml\nkubeadm init phase control-plane {phase} --config /root/kubeadm.yaml"
            ),
            "it writes the static pod's manifest; keep copies of the old one outside of /etc/kubernetes/manifests, for the kubelet runs whatever is in there",
        ),
        Step::run(
            ANYWHERE,
            format!(
                "kubectl -n kube-system wait --for=condition=Ready pod/{component}-<node> --timeout=5m\nkubectl -n kube-system get pod {component}-<node> -o jsonpath='{{.status.startTime}} {{.spec.containers[0].command}}'"
            ),
            "the next node is begun when the pod of this one runs with the new flags",
        ),
    ]
}
