//! Where pods of a manager may run: on control-plane nodes, before anything else in the cluster works.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodAffinityTerm,
    PodAntiAffinity, Toleration,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

const HOSTNAME: &str = "kubernetes.io/hostname";
const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";
const MASTER: &str = "node-role.kubernetes.io/master";
const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";
const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// For how long a pod stays on a node that has gone silent. Its Lease has a new holder long before.
const SECONDS_ON_A_LOST_NODE: i64 = 120;

/// A taint that does not keep a pod away.
pub(super) fn tolerates(key: &str, effect: &str) -> Toleration {
    Toleration {
        key: Some(key.to_owned()),
        operator: Some("Exists".to_owned()),
        effect: Some(effect.to_owned()),
        ..Toleration::default()
    }
}

fn tolerates_for_a_while(key: &str) -> Toleration {
    Toleration { toleration_seconds: Some(SECONDS_ON_A_LOST_NODE), ..tolerates(key, "NoExecute") }
}

/// The nodes that have no network yet, for the manager is what the network waits for.
pub(super) fn before_the_network() -> Vec<Toleration> {
    vec![tolerates(UNINITIALIZED, "NoSchedule"), tolerates(NOT_READY, "NoSchedule")]
}

/// The nodes that went silent, for a while.
pub(super) fn on_lost_nodes() -> Vec<Toleration> {
    vec![tolerates_for_a_while(UNREACHABLE), tolerates_for_a_while(NOT_READY)]
}

/// The master's taint under its old name only, as OpenShift has it.
pub(super) fn on_masters() -> Toleration {
    tolerates(MASTER, "NoSchedule")
}

/// Pods that nodes keep for themselves.
pub(super) fn critical() -> Toleration {
    Toleration {
        key: Some("CriticalAddonsOnly".to_owned()),
        operator: Some("Exists".to_owned()),
        ..Toleration::default()
    }
}

/// All taints that a manager must not mind.
pub(crate) fn manager_tolerations() -> Vec<Toleration> {
    let mut all = before_the_network();
    all.extend([tolerates(CONTROL_PLANE, "NoSchedule"), on_masters()]);
    all.extend(on_lost_nodes());
    all.push(critical());
    all
}

/// All taints that an agent of each node must not mind.
pub(super) fn agent_tolerations() -> Vec<Toleration> {
    let every = |effect: &str| Toleration {
        operator: Some("Exists".to_owned()),
        effect: Some(effect.to_owned()),
        ..Toleration::default()
    };
    vec![every("NoSchedule"), every("NoExecute")]
}

/// Nodes of the control plane, under the label of today or the one before it.
pub(super) fn on_control_plane() -> NodeAffinity {
    let term = |key: &str| NodeSelectorTerm {
        match_expressions: Some(vec![NodeSelectorRequirement {
            key: key.to_owned(),
            operator: "Exists".to_owned(),
            values: None,
        }]),
        match_fields: None,
    };
    NodeAffinity {
        required_during_scheduling_ignored_during_execution: Some(NodeSelector {
            node_selector_terms: vec![term(CONTROL_PLANE), term(MASTER)],
        }),
        ..NodeAffinity::default()
    }
}

/// Never two on one node: the second could not listen, and both would be lost together.
pub(super) fn one_per_node(labels: &BTreeMap<String, String>) -> PodAntiAffinity {
    let selector = LabelSelector { match_labels: Some(labels.clone()), match_expressions: None };
    PodAntiAffinity {
        required_during_scheduling_ignored_during_execution: Some(vec![PodAffinityTerm {
            label_selector: Some(selector),
            topology_key: HOSTNAME.to_owned(),
            ..PodAffinityTerm::default()
        }]),
        ..PodAntiAffinity::default()
    }
}

/// Nodes of the control plane, and never two on one.
pub(crate) fn spread(labels: &BTreeMap<String, String>) -> Affinity {
    Affinity {
        node_affinity: Some(on_control_plane()),
        pod_anti_affinity: Some(one_per_node(labels)),
        ..Affinity::default()
    }
}
