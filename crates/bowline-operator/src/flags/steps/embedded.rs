//! k3s and RKE2: one configuration file on each node, and a cloud-controller-manager inside that has to be switched off.

use super::{Change, Component, Step};

/// What differs between the two.
pub(super) struct Product {
    file: &'static str,
    server: &'static str,
    agent: &'static str,
    scheme: &'static str,
    /// What has to go together with the manager inside.
    disable: &'static str,
}

pub(super) const K3S: Product = Product {
    file: "/etc/rancher/k3s/config.yaml",
    server: "k3s",
    agent: "k3s-agent",
    scheme: "k3s://",
    disable: "disable-cloud-controller: true\ndisable:\n- servicelb",
};

pub(super) const RKE2: Product = Product {
    file: "/etc/rancher/rke2/config.yaml",
    server: "rke2-server",
    agent: "rke2-agent",
    scheme: "rke2://",
    disable: "disable-cloud-controller: true",
};

const SERVERS: &str = "On each server, one after the other";
const AGENTS: &str = "On each agent, one after the other, when all servers are done";
const ANYWHERE: &str = "Where kubectl reaches the cluster";

pub(super) fn steps(product: &Product, component: Component, change: &Change) -> Vec<Step> {
    match component {
        Component::Kubelet => kubelet(product, change),
        Component::ControllerManager => manager(product, change),
        Component::ApiServer => api_server(product, change),
    }
}

fn restart(product: &Product) -> Step {
    Step::run(SERVERS, format!("systemctl restart {}", product.server), "flags are read at start")
}

fn kubelet(product: &Product, change: &Change) -> Vec<Step> {
    let edit = match change {
        Change::Set(value) => format!("kubelet-arg:\n- cloud-provider={value}"),
        Change::Remove => "Remove cloud-provider and cloud-config from kubelet-arg.".to_owned(),
    };
    let why = "with the manager inside switched off, the kubelet is told of no cloud unless it is told here. Do not use cloud-provider-name: nodes of 1.36 stayed uninitialised with it";
    let mut steps = vec![
        Step::edit("On each server and agent", product.file, edit, why),
        restart(product),
        Step::run(AGENTS, format!("systemctl restart {}", product.agent), "flags are read at start"),
    ];
    if matches!(change, Change::Set(_)) {
        steps.push(Step::run(
            ANYWHERE,
            format!(
                "kubectl get nodes -o custom-columns=NAME:.metadata.name,ID:.spec.providerID | grep {}\nkubectl drain <name> --ignore-daemonsets --delete-emptydir-data\nkubectl delete node <name>",
                product.scheme
            ),
            "a provider ID can never be changed: nodes that the manager inside has named must be deleted, and register anew when their service is restarted. One after the other, and only when the new cloud-controller-manager runs",
        ));
    }
    steps
}

fn manager(product: &Product, change: &Change) -> Vec<Step> {
    let (edit, why) = match change {
        Change::Set(value) if value == "external" => (
            product.disable.to_owned(),
            "kube-controller-manager runs as external already; what writes beside ours is the cloud-controller-manager inside. On all servers: one that is left keeps writing",
        ),
        Change::Set(value) => (
            format!("kube-controller-manager-arg:\n- cloud-provider={value}"),
            "kube-controller-manager runs as external unless it is told otherwise",
        ),
        Change::Remove => (
            format!("Remove:\n{}", product.disable),
            "the cloud-controller-manager inside runs again; ours must have been stopped before",
        ),
    };
    vec![Step::edit(SERVERS, product.file, edit, why), restart(product)]
}

fn api_server(product: &Product, change: &Change) -> Vec<Step> {
    let edit = match change {
        Change::Set(value) => format!("kube-apiserver-arg:\n- cloud-provider={value}"),
        Change::Remove => "Remove cloud-provider and cloud-config from kube-apiserver-arg.".to_owned(),
    };
    let why = "kube-apiserver of 1.33 and later does not start with the flag";
    vec![Step::edit(SERVERS, product.file, edit, why), restart(product)]
}
