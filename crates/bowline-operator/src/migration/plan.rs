//! The decision: which phase it is, what that phase wants, and whether the rules allow it. All of it anew in every pass.

use std::time::Duration;

use super::decision::{Case, Decision};
use super::detect::{Detected, Unclear, detect};
use super::mode::ManagerMode;
use super::phase::{Draft, Outcome, View, can_go_back, current, evaluate, quiet, stops};
use super::reason::Reason;
use super::writers::{Writer, describe, others};
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
            let mut view = view(case, &before, kind, phase);
            let turned = turned(&view, phase);
            if turned != phase {
                (phase, view.since, view.overdue, view.blocked) = (turned, case.now, false, None);
            }
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
    let heedless: Vec<_> = others(case).into_iter().filter(Writer::is_heedless).collect();
    if current(case).acts() && !heedless.is_empty() {
        return beside(case, &heedless);
    }
    let outcome = match unclear {
        Unclear::NotYet(message) => Outcome::Stay(message),
        Unclear::Ambiguous(message) => Outcome::Block(Reason::AmbiguousTopology, message),
    };
    Draft { hold: true, ..Draft::new(outcome, current(case)) }
}

fn view<'a>(case: &'a Case<'a>, before: &'a MigrationStatus, kind: MigrationKind, phase: Phase) -> View<'a> {
    let is_blocked = before.phase == Phase::Blocked;
    let since = before.since.filter(|_| is_blocked || before.phase == phase).unwrap_or(case.now);
    let took = case.now.duration_since(since).unsigned_abs();
    let is_late = took > case.timings.phase;
    let retries = before.blocked.as_deref() == Some("ManagerNotReady") && is_late;
    let is_normal = case.spec.migration.urgency == Urgency::Normal;
    View {
        case,
        kind,
        others: others(case),
        overdue: is_normal && is_late && !is_blocked,
        blocked: before.blocked.as_deref().filter(|_| is_normal && is_blocked && !retries),
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
        _ if is_behind(view, phase) => Phase::Detect,
        _ => phase,
    }
}

/// Whether the status is older than the cluster: what our manager was told since shows it.
fn is_behind(view: &View<'_>, phase: Phase) -> bool {
    let told = view.current();
    let is_early = matches!(phase, Phase::Preflight | Phase::AwaitAdmin) && told.takes_lease();
    let is_before_writing = matches!(phase, Phase::Relinquish | Phase::Fence) && told.acts();
    view.kind != MigrationKind::Upgrade && (is_early || is_before_writing)
}

/// Ours stops, for another writes beside it who does not care for the Lease.
fn beside(case: &Case<'_>, heedless: &[Writer<'_>]) -> Draft {
    let message = format!(
        "{}. It does not heed our Lease, so our manager was paused; stop it, or set migration.rollback",
        describe(heedless)
    );
    Draft::new(Outcome::Block(Reason::WriterAppeared, message), quiet(case, ManagerMode::Paused))
}

fn planned(view: &View<'_>, phase: Phase) -> Draft {
    let mut draft = disturbed(view, phase).unwrap_or_else(|| evaluate(view, phase));
    if (Phase::ServiceOnly..=Phase::Steady).contains(&phase) {
        // Whoever has started the previous manager again: it waits for the Lease, and is stopped once more.
        draft.steps.extend(stops(view));
        let seen = view.others.iter().any(|writer| writer.is_certain);
        draft.warning = draft.warning.or_else(|| seen.then(|| describe(&view.others)));
    }
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
    let heedless: Vec<_> = view.others.iter().filter(|writer| writer.is_heedless()).cloned().collect();
    if !heedless.is_empty() {
        return Some(beside(view.case, &heedless));
    }
    let acts = view.strongest().acts();
    if !view.others.is_empty() && (!acts || fence::is_theirs(view.case)) {
        let because = format!("somebody else may write: {}", describe(&view.others));
        return Some(Draft::new(Outcome::Go(Phase::Relinquish, because), view.quiet(ManagerMode::Paused)));
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
