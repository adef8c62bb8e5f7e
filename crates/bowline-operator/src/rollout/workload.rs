//! Whether the rollout of a Deployment or a DaemonSet is done, by what its controller says. Counts of unavailable or
//! misscheduled pods do not matter on purpose: a node that reboots or joins is no rollout.

#[cfg(test)]
mod tests;

use bowline_kube::objects::{DaemonSet, Deployment};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// How far a rollout is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rollout {
    /// All pods are of the latest specification.
    Complete,
    /// It goes on, or has not been seen by its controller yet.
    Progressing,
    /// Its controller has given up waiting.
    Stalled {
        /// What the controller says.
        message: String,
    },
}

/// Whether the controller has seen the latest specification.
fn is_observed(metadata: &ObjectMeta, observed: Option<i64>) -> bool {
    observed.unwrap_or(0) >= metadata.generation.unwrap_or(0)
}

/// How far a Deployment is.
#[must_use]
pub fn deployment_rollout(deployment: &Deployment) -> Rollout {
    let Some(status) = &deployment.status else { return Rollout::Progressing };
    if !is_observed(&deployment.metadata, status.observed_generation) {
        return Rollout::Progressing;
    }
    let mut conditions = status.conditions.iter().flatten();
    let Some(progressing) = conditions.find(|condition| condition.type_ == "Progressing") else {
        return Rollout::Progressing;
    };
    match (progressing.status.as_str(), progressing.reason.as_deref()) {
        ("True", Some("NewReplicaSetAvailable")) => Rollout::Complete,
        ("False", Some("ProgressDeadlineExceeded")) => {
            Rollout::Stalled { message: progressing.message.clone().unwrap_or_default() }
        }
        _ => Rollout::Progressing,
    }
}

/// How far a DaemonSet is. Where no pod has been scheduled yet, it has not begun.
#[must_use]
pub fn daemon_set_rollout(daemon_set: &DaemonSet) -> Rollout {
    let Some(status) = &daemon_set.status else { return Rollout::Progressing };
    let scheduled = status.current_number_scheduled;
    let is_done = is_observed(&daemon_set.metadata, status.observed_generation)
        && scheduled > 0
        && status.updated_number_scheduled.unwrap_or(0) >= scheduled;
    if is_done { Rollout::Complete } else { Rollout::Progressing }
}
