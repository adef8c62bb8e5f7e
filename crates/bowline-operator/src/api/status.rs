//! What the operator answers.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rollout::Condition;

/// What the operator has found and done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloudControllerManagerStatus {
    /// The generation that this is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Available`, `Progressing`, `Degraded`, `Upgradeable`, `ActionRequired`, and one for each check of the preflight.
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// The platform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// The version that runs everywhere. It is told when the rollout is done, not before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Pods that are ready, of how many: `2/2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// How far the migration is, and the name of its step: `60% ServiceOnly`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// The one thing that a person should know now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The cluster's name in the cloud since the first installation. It is never another one (I3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_name: Option<String>,
    /// The hash of the configuration that runs, the last one that was good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_hash: Option<String>,
    /// The migration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migration: Option<MigrationStatus>,
}

/// Where the migration is. All but the times and the snapshot can be found out anew from the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MigrationStatus {
    /// The phase.
    pub phase: Phase,
    /// What is migrated from, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MigrationKind>,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// How far it is, in percent.
    #[serde(default)]
    pub percent: u8,
    /// Why it does not go on, in one word, if it is blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<String>,
    /// The phase it came from, while it is blocked or going back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub came_from: Option<Phase>,
    /// What spoke for the kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// What a person has to do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<AdminStep>,
    /// How it was before anything was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Snapshot>,
    /// While the load balancers are taken over: Services that were not yet seen as they ask to be. Each has to be once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsettled: Option<Vec<String>>,
    /// Nodes that the operator has tainted so that they are initialised (I6).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tainted: Vec<String>,
    /// The last phases, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<PhaseChange>,
}

/// The phases, in their order.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Phase {
    /// What is there?
    #[default]
    Detect,
    /// Would it go well?
    Preflight,
    /// A person has to do something.
    AwaitAdmin,
    /// The previous writer stops.
    Relinquish,
    /// Ours holds the Lease and does nothing.
    Fence,
    /// Ours takes over the load balancers.
    ServiceOnly,
    /// The nodes become external.
    Nodes,
    /// All controllers run.
    Full,
    /// Is all as it was?
    Verify,
    /// Done.
    Steady,
    /// On the way back.
    RollingBack,
    /// As it was before.
    Previous,
    /// A person has to decide.
    Blocked,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// What is migrated from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum MigrationKind {
    /// K1: a cluster that waits for its first manager.
    Fresh,
    /// K2: a cluster that had no cloud provider.
    None,
    /// K3: the provider inside kube-controller-manager.
    InTree,
    /// K4: another cloud-controller-manager.
    OtherManager,
    /// K4b: the one inside k3s or RKE2.
    Embedded,
    /// K5: another version of what runs.
    Upgrade,
}

/// One observation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// Of what: `node/a`, `lease/kube-system/cloud-controller-manager`, …
    pub object: String,
    /// What it shows.
    pub shows: String,
}

/// Something that only a person can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdminStep {
    /// On which machine, or with what.
    pub on: String,
    /// What to do, in one sentence.
    pub what: String,
    /// The exact commands or lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Whether it was seen to be done.
    #[serde(default)]
    pub done: bool,
}

/// What must be the same afterwards.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_at: Option<Timestamp>,
    /// Whether our manager had begun to write by then, because an earlier one was lost: what is in it may be our own doing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    /// The addresses of LoadBalancer Services by `namespace/name`. In a cluster with more than a thousand, the first thousand by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub services: BTreeMap<String, Vec<String>>,
    /// How many LoadBalancer Services there were.
    #[serde(default)]
    pub service_count: usize,
    /// A hash of the names and addresses of all nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_addresses: Option<String>,
    /// The UIDs of those Services: one of the same name that was made since is another one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub service_uids: BTreeMap<String, String>,
    /// The load balancers of those Services, where an annotation names them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub load_balancers: BTreeMap<String, String>,
    /// A hash of the internal addresses of each node. In a cluster with more than a thousand, of the first thousand by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub nodes: BTreeMap<String, String>,
    /// When kube-controller-manager had started, by control-plane node, where it had the provider inside: what relinquished has
    /// started later.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub in_tree: BTreeMap<String, Timestamp>,
    /// How many replicas the previous manager had, by `kind/namespace/name`: what a way back restores.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub previous_replicas: BTreeMap<String, i32>,
}

/// A phase that was entered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PhaseChange {
    /// Which.
    pub phase: Phase,
    /// When.
    pub at: Timestamp,
    /// Why.
    pub because: String,
}
