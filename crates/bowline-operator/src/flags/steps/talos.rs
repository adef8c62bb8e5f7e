//! Talos: one switch in the machine configuration sets the flags of all components.

use super::{Change, Component, Step};

const PLACE: &str = "Where talosctl reaches the nodes";

pub(super) fn steps(component: Component, change: &Change) -> Vec<Step> {
    let patch = match change {
        Change::Set(value) if value == "external" => {
            "cluster:\n  externalCloudProvider:\n    enabled: true".to_owned()
        }
        Change::Set(value) => in_section(component, &format!("extraArgs:\n  cloud-provider: {value}")),
        Change::Remove => "cluster:\n  externalCloudProvider:\n    enabled: false".to_owned(),
    };
    vec![
        Step::edit(
            PLACE,
            "a patch file, cloud-provider.yaml",
            patch,
            "one switch sets the flag of kubelet and kube-controller-manager, and of kube-apiserver where that version has it; leave .manifests empty, for they are fetched at boot and not removed again",
        ),
        Step::run(
            PLACE,
            "talosctl patch machineconfig --nodes <address> --patch @cloud-provider.yaml",
            "control-plane nodes first, then all others, one after the other: the system cannot be changed in another way",
        ),
        Step::run(
            "Where kubectl reaches the cluster",
            "kubectl wait --for=condition=Ready node/<name> --timeout=5m",
            "the next node is begun when this one is ready",
        ),
    ]
}

fn in_section(component: Component, text: &str) -> String {
    let (root, name) = match component {
        Component::Kubelet => ("machine", "kubelet"),
        Component::ControllerManager => ("cluster", "controllerManager"),
        Component::ApiServer => ("cluster", "apiServer"),
    };
    let lines: Vec<String> = text.lines().map(|line| format!("    {line}")).collect();
    format!("{root}:\n  {name}:\n{}", lines.join("\n"))
}
