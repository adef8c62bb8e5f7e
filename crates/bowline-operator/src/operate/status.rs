//! What is said of a resource: conditions with reasons and messages that say what to do. Pure: the time is handed in.

use jiff::Timestamp;

use super::Problem;
use crate::api::{CloudControllerManager, CloudControllerManagerStatus, Form, Phase};
use crate::migration::Decision;
use crate::rollout::{Failure, OperatorStatus, REASON_AS_EXPECTED, Rollout};

/// The manager's workload as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// Pods that are ready.
    pub ready: i32,
    /// Pods that shall be.
    pub desired: i32,
    /// How far its rollout is.
    pub rollout: Rollout,
}

/// What a pass has found.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// The resource with its old status.
    pub resource: &'a CloudControllerManager,
    /// What went wrong.
    pub problem: Option<&'a Problem>,
    /// Whether it has been wrong for long enough to be told.
    pub is_degraded: bool,
    /// The workload, if it is there.
    pub workload: Option<&'a Workload>,
    /// The hash of the configuration that was applied.
    pub config_hash: Option<&'a str>,
    /// The version that the manager shall have.
    pub version: &'a str,
    /// What was decided, if it came so far.
    pub decision: Option<&'a Decision>,
    /// Now.
    pub now: Timestamp,
}

/// Conditions that are always there, in this order.
const OURS: [&str; 5] = ["Available", "Progressing", "Degraded", "Upgradeable", "ActionRequired"];

/// The status to write.
#[must_use]
pub fn status(found: Found<'_>) -> CloudControllerManagerStatus {
    let old = found.resource.status.clone().unwrap_or_default();
    let mut conditions = OperatorStatus { conditions: old.conditions.clone(), versions: Vec::new() };
    for type_ in OURS {
        let [status, reason, message] = found.condition(type_, &conditions);
        conditions.set(type_, &status, &reason, &message, found.now);
    }
    if let Some(decision) = found.decision {
        let is_told = |type_: &str| decision.conditions.iter().any(|condition| condition.type_ == type_);
        conditions
            .conditions
            .retain(|condition| OURS.contains(&condition.type_.as_str()) || is_told(&condition.type_));
        for new in decision.conditions.iter().filter(|new| !OURS.contains(&new.type_.as_str())) {
            conditions.set(&new.type_, &new.status, &new.reason, &new.message, found.now);
        }
    }
    let migration = found.decision.map(|decision| decision.status.clone()).or(old.migration);
    let progress = migration.as_ref().map(|status| format!("{}% {}", status.percent, status.phase));
    let spec = &found.resource.spec;
    CloudControllerManagerStatus {
        observed_generation: found.resource.metadata.generation,
        conditions: conditions.conditions,
        platform: serde_json::to_value(spec.platform).ok().and_then(|name| name.as_str().map(str::to_owned)),
        version: if found.is_converged() { Some(found.version.to_owned()) } else { old.version },
        ready: found.workload.map(|workload| format!("{}/{}", workload.ready, workload.desired)),
        progress,
        message: found.message(),
        cluster_name: old.cluster_name.or_else(|| Some(spec.cluster_name.clone())),
        config_hash: found.config_hash.map(str::to_owned).or(old.config_hash),
        migration,
    }
}

fn texts(status: &str, reason: &str, message: impl Into<String>) -> [String; 3] {
    [status.to_owned(), reason.to_owned(), message.into()]
}

