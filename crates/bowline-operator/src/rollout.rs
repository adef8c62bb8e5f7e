//! When a workload that was applied is done, how long failures are borne, and what the conditions say meanwhile. Pure: the
//! time is handed in.

mod conditions;
mod failures;
mod workload;

pub use self::conditions::{
    Cause, Condition, OperandVersion, OperatorStatus, REASON_AS_EXPECTED, REASON_SYNC_FAILED, REASON_SYNCING,
    print_versions,
};
pub use self::failures::{Failure, FailureWindow, Pass, Verdict};
pub use self::workload::{Rollout, daemon_set_rollout, deployment_rollout};
