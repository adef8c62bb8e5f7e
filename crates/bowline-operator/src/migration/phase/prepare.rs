//! Detect, Preflight, AwaitAdmin: our manager only looks, and nothing is changed.

use super::super::preflight::{Check, checks};
use super::super::{admin, approval};
use super::{Draft, Outcome, View};
use crate::api::{MigrationKind, Phase};
use crate::migration::ManagerMode;
use crate::migration::evidence::Answer;

/// Where to go on from, when the status does not say it: what our manager was last told does.
pub(super) fn detected(view: &View<'_>) -> Draft {
    let next = match (view.kind, view.current()) {
        (_, ManagerMode::Absent | ManagerMode::Shadow) | (MigrationKind::Upgrade, _) => Phase::Preflight,
        (_, ManagerMode::Paused) => Phase::Relinquish,
        (_, ManagerMode::ServiceOnly) => Phase::ServiceOnly,
        (_, ManagerMode::WithoutNodes | ManagerMode::WithoutLifecycle) => Phase::Nodes,
        (_, ManagerMode::Full) => Phase::Full,
    };
    let because = format!("this cluster is migrated from: {:?}", view.kind);
    Draft { hold: true, ..Draft::new(Outcome::Go(next, because), view.current()) }
}

pub(super) fn preflight(view: &View<'_>) -> Draft {
    let checks = checks(view.case, view.kind);
    let outcome = held_up(&checks).unwrap_or_else(|| gate(view, after_preflight(view)));
    let is_upgrade = view.kind == MigrationKind::Upgrade;
    let mode = if is_upgrade { view.current() } else { view.quiet(ManagerMode::Shadow) };
    // An upgrade that is not well must not be rolled out.
    Draft { hold: is_upgrade, checks, ..Draft::new(outcome, mode) }
}

/// The first check that fails, or that nobody has answered yet.
fn held_up(checks: &[Check]) -> Option<Outcome> {
    let failed = checks.iter().find(|check| matches!(check.answer, Answer::Fail(_)));
    let text = |check: &Check| format!("{}: {}", check.name, check.message());
    match (failed, checks.iter().find(|check| check.holds_up())) {
        (Some(check), _) => Some(Outcome::Block(check.reason, text(check))),
        (None, Some(check)) => Some(Outcome::Stay(text(check))),
        (None, None) => None,
    }
}

fn after_preflight(view: &View<'_>) -> Phase {
    match view.kind {
        MigrationKind::Fresh | MigrationKind::Upgrade => Phase::Full,
        _ if admin::to_relinquish(view.case).iter().any(|step| !step.done) => Phase::AwaitAdmin,
        _ => Phase::Relinquish,
    }
}

/// The next phase, if it may begin.
fn gate(view: &View<'_>, next: Phase) -> Outcome {
    match approval::missing(view.case, view.kind, next) {
        Some(message) => Outcome::Stay(message),
        None => Outcome::Go(next, "all checks hold".to_owned()),
    }
}

pub(super) fn await_admin(view: &View<'_>) -> Draft {
    let checks = checks(view.case, view.kind);
    let steps = admin::to_relinquish(view.case);
    let open = steps.iter().filter(|step| !step.done).count();
    let outcome = match held_up(&checks) {
        Some(outcome) => outcome,
        None if open > 0 => Outcome::Stay(format!(
            "{open} steps are to be done by you: see status.migration.steps, or `bowline migrate status`"
        )),
        None => gate(view, Phase::Relinquish),
    };
    Draft { admin: steps, checks, ..Draft::new(outcome, view.quiet(ManagerMode::Shadow)) }
}
