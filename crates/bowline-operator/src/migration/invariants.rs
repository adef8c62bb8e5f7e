//! The twelve rules that hold always (I1–I12), as checks of a decision before anybody executes it. They repeat on purpose what the
//! phases take care of: a mistake there is caught here, and the step is not done.

mod rules;

use super::decision::{Case, Decision, NoteType};
use super::mode::ManagerMode;
use super::outline::note;
use super::phase::{current, quiet};
use super::reason::Reason;
use super::writers::{Writer, others};
use crate::api::Phase;

/// A rule that a decision would break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// `I1` … `I12`.
    pub rule: &'static str,
    /// What would happen.
    pub message: String,
}

/// The rules that a decision would break.
#[must_use]
pub fn check(case: &Case<'_>, decision: &Decision) -> Vec<Violation> {
    let broken = rules::ALL
        .iter()
        .filter_map(|(rule, broken)| broken(case, decision).map(|message| Violation { rule, message }));
    broken.collect()
}

/// The decision if it breaks no rule; else one that changes nothing but to stop ours where it is one of two writers.
pub(super) fn enforced(case: &Case<'_>, phase: Phase, mut decision: Decision) -> Decision {
    let violations = check(case, &decision);
    if violations.is_empty() {
        return decision;
    }
    let texts: Vec<String> =
        violations.iter().map(|broken| format!("{}: {}", broken.rule, broken.message)).collect();
    let message = format!(
        "nothing is done, for it would break a rule that holds always: {}. This is a defect or a cluster as nobody has foreseen; please report it",
        texts.join("; ")
    );
    decision.steps.clear();
    decision.hold = true;
    decision.mode = current(case);
    decision.publish_version = false;
    let must_stop = others(case).iter().any(Writer::is_heedless);
    if must_stop && decision.mode.acts() {
        decision.mode = quiet(case, ManagerMode::Paused);
        decision.hold = false;
    }
    let reason = Reason::InvariantViolated.to_string();
    let before = case.status.migration.as_ref();
    let is_same = before.is_some_and(|before| before.blocked.as_deref() == Some(reason.as_str()));
    if !is_same {
        decision.notes.push(note(NoteType::Warning, &reason, &message));
    }
    decision.status.phase = Phase::Blocked;
    decision.status.came_from = Some(phase);
    decision.status.blocked = Some(reason);
    decision.status.since = before.and_then(|before| before.since).filter(|_| is_same).or(Some(case.now));
    decision.message = message;
    decision.look_again = case.timings.rest;
    decision.violations = violations;
    decision
}
