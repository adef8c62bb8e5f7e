//! What is known of cloud-controller-managers: those of others, and ours.

use std::fmt;

use jiff::Timestamp;

use super::super::mode::ManagerMode;
use crate::rollout::Rollout;

/// What a manager runs as.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkloadKind {
    /// A Deployment.
    #[default]
    Deployment,
    /// A DaemonSet.
    DaemonSet,
    /// A static pod, or a pod without an owner that could be stopped.
    Pod,
}

impl fmt::Display for WorkloadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Which workload.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkloadRef {
    /// Its kind.
    pub kind: WorkloadKind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID: a namesake that was made since is another one.
    pub uid: String,
}

impl WorkloadRef {
    /// `Kind/namespace/name`, as in the snapshot.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}/{}/{}", self.kind, self.namespace, self.name)
    }
}

/// A cloud-controller-manager of somebody else.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ManagerWorkload {
    /// Which.
    pub workload: WorkloadRef,
    /// What it is, for people: `openstack-cloud-controller-manager v1.31.0`.
    pub product: String,
    /// How many pods it shall have. A DaemonSet that the operator has stopped shall have none.
    pub desired: i32,
    /// How many it had before the operator stopped it, by [`ManagerWorkload::PREVIOUS_REPLICAS`].
    pub previous_replicas: Option<i32>,
    /// Its pods, those that are ending, too.
    pub pods: Vec<PodFacts>,
    /// Command and arguments of its container.
    pub arguments: Vec<String>,
}

impl ManagerWorkload {
    /// The annotation in which the operator keeps how many replicas there were. It is written in the same request that stops it.
    pub const PREVIOUS_REPLICAS: &'static str = "bowline.dev/previous-replicas";
    /// The node selector that stops a DaemonSet: no node has it.
    pub const STOPPED: (&'static str, &'static str) = ("bowline.dev/stopped", "true");

    /// Pods that run, or may run.
    pub fn live(&self) -> impl Iterator<Item = &PodFacts> {
        self.pods.iter().filter(|pod| pod.may_run())
    }
}

/// A pod of a manager.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodFacts {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Its node; none while it is not scheduled.
    pub node: Option<String>,
    /// `status.phase`.
    pub phase: String,
    /// Whether it is ready.
    pub ready: bool,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// When it was started.
    pub started_at: Option<Timestamp>,
    /// What it may do, by [`ManagerMode::ANNOTATION`] (ours only).
    pub mode: Option<ManagerMode>,
    /// The versioned configuration that it mounts (ours only).
    pub config: Option<String>,
}

impl PodFacts {
    /// Whether a process of it may run. A pod that is ending runs until it is gone.
    #[must_use]
    pub fn may_run(&self) -> bool {
        self.node.is_some() && !matches!(self.phase.as_str(), "Succeeded" | "Failed")
    }
}

/// Our manager. It is there as long as the workload or any pod of it is; with pods alone, its mode is
/// [`ManagerMode::Absent`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OurWorkload {
    /// Which.
    pub workload: WorkloadRef,
    /// The mode of its template. `None`: somebody has removed the annotation.
    pub mode: Option<ManagerMode>,
    /// How many pods it shall have.
    pub desired: i32,
    /// How far its rollout is.
    pub rollout: Rollout,
    /// Its pods, those that are ending, too.
    pub pods: Vec<PodFacts>,
    /// The version of its template.
    pub version: String,
    /// What was migrated from, by [`OurWorkload::KIND`]: so that it is known when the status is lost.
    pub kind: Option<crate::api::MigrationKind>,
}

impl OurWorkload {
    /// The annotation of our workload that says what was migrated from.
    pub const KIND: &'static str = "bowline.dev/migrated-from";

    /// Pods that run, or may run.
    pub fn live(&self) -> impl Iterator<Item = &PodFacts> {
        self.pods.iter().filter(|pod| pod.may_run())
    }

    /// Whether all its pods are of this mode and at least one is ready, so that none of another mode can hold the Lease.
    #[must_use]
    pub fn runs_only(&self, mode: ManagerMode) -> bool {
        self.mode == Some(mode)
            && self.live().all(|pod| pod.mode == Some(mode))
            && self.live().any(|pod| pod.ready && !pod.deleting)
            && self.rollout == Rollout::Complete
    }

    /// The most that any of its pods may do.
    #[must_use]
    pub fn strongest(&self) -> ManagerMode {
        let unmarked = |mode: Option<ManagerMode>| mode.unwrap_or(ManagerMode::Full);
        self.live().map(|pod| unmarked(pod.mode)).max().unwrap_or(ManagerMode::Absent)
    }

    /// Whether the name in front of a Lease's holder is that of one of its pods, or of the node of one: on the host's network,
    /// a pod has its node's name, so that alone this does not prove whose it is.
    #[must_use]
    pub fn may_be(&self, holder: Option<&str>) -> bool {
        let Some(holder) = holder.filter(|holder| !holder.is_empty()) else { return false };
        let name = holder.rsplit_once('_').map_or(holder, |(name, _)| name);
        self.live().any(|pod| pod.name == name || pod.node.as_deref() == Some(name))
    }
}

/// A static pod of ours. Somebody put its manifest on a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StaticPodFacts {
    /// The pod. Its configuration has the name that a versioned one with the same content would have.
    pub pod: PodFacts,
    /// The version that it was rendered for.
    pub version: String,
}
