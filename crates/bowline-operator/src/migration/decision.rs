//! What is decided: the phase, the mode of our manager, and steps that leave no choice to who executes them.

use std::time::Duration;

use jiff::Timestamp;

use super::invariants::Violation;
use super::mode::ManagerMode;
use super::observed::{Observed, WorkloadRef};
use super::timings::Timings;
use crate::api::{CloudControllerManagerSpec, CloudControllerManagerStatus, MigrationStatus};
use crate::rollout::Condition;

/// All that a decision is made of.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The name of the object.
    pub name: &'a str,
    /// What is asked for.
    pub spec: &'a CloudControllerManagerSpec,
    /// What was answered last. Everything in it may be lost or old.
    pub status: &'a CloudControllerManagerStatus,
    /// The cluster.
    pub observed: &'a Observed,
    /// Now.
    pub now: Timestamp,
    /// How long is waited for what.
    pub timings: &'a Timings,
}

/// What shall be.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The status of the migration to write when the steps were executed, whatever became of them.
    pub status: MigrationStatus,
    /// What our manager may do from now on: objects are rendered for it, and applied *after* all steps succeeded. If a step
    /// fails, nothing is applied in this pass.
    pub mode: ManagerMode,
    /// Our objects stay as they are: nothing is applied or pruned. The mode is what runs.
    pub hold: bool,
    /// What to do, in this order; the first that fails ends the pass.
    pub steps: Vec<Step>,
    /// What to tell as events of the object.
    pub notes: Vec<Note>,
    /// `ActionRequired`, `Upgradeable`, `Migrated`, and one for each check of the preflight. The times of their last
    /// transition are set to now; who writes them keeps the old one where the status is the same.
    pub conditions: Vec<Condition>,
    /// The one thing that a person should know now: what is waited for, and what to do.
    pub message: String,
    /// When to look again at the latest.
    pub look_again: Duration,
    /// Whether the version may be published: the rollout of the wanted version is done (I9).
    pub publish_version: bool,
    /// Versioned configurations that must not be pruned: pods mount them, or they are the way back (I8, I11).
    pub keep_configs: Vec<String>,
    /// Rules that the first draft of this decision would have broken. What broke them is not in it any more.
    pub violations: Vec<Violation>,
}

/// One thing to do. Each is idempotent, and is refused by the API server if the object is not the one that was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Stop a manager: a Deployment gets no replicas, a DaemonSet the node selector
    /// [`STOPPED`](super::ManagerWorkload::STOPPED). In the same request, the number is kept in the annotation
    /// [`PREVIOUS_REPLICAS`](super::ManagerWorkload::PREVIOUS_REPLICAS).
    ScaleDown {
        /// Which, with its UID.
        workload: WorkloadRef,
        /// How many replicas it had.
        replicas: i32,
    },
    /// Let a manager run again, and remove what `ScaleDown` has left.
    ScaleUp {
        /// Which, with its UID.
        workload: WorkloadRef,
        /// How many replicas it gets (Deployments only).
        replicas: i32,
    },
    /// Delete what the previous manager ran as. Only after it was stopped for as long as it is to be kept.
    DeletePrevious {
        /// Which, with its UID.
        workload: WorkloadRef,
    },
    /// Add the taint `node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule` (only ever NoSchedule), and in the same
    /// request the annotation [`TAINTED_BY`](super::NodeFacts::TAINTED_BY) with the time.
    TaintNode {
        /// The node.
        name: String,
        /// Its UID.
        uid: String,
    },
    /// Remove that taint, if it is there. The annotation stays.
    UntaintNode {
        /// The node.
        name: String,
        /// Its UID.
        uid: String,
    },
}

/// Whether an event is a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteType {
    /// It is not.
    Normal,
    /// It is.
    Warning,
}

/// Something to tell as an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Whether it is a warning.
    pub type_: NoteType,
    /// In one word.
    pub reason: String,
    /// For people.
    pub message: String,
}
