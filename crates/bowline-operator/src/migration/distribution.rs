//! How a cluster was made, told by what its nodes and objects show. Where nothing speaks, nobody guesses.

use super::observed::{NodeFacts, Observed};
use crate::flags::Distribution;

/// How a cluster was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// By something that there are steps for.
    By(Distribution),
    /// OpenShift: its own operators set flags.
    OpenShift,
    /// Nothing speaks.
    Unknown,
}

/// How the cluster was made.
#[must_use]
pub fn made(observed: &Observed) -> Made {
    let any = |test: fn(&NodeFacts) -> bool| observed.nodes.iter().any(test);
    if observed.cluster.openshift {
        Made::OpenShift
    } else if any(|node| node.kubelet_version.contains("+k3s")) {
        Made::By(Distribution::K3s)
    } else if any(|node| node.kubelet_version.contains("+rke2")) {
        Made::By(Distribution::Rke2)
    } else if any(|node| node.os_image.starts_with("Talos")) {
        Made::By(Distribution::Talos)
    } else if any(|node| node.cluster_api) {
        Made::By(Distribution::ClusterApi)
    } else if observed.cluster.kubeadm_config {
        Made::By(Distribution::Kubeadm)
    } else {
        Made::Unknown
    }
}

/// Whether a cloud-controller-manager is inside, unless it is switched off.
pub(super) fn has_manager_inside(made: Made) -> bool {
    matches!(made, Made::By(Distribution::K3s | Distribution::Rke2))
}
