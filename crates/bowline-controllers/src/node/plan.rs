//! Plans the initialization of a Node: which fields to write, from the Node and the answer of the cloud. Pure.
//!
//! Never plans a deletion: a Node without a machine stays unchanged, and the lifecycle controller handles it.

use std::collections::BTreeMap;

use bowline_cloud::{AddressKind, Doubt, Evidence, Instance, NodeAddress, NodeView};
use serde_json::{Value, json};

use super::addresses::{AddressError, PROVIDED_NODE_IP, plan_addresses};

/// The key of the taint with which kubelet registers. No pod is scheduled until the taint is removed.
pub const UNINITIALIZED_TAINT: &str = "node.cloudprovider.kubernetes.io/uninitialized";

const TYPE: [&str; 2] = ["beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"];
const ZONE: [&str; 2] = ["failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"];
const REGION: [&str; 2] = ["failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"];

/// All writes that initialize a Node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Initialization {
    /// The provider ID, if the Node has none.
    pub provider_id: Option<String>,
    /// Labels to set: only those that differ.
    pub labels: BTreeMap<String, String>,
    /// The addresses to write first; `None` if the Node has them already.
    pub addresses: Option<Vec<NodeAddress>>,
    /// The indices in the taint list of the taints to remove.
    pub taints: Vec<usize>,
    /// What was skipped, for the log.
    pub remarks: Vec<String>,
}

/// Why a Node cannot be initialized now. It keeps its taint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotYet {
    /// The cloud could not answer for the machine.
    #[error("the cloud cannot tell about this machine: {0}")]
    Unknown(Doubt),
    /// The cloud has no such machine, or not yet.
    #[error(
        "the cloud has no machine for this node: {0}; check the node's name and provider ID, and the project"
    )]
    NoMachine(String),
    /// Neither the Node nor the cloud has a provider ID.
    #[error("the cloud gives no provider ID for this machine, and the node has none either")]
    NoProviderId,
    /// The cloud reports no address, and the Node's own addresses do not suffice.
    #[error("the cloud does not know an address of this machine yet, and kubelet's alone will not do")]
    NoAddresses,
    /// The annotation with the Node's IP does not match.
    #[error(transparent)]
    Address(#[from] AddressError),
}

impl NotYet {
    /// The value of the label `reason` in metrics.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Unknown(_) => "unknown",
            Self::NoMachine(_) => "no_machine",
            Self::NoProviderId => "no_provider_id",
            Self::NoAddresses => "no_addresses",
            Self::Address(_) => "provided_node_ip",
        }
    }
}

/// Whether a Node waits to be initialized.
#[must_use]
pub fn is_uninitialized(node: &NodeView) -> bool {
    node.taints.iter().any(|taint| taint.key == UNINITIALIZED_TAINT)
}

/// Plans the initialization of a tainted Node.
///
/// # Errors
///
/// [`NotYet`] if too little is known to make the Node schedulable.
pub fn plan_initialization(node: &NodeView, found: &Evidence<Instance>) -> Result<Initialization, NotYet> {
    let instance = match found {
        Evidence::Present(instance) => instance,
        Evidence::Absent(proof) => return Err(NotYet::NoMachine(proof.to_string())),
        Evidence::Unknown(doubt) => return Err(NotYet::Unknown(doubt.clone())),
    };
    let provider_id = missing_provider_id(node, instance)?;
    let addresses = plan_addresses(node, &instance.addresses)?;
    if instance.addresses.is_empty() && !can_do_without(node) {
        return Err(NotYet::NoAddresses);
    }
    let (labels, mut remarks) = plan_labels(node, instance, Differing::Kept);
    if let (Some(kept), found) = (&node.provider_id, &instance.provider_id)
        && !found.is_empty()
        && kept != found
    {
        remarks.push(format!("the node's provider ID {kept} stays, although the cloud says {found}"));
    }
    let is_ours =
        |(at, taint): (usize, &bowline_cloud::Taint)| (taint.key == UNINITIALIZED_TAINT).then_some(at);
    let taints = node.taints.iter().enumerate().filter_map(is_ours).collect();
    Ok(Initialization { provider_id, labels, addresses, taints, remarks })
}

fn missing_provider_id(node: &NodeView, instance: &Instance) -> Result<Option<String>, NotYet> {
    match (&node.provider_id, instance.provider_id.as_str()) {
        (Some(_set), _) => Ok(None),
        (None, "") => Err(NotYet::NoProviderId),
        (None, id) => Ok(Some(id.to_owned())),
    }
}

