//! How a cluster is brought from what it has to the manager that is asked for: evidence × status × now → the phase, the mode of
//! our manager, and the steps.
//!
//! Everything here is a function of its input: no client, no clock, no randomness. The loop (`operate`) gathers [`Observed`],
//! calls [`decide`], and executes what the [`Decision`] says, to the letter.

mod decision;
mod evidence;
mod invariants;
mod mode;
mod observed;
mod reason;
mod timings;

pub use self::decision::{Case, Decision, Note, NoteType, Step};
pub use self::evidence::{Answer, PreflightFacts, ShadowFacts, ShadowFinding, WouldDo};
pub use self::invariants::Violation;
pub use self::mode::ManagerMode;
pub use self::observed::{
    ClusterFacts, KubeletEvidence, LeaseFacts, ManagerWorkload, MirrorPod, NodeFacts, Observed, OurWorkload,
    PodFacts, Readiness, ServiceFacts, Unread, WorkloadKind, WorkloadRef,
};
pub use self::reason::Reason;
pub use self::timings::Timings;