impl Found<'_> {
    /// Whether the version may be told: what was asked for is applied and rolled out (I9).
    fn is_converged(&self) -> bool {
        let is_rolled_out = self.workload.is_some_and(|workload| workload.rollout == Rollout::Complete);
        let may_publish = self.decision.is_some_and(|decision| decision.publish_version);
        self.problem.is_none() && is_rolled_out && may_publish
    }

    fn message(&self) -> Option<String> {
        if let Some(problem) = self.problem {
            return Some(problem.to_string());
        }
        if self.resource.spec.paused {
            return Some("Nothing is changed while spec.paused is true".to_owned());
        }
        self.decision.map(|decision| decision.message.clone()).filter(|message| !message.is_empty())
    }

    fn condition(&self, type_: &str, before: &OperatorStatus) -> [String; 3] {
        match type_ {
            "Available" => self.available(),
            "Progressing" => self.progressing(),
            "Degraded" => self.degraded(before),
            "Upgradeable" => self.upgradeable(),
            _ => self.action_required(),
        }
    }

    fn available(&self) -> [String; 3] {
        let spec = &self.resource.spec;
        let Some(Workload { ready, desired, .. }) = self.workload else {
            let message = match spec.form {
                Form::StaticPod => {
                    "No static pod of the manager is seen yet: see status.migration.steps, or `bowline migrate status`"
                }
                Form::Deployment | Form::DaemonSet => "No manager is installed yet",
            };
            return texts("False", "NotInstalled", message);
        };
        if *ready > 0 {
            return texts("True", REASON_AS_EXPECTED, format!("{ready} of {desired} pods are ready"));
        }
        let message = format!(
            "None of {desired} pods is ready: see `kubectl -n {} describe pods -l app.kubernetes.io/instance={}`",
            spec.namespace,
            self.resource.metadata.name.as_deref().unwrap_or_default(),
        );
        texts("False", "NoPodReady", message)
    }

    fn progressing(&self) -> [String; 3] {
        if let Some(problem) = self.problem {
            return texts("False", problem.reason(), problem.to_string());
        }
        if self.resource.spec.paused {
            return texts("False", "Paused", "spec.paused is true");
        }
        let phase = self.decision.map(|decision| decision.status.phase);
        if let Some(phase) = phase.filter(|phase| is_moving(*phase)) {
            let message = self.message().unwrap_or_default();
            return texts("True", phase_name(phase), message);
        }
        match self.workload.map(|workload| &workload.rollout) {
            Some(Rollout::Progressing) => {
                texts("True", "RollingOut", format!("Rolling out version {}", self.version))
            }
            _ => texts("False", REASON_AS_EXPECTED, ""),
        }
    }

    fn degraded(&self, before: &OperatorStatus) -> [String; 3] {
        match (self.problem, self.workload.map(|workload| &workload.rollout)) {
            (Some(problem), _) if self.is_degraded => texts("True", problem.reason(), problem.to_string()),
            // It may pass; what was said before stays until it does.
            (Some(_), _) => match before.condition("Degraded") {
                Some(known) => texts(&known.status, &known.reason, known.message.clone()),
                None => texts("False", REASON_AS_EXPECTED, ""),
            },
            (None, Some(Rollout::Stalled { message })) => {
                let advice = format!("The rollout does not go on: {message}; see the pods of the Deployment");
                texts("True", "RolloutStalled", advice)
            }
            (None, _) => texts("False", REASON_AS_EXPECTED, ""),
        }
    }

    fn upgradeable(&self) -> [String; 3] {
        if let Some(problem) = self.problem.filter(|_| self.is_degraded) {
            return texts(
                "False",
                problem.reason(),
                format!("An upgrade has to wait until this is mended: {problem}"),
            );
        }
        self.decided("Upgradeable").unwrap_or_else(|| texts("True", REASON_AS_EXPECTED, ""))
    }

    fn action_required(&self) -> [String; 3] {
        if let Some(problem) = self.problem.filter(|problem| problem.failure() == Failure::Terminal) {
            return texts("True", problem.reason(), problem.to_string());
        }
        self.decided("ActionRequired").unwrap_or_else(|| texts("False", REASON_AS_EXPECTED, ""))
    }

    fn decided(&self, type_: &str) -> Option<[String; 3]> {
        let conditions = self.decision.map(|decision| decision.conditions.as_slice()).unwrap_or_default();
        let found = conditions.iter().find(|condition| condition.type_ == type_)?;
        Some([found.status.clone(), found.reason.clone(), found.message.clone()])
    }
}

fn is_moving(phase: Phase) -> bool {
    !matches!(phase, Phase::Steady | Phase::Blocked | Phase::AwaitAdmin | Phase::Previous)
}

fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Detect => "Detect",
        Phase::Preflight => "Preflight",
        Phase::AwaitAdmin => "AwaitAdmin",
        Phase::Relinquish => "Relinquish",
        Phase::Fence => "Fence",
        Phase::ServiceOnly => "ServiceOnly",
        Phase::Nodes => "Nodes",
        Phase::Full => "Full",
        Phase::Verify => "Verify",
        Phase::Steady => "Steady",
        Phase::RollingBack => "RollingBack",
        Phase::Previous => "Previous",
        Phase::Blocked => "Blocked",
    }
}
