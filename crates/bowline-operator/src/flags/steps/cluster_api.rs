//! Cluster API: machines are never changed, only replaced; so templates are.

use super::{Change, Component, Step, extra_args};

const PLACE: &str = "Where kubectl reaches the management cluster";

pub(super) fn steps(component: Component, change: &Change, minor: u32) -> Vec<Step> {
    match component {
        Component::Kubelet => kubelet(change, minor),
        Component::ControllerManager => control_plane("controllerManager", change, minor),
        Component::ApiServer => control_plane("apiServer", change, minor),
    }
}

const FORM: &str = "extraArgs are a map in v1beta1 of Cluster API and a list of name and value in v1beta2; write the form of your objects";

fn kubelet(change: &Change, minor: u32) -> Vec<Step> {
    let edit = |above: &str| match change {
        Change::Set(value) => {
            format!(
                "{above}:\n  nodeRegistration:\n    kubeletExtraArgs:\n{}",
                extra_args(value, minor, "      ")
            )
        }
        Change::Remove => {
            format!("Remove cloud-provider and cloud-config from {above}.nodeRegistration.kubeletExtraArgs.")
        }
    };
    vec![
        Step::edit(
            PLACE,
            "a new KubeadmConfigTemplate for each MachineDeployment, at spec.template.spec",
            edit("joinConfiguration"),
            FORM,
        ),
        Step::run(
            PLACE,
            "kubectl patch machinedeployment <name> --type merge -p '{\"spec\":{\"template\":{\"spec\":{\"bootstrap\":{\"configRef\":{\"name\":\"<new template>\"}}}}}}'",
            "a MachineDeployment replaces its machines when it is given another template, not when a template is edited",
        ),
        Step::edit(
            PLACE,
            "the KubeadmControlPlane, at spec.kubeadmConfigSpec, for both configurations",
            format!("{}\n{}", edit("initConfiguration"), edit("joinConfiguration")),
            "its machines are replaced one after the other; an edit in place begins that",
        ),
        Step::run(
            PLACE,
            "kubectl get machines --watch",
            "a Machine waits for the provider ID of its node, so a cloud-controller-manager has to run before the first is replaced",
        ),
    ]
}

fn control_plane(section: &str, change: &Change, minor: u32) -> Vec<Step> {
    let edit = match change {
        Change::Set(value) => {
            format!(
                "clusterConfiguration:\n  {section}:\n    extraArgs:\n{}",
                extra_args(value, minor, "      ")
            )
        }
        Change::Remove => {
            format!("Remove cloud-provider and cloud-config from clusterConfiguration.{section}.extraArgs.")
        }
    };
    vec![
        Step::edit(PLACE, "the KubeadmControlPlane, at spec.kubeadmConfigSpec", edit, FORM),
        Step::run(
            PLACE,
            "kubectl wait --for=condition=Ready kubeadmcontrolplane/<name> --timeout=1h",
            "its machines are replaced one after the other; until the last is gone, the old flags are in use",
        ),
    ]
}
