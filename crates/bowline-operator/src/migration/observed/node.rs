//! What is known of a node, and what that says of its kubelet. `--cloud-provider` of a kubelet can be read nowhere, so it is
//! concluded from what only one kind of kubelet writes; where nothing speaks, the answer is that nobody knows.

use std::time::Duration;

use jiff::Timestamp;

use crate::platform::scheme;

/// The manager of fields that kubelets have.
const KUBELET: &str = "kubelet";

/// Whether a node is ready.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Readiness {
    /// Its kubelet says so.
    Ready,
    /// Its kubelet says that it is not.
    NotReady,
    /// Its kubelet has not been heard of.
    #[default]
    Unknown,
}

/// A node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeFacts {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// When it was registered.
    pub created_at: Option<Timestamp>,
    /// `spec.providerID`, if it is not empty.
    pub provider_id: Option<String>,
    /// Whether it has `node.cloudprovider.kubernetes.io/uninitialized`.
    pub uninitialized: bool,
    /// When the operator added that taint last, by [`NodeFacts::TAINTED_BY`]. It stays when the taint goes: a node that was
    /// given up is known by it.
    pub tainted_at: Option<Timestamp>,
    /// `alpha.kubernetes.io/provided-node-ip`.
    pub provided_node_ip: Option<String>,
    /// Who wrote `spec.providerID`, by `managedFields`.
    pub provider_id_writer: Option<String>,
    /// Who wrote `status.addresses` last, by `managedFields`.
    pub addresses_writer: Option<String>,
    /// `type=address`, sorted.
    pub addresses: Vec<String>,
    /// For how long this process has seen those addresses unchanged.
    pub addresses_unchanged_for: Duration,
    /// Whether it is ready.
    pub readiness: Readiness,
    /// Whether it has a label of the control plane.
    pub control_plane: bool,
    /// `status.nodeInfo.kubeletVersion`.
    pub kubelet_version: String,
    /// `status.nodeInfo.osImage`.
    pub os_image: String,
    /// `node.kubernetes.io/instance-type`.
    pub instance_type: Option<String>,
    /// Whether it has an annotation of Cluster API (`cluster.x-k8s.io/machine`).
    pub cluster_api: bool,
    /// What k3s or RKE2 was started with on it, by `k3s.io/node-args` or `rke2.io/node-args`.
    pub node_args: Option<Vec<String>>,
    /// What a person says of its kubelet, by [`NodeFacts::DECLARED`].
    pub declared: Option<String>,
}

/// What a kubelet is, as far as it can be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KubeletEvidence {
    /// It leaves addresses to a cloud-controller-manager.
    External,
    /// It writes addresses itself.
    Own,
    /// Nothing speaks for either.
    Unclear,
}

impl NodeFacts {
    /// The taint of a node that waits for a cloud-controller-manager.
    pub const TAINT: &'static str = "node.cloudprovider.kubernetes.io/uninitialized";
    /// The annotation that says that, and when, the operator has added the taint.
    pub const TAINTED_BY: &'static str = "bowline.dev/tainted-at";
    /// The annotation by which a person says what `--cloud-provider` of a kubelet is.
    pub const DECLARED: &'static str = "bowline.dev/kubelet-cloud-provider";

    /// The scheme of its provider ID.
    #[must_use]
    pub fn scheme(&self) -> Option<&str> {
        self.provider_id.as_deref().and_then(scheme)
    }

    /// What its kubelet is. `in_tree` says that kubelets of this version may have a provider inside: those, too, say which
    /// address they were given, so that this alone proves nothing.
    #[must_use]
    pub fn kubelet(&self, in_tree: bool) -> KubeletEvidence {
        match self.declared.as_deref() {
            Some("external") => return KubeletEvidence::External,
            Some(_) => return KubeletEvidence::Own,
            None => {}
        }
        let has_ip = self.addresses.iter().any(|address| !address.starts_with("Hostname="));
        let by_kubelet = self.addresses_writer.as_deref().map(|writer| writer == KUBELET);
        if self.uninitialized && self.tainted_at.is_none() || by_kubelet == Some(false) {
            return KubeletEvidence::External;
        }
        match (self.provided_node_ip.is_some(), has_ip, by_kubelet) {
            (true, ..) if !in_tree => KubeletEvidence::External,
            (false, false, _) if !self.addresses.is_empty() => KubeletEvidence::External,
            (false, true, Some(true)) => KubeletEvidence::Own,
            _ => KubeletEvidence::Unclear,
        }
    }
}