/// Whether the addresses from kubelet suffice: the Node has an IP, and no annotation that the cloud has to confirm.
fn can_do_without(node: &NodeView) -> bool {
    let is_ip =
        |address: &NodeAddress| matches!(address.kind, AddressKind::InternalIP | AddressKind::ExternalIP);
    node.addresses.iter().any(is_ip) && !node.annotations.contains_key(PROVIDED_NODE_IP)
}

/// What to do with an additional label of the cloud for which the Node has another value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Differing {
    /// The Node keeps its value: a user may have set it.
    Kept,
    /// The Node gets the cloud's value: an administrator enabled `--reconcile-node-labels`.
    Replaced,
}

/// The labels from the machine that differ on the Node, and remarks about skipped ones. Type, zone and region are overwritten. Additional
/// labels in the domains of Kubernetes are skipped; those that the Node has with another value are kept or replaced.
#[must_use]
pub fn plan_labels(
    node: &NodeView,
    instance: &Instance,
    differing: Differing,
) -> (BTreeMap<String, String>, Vec<String>) {
    let (mut labels, mut remarks) = (BTreeMap::new(), Vec::new());
    for (keys, value) in [(TYPE, &instance.instance_type), (ZONE, &instance.zone), (REGION, &instance.region)]
    {
        let Some(value) = value.as_ref().filter(|value| !value.is_empty()) else { continue };
        for key in keys.into_iter().filter(|key| node.labels.get(key) != Some(value)) {
            labels.insert(key.to_owned(), value.clone());
        }
    }
    for (key, value) in &instance.additional_labels {
        match node.labels.get(key) {
            _any if is_reserved(key) => {
                remarks.push(format!("label {key} of the cloud is skipped: its domain is Kubernetes' own"));
            }
            Some(kept) if kept == value => {}
            Some(kept) if differing == Differing::Kept => {
                remarks.push(format!("label {key} of the cloud ({value}) is skipped: the node has {kept}"));
            }
            Some(_) | None => {
                labels.insert(key.clone(), value.clone());
            }
        }
    }
    (labels, remarks)
}

/// Whether the domain of a label is `kubernetes.io` or `k8s.io`, or a subdomain of one.
fn is_reserved(key: &str) -> bool {
    let Some((domain, _name)) = key.split_once('/') else { return false };
    ["kubernetes.io", "k8s.io"].iter().any(|reserved| {
        domain.strip_suffix(reserved).is_some_and(|before| before.is_empty() || before.ends_with('.'))
    })
}

/// The stable labels that differ from their beta labels. The beta labels are the source, as in upstream.
#[must_use]
pub fn plan_stable_labels(node: &NodeView) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    for [beta, stable] in [ZONE, REGION, TYPE] {
        if let Some(value) = node.labels.get(beta)
            && node.labels.get(stable) != Some(value)
        {
            labels.insert(stable.to_owned(), value.to_owned());
        }
    }
    labels
}

impl Initialization {
    /// The JSON patch operations on the Node: provider ID, labels, and finally the taints. Taints are removed by index and not replaced as
    /// a list, since [`NodeView`] does not have all fields of a taint (`timeAdded`).
    #[must_use]
    pub fn operations(&self, node: &NodeView) -> Vec<Value> {
        let mut operations = Vec::new();
        if let Some(id) = &self.provider_id {
            operations.push(json!({"op": "add", "path": "/spec/providerID", "value": id}));
        }
        if node.labels.is_empty() && !self.labels.is_empty() {
            // The Node has no label map yet to which single labels could be added.
            operations.push(json!({"op": "add", "path": "/metadata/labels", "value": self.labels}));
        } else {
            operations.extend(self.labels.iter().map(|(key, value)| {
                let key = key.replace('~', "~0").replace('/', "~1");
                json!({"op": "add", "path": format!("/metadata/labels/{key}"), "value": value})
            }));
        }
        // From the end, so that the indices of earlier taints stay valid.
        for at in self.taints.iter().rev() {
            let key = format!("/spec/taints/{at}/key");
            operations.push(json!({"op": "test", "path": key, "value": UNINITIALIZED_TAINT}));
            operations.push(json!({"op": "remove", "path": format!("/spec/taints/{at}")}));
        }
        operations
    }
}

#[cfg(test)]
mod tests;
