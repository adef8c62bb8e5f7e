//! The decision: which phase it is, what that phase wants, and whether the rules allow it. All of it anew in every pass.

use std::time::Duration;

use super::decision::{Case, Decision};
use super::detect::{Detected, Unclear, detect};
use super::mode::ManagerMode;
use super::phase::{Draft, Outcome, View, can_go_back, current, evaluate};
use super::reason::Reason;
use super::writers::{describe, others};
use super::{fence, invariants, outline};
use crate::api::{MigrationKind, MigrationStatus, Phase, Urgency};

/// What shall be, from what is asked for, what was answered last, and the cluster as it is.
#[must_use]
pub fn decide(case: &Case<'_>) -> Decision {
    let before = case.status.migration.clone().unwrap_or_default();
    if let Some(why) = hands_off(case) {
        let draft = Draft { hold: true, ..Draft::new(Outcome::Stay(why), current(case)) };
        return outline::decision(case, &before, before.kind, before.phase, draft, None);
    }
    let mut phase = outline::effective_phase(&before);
    let (kind, found) = kind(case, &before, phase);
    let draft = match kind {
        Ok(kind) => {
            let view = view(case, &before, kind, phase);
            phase = turned(&view, phase);
            planned(&view, phase)
        }
        Err(unclear) => {
            phase = Phase::Detect;
            undetected(case, unclear)
        }
    };
    let kind = found.as_ref().map_or(before.kind, |found| found.kind.as_ref().ok().copied());
    let decision = outline::decision(case, &before, kind, phase, draft, found.as_ref());
    invariants::enforced(case, phase, decision)
}

/// Why nothing may be changed at all.
fn hands_off(case: &Case<'_>) -> Option<String> {
    let unread = case
        .observed
        .unread
        .first()
        .map(|unread| format!("{} could not be read: {}", unread.what, unread.why));
    let paused = case.spec.paused.then(|| "paused: true, so nothing is changed".to_owned());
    unread.or(paused)
}

/// What is migrated from: as was found before, or found now.
fn kind(
    case: &Case<'_>,
    before: &MigrationStatus,
    phase: Phase,
) -> (Result<MigrationKind, Unclear>, Option<Detected>) {
    match before.kind.filter(|_| phase != Phase::Detect) {
        Some(kind) => (Ok(kind), None),
        None => {
            let found = detect(case);
            let kind = found.kind.clone();
            // A way back that has begun needs no more than to know who is there.
            let is_back = case.spec.migration.rollback && phase != Phase::Detect;
            (
                kind.or_else(|unclear| if is_back { Ok(MigrationKind::None) } else { Err(unclear) }),
                Some(found),
            )
        }
    }
}

fn undetected(case: &Case<'_>, unclear: Unclear) -> Draft {
    let outcome = match unclear {
        Unclear::NotYet(message) => Outcome::Stay(message),
        Unclear::Ambiguous(message) => Outcome::Block(Reason::AmbiguousTopology, message),
    };
    Draft { hold: true, ..Draft::new(outcome, current(case)) }
}

fn view<'a>(case: &'a Case<'a>, before: &MigrationStatus, kind: MigrationKind, phase: Phase) -> View<'a> {
    let is_blocked = before.phase == Phase::Blocked;
    let since = before.since.filter(|_| is_blocked || before.phase == phase).unwrap_or(case.now);
    let took = case.now.duration_since(since).unsigned_abs();
    let is_late = took > case.timings.phase;
    let retries = before.blocked.as_deref() == Some("ManagerNotReady") && is_late;
    View {
        case,
        kind,
        others: others(case),
        overdue: case.spec.migration.urgency == Urgency::Normal
            && (is_blocked || is_late)
            && !(is_blocked && retries),
        snapshot: case.status.migration.as_ref().and_then(|migration| migration.snapshot.as_ref()),
        since: if is_blocked { case.now } else { since },
    }
}

/// The phase, or the turn that a person has asked for.
fn turned(view: &View<'_>, phase: Phase) -> Phase {
    let is_back = matches!(phase, Phase::RollingBack | Phase::Previous);
    match view.case.spec.migration.rollback {
        true if !is_back && can_go_back(view).is_ok() => Phase::RollingBack,
        false if phase == Phase::RollingBack => Phase::Detect,
        _ => phase,
    }
}

fn planned(view: &View<'_>, phase: Phase) -> Draft {
    let mut draft = disturbed(view, phase).unwrap_or_else(|| evaluate(view, phase));
    if let (true, Err(why)) = (view.case.spec.migration.rollback, can_go_back(view)) {
        draft.warning = Some(why);
    }
    draft
}

/// What comes first in every phase in which ours writes: is it still the only one?
fn disturbed(view: &View<'_>, phase: Phase) -> Option<Draft> {
    if !(Phase::ServiceOnly..=Phase::Steady).contains(&phase) {
        return None;
    }
    let quiet = view.quiet(ManagerMode::Paused);
    let heedless: Vec<_> =
        view.others.iter().filter(|writer| writer.is_certain && !writer.heeds_lease).cloned().collect();
    if !heedless.is_empty() {
        let message = format!(
            "{}. It does not heed our Lease, so our manager was paused; stop it, or set migration.rollback",
            describe(&heedless)
        );
        return Some(Draft::new(Outcome::Block(Reason::WriterAppeared, message), quiet));
    }
    let acts = view.strongest().acts();
    if !view.others.is_empty() && (!acts || fence::is_theirs(view.case)) {
        let because = format!("somebody else may write: {}", describe(&view.others));
        return Some(Draft::new(Outcome::Go(Phase::Relinquish, because), quiet));
    }
    None
}

/// When to look again.
pub(super) fn look_again(case: &Case<'_>, outcome: &Outcome, phase: Phase) -> Duration {
    match (outcome, phase) {
        (Outcome::Go(..), _) => Duration::ZERO,
        (Outcome::Block(..), _) | (_, Phase::Steady | Phase::Previous) => case.timings.rest,
        (Outcome::Stay(_), _) => case.timings.look,
    }
}
