//! How a cluster is brought from what it has to the manager that is asked for: evidence × status × now → the phase, the mode of
//! our manager, and the steps.
//!
//! Everything here is a function of its input: no client, no clock, no randomness. The loop (`operate`) gathers [`Observed`],
//! calls [`decide`], and executes what the [`Decision`] says, to the letter.

mod admin;
mod approval;
mod decision;
mod detect;
mod distribution;
mod evidence;
mod fence;
mod invariants;
mod mode;
mod observed;
mod outline;
mod phase;
mod plan;
mod preflight;
mod reason;
mod snapshot;
mod timings;
mod uninstall;
mod writers;

#[cfg(test)]
mod tests;

pub use self::decision::{Case, Decision, Note, NoteType, Step};
pub use self::detect::{Detected, Unclear, detect};
pub use self::distribution::{Made, made};
pub use self::evidence::{Answer, PreflightFacts, ShadowFacts, ShadowFinding, WouldDo};
pub use self::invariants::{Violation, check};
pub use self::mode::ManagerMode;
pub use self::observed::{
    ClusterFacts, KubeletEvidence, LeaseFacts, ManagerWorkload, MirrorPod, NodeFacts, Observed, OurWorkload,
    PodFacts, Readiness, ServiceFacts, StaticPodFacts, Unread, WorkloadKind, WorkloadRef,
};
pub use self::plan::decide;
pub use self::preflight::Check;
pub use self::reason::Reason;
pub use self::timings::Timings;
pub use self::uninstall::{Uninstall, uninstall};
