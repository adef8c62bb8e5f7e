//! From what a phase wants to the decision as it is told: the status with its times and history, events and conditions.

use jiff::Timestamp;

use super::approval;
use super::decision::{Case, Decision, Note, NoteType, Step};
use super::detect::Detected;
use super::evidence::Answer;
use super::mode::ManagerMode;
use super::observed::{OurWorkload, WorkloadKind};
use super::phase::{Draft, Outcome};
use super::preflight::Check;
use super::reason::Reason;
use super::{admin, plan, snapshot};
use crate::api::{Form, MigrationKind, MigrationStatus, Phase, PhaseChange, Snapshot};
use crate::rollout::Condition;

/// How many phases are remembered.
const HISTORY: usize = 20;

/// The phase that counts: the one that it is blocked in.
pub(super) fn effective_phase(before: &MigrationStatus) -> Phase {
    match before.phase {
        Phase::Blocked => before.came_from.unwrap_or_default(),
        phase => phase,
    }
}

/// The decision that says what a phase wants.
pub(super) fn decision(
    case: &Case<'_>,
    before: &MigrationStatus,
    kind: Option<MigrationKind>,
    phase: Phase,
    draft: Draft,
    found: Option<&Detected>,
) -> Decision {
    let (next, because) = match &draft.outcome {
        Outcome::Stay(message) => (phase, message.clone()),
        Outcome::Go(next, because) => (*next, because.clone()),
        Outcome::Block(_, message) => (Phase::Blocked, message.clone()),
    };
    let reason = match &draft.outcome {
        Outcome::Block(reason, _) => Some(*reason),
        _ => None,
    };
    let status = MigrationStatus {
        phase: next,
        kind,
        since: Some(since(before, next, reason, case.now)),
        percent: percent(case, if next == Phase::Blocked { phase } else { next }),
        blocked: reason.map(|reason| reason.to_string()),
        came_from: (next == Phase::Blocked).then_some(phase),
        evidence: found.map_or_else(|| before.evidence.clone(), |found| found.evidence.clone()),
        steps: draft.admin.clone(),
        snapshot: kept(case, before, phase, kind),
        unsettled: draft.unsettled.clone(),
        tainted: tainted(case, &draft.steps),
        history: history(before, next, &because, case.now),
    };
    Decision {
        notes: notes(case, before, &status, reason, &because, draft.warning.as_deref()),
        conditions: conditions(case, kind, &status, &draft, &because),
        look_again: plan::look_again(case, &draft.outcome, next),
        publish_version: is_converged(case),
        keep_configs: used_configs(case),
        message: because,
        mode: draft.mode,
        hold: draft.hold || is_otherwise(case, draft.mode),
        steps: draft.steps,
        violations: Vec::new(),
        status,
    }
}

/// Whether our manager shall be static pods and still is something else, which has to run on until they are there. To apply would take
/// it away.
fn is_otherwise(case: &Case<'_>, mode: ManagerMode) -> bool {
    let is_workload = |ours: &OurWorkload| {
        matches!(ours.workload.kind, WorkloadKind::Deployment | WorkloadKind::DaemonSet)
            && ours.mode.is_some_and(ManagerMode::acts)
    };
    case.spec.form == Form::StaticPod && mode.acts() && case.observed.ours.as_ref().is_some_and(is_workload)
}

fn since(before: &MigrationStatus, next: Phase, reason: Option<Reason>, now: Timestamp) -> Timestamp {
    let is_same = before.phase == next && before.blocked == reason.map(|reason| reason.to_string());
    before.since.filter(|_| is_same).unwrap_or(now)
}

fn percent(case: &Case<'_>, phase: Phase) -> u8 {
    match phase {
        Phase::Detect | Phase::Blocked | Phase::Previous => 0,
        Phase::Preflight => 10,
        Phase::AwaitAdmin => 20,
        Phase::Relinquish => 30,
        Phase::Fence => 40,
        Phase::ServiceOnly => 50,
        Phase::Nodes => 60 + nodes_done(case),
        Phase::Full => 80,
        Phase::Verify => 90,
        Phase::Steady => 100,
        Phase::RollingBack => 50,
    }
}

/// Of twenty percent, as much as there are nodes that need nothing more.
fn nodes_done(case: &Case<'_>) -> u8 {
    let claimed = case.observed.nodes.iter().filter(|node| admin::is_claimed(case, node));
    let (mut all, mut done) = (0_usize, 0_usize);
    for node in claimed {
        all += 1;
        done += usize::from(node.provider_id.is_some() && !node.uninitialized);
    }
    u8::try_from(done * 20 / all.max(1)).unwrap_or(20)
}

/// The snapshot is taken anew as long as nothing was changed; and late rather than never.
fn kept(
    case: &Case<'_>,
    before: &MigrationStatus,
    phase: Phase,
    kind: Option<MigrationKind>,
) -> Option<Snapshot> {
    let is_early = matches!(phase, Phase::Preflight | Phase::AwaitAdmin);
    let is_late = before.snapshot.is_none() && phase > Phase::AwaitAdmin && phase < Phase::Steady;
    let is_readable = case.observed.unread.is_empty() && kind.is_some();
    if !is_readable || !(is_early || is_late) {
        return before.snapshot.clone();
    }
    let new = snapshot::take(case, before.snapshot.as_ref());
    let old = before.snapshot.as_ref();
    // Only a difference is worth a write.
    let is_same = old.is_some_and(|old| Snapshot { taken_at: new.taken_at, ..old.clone() } == new);
    if is_same { old.cloned() } else { Some(new) }
}

fn tainted(case: &Case<'_>, steps: &[Step]) -> Vec<String> {
    let now = case.observed.nodes.iter().filter(|node| node.uninitialized && node.tainted_at.is_some());
    let mut names: Vec<String> = now.map(|node| node.name.clone()).collect();
    for step in steps {
        match step {
            Step::TaintNode { name, .. } => names.push(name.clone()),
            Step::UntaintNode { name, .. } => names.retain(|known| known != name),
            _ => {}
        }
    }
    names.sort();
    names.dedup();
    names
}

fn history(before: &MigrationStatus, next: Phase, because: &str, now: Timestamp) -> Vec<PhaseChange> {
    let mut history = before.history.clone();
    if before.phase != next || history.is_empty() {
        history.push(PhaseChange { phase: next, at: now, because: because.to_owned() });
    }
    let surplus = history.len().saturating_sub(HISTORY);
    history.split_off(surplus)
}

fn notes(
    case: &Case<'_>,
    before: &MigrationStatus,
    status: &MigrationStatus,
    reason: Option<Reason>,
    because: &str,
    warning: Option<&str>,
) -> Vec<Note> {
    let mut notes = Vec::new();
    let is_new = before.phase != status.phase || before.blocked != status.blocked;
    match reason {
        Some(reason) if is_new => notes.push(note(NoteType::Warning, &reason.to_string(), because)),
        None if is_new => notes.push(note(NoteType::Normal, &status.phase.to_string(), because)),
        _ => {}
    }
    let is_told = |text: &str| case.status.message.as_deref().is_some_and(|told| told.contains(text));
    if let Some(warning) = warning.filter(|warning| !is_told(warning)) {
        notes.push(note(NoteType::Warning, "Attention", warning));
    }
    notes
}

pub(super) fn note(type_: NoteType, reason: &str, message: &str) -> Note {
    Note { type_, reason: reason.to_owned(), message: message.to_owned() }
}

fn conditions(
    case: &Case<'_>,
    kind: Option<MigrationKind>,
    status: &MigrationStatus,
    draft: &Draft,
    because: &str,
) -> Vec<Condition> {
    let mut all: Vec<Condition> = draft.checks.iter().map(|check| check_condition(case, check)).collect();
    let open = draft.admin.iter().filter(|step| !step.done).count();
    let waits = matches!(draft.outcome, Outcome::Stay(_));
    let approval = kind
        .filter(|_| waits)
        .and_then(|kind| following(status.phase).and_then(|next| approval::missing(case, kind, next)))
        .filter(|text| text == because);
    all.push(match (approval, open) {
        (Some(text), _) => condition(case, "ActionRequired", "True", "ApprovalMissing", &text),
        (None, 0) if status.phase != Phase::Blocked => {
            condition(case, "ActionRequired", "False", "AsExpected", "")
        }
        (None, 0) => {
            condition(case, "ActionRequired", "True", status.blocked.as_deref().unwrap_or("Blocked"), because)
        }
        (None, open) => condition(
            case,
            "ActionRequired",
            "True",
            "StepsToDo",
            &format!("{open} steps are to be done: {because}"),
        ),
    });
    let is_still = matches!(status.phase, Phase::Steady | Phase::Previous);
    all.push(if is_still {
        condition(case, "Upgradeable", "True", "AsExpected", "")
    } else {
        let reason = status.blocked.as_deref().unwrap_or("MigrationUnderWay");
        condition(
            case,
            "Upgradeable",
            "False",
            reason,
            &format!("an upgrade of the cluster has to wait for the migration: {because}"),
        )
    });
    all
}

/// The phase that may need a yes, after one that only waits for it.
fn following(phase: Phase) -> Option<Phase> {
    match phase {
        Phase::Preflight | Phase::AwaitAdmin => Some(Phase::Relinquish),
        Phase::Fence => Some(Phase::ServiceOnly),
        Phase::ServiceOnly => Some(Phase::Nodes),
        Phase::Nodes => Some(Phase::Full),
        _ => None,
    }
}

fn check_condition(case: &Case<'_>, check: &Check) -> Condition {
    let (status, reason) = match check.answer {
        Answer::Pass(_) => ("True", "Passed"),
        Answer::Fail(_) => ("False", "Failed"),
        Answer::Unknown(_) => ("Unknown", "NotYetKnown"),
        Answer::NotAsked => ("Unknown", "NotAsked"),
    };
    condition(case, check.name, status, reason, check.message())
}

fn condition(case: &Case<'_>, type_: &str, status: &str, reason: &str, message: &str) -> Condition {
    let known = case.status.conditions.iter().find(|known| known.type_ == type_ && known.status == status);
    Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        last_transition_time: known.map_or(case.now, |known| known.last_transition_time),
    }
}

/// Whether what was asked for runs everywhere (I9).
pub(super) fn is_converged(case: &Case<'_>) -> bool {
    case.observed
        .ours
        .as_ref()
        .is_some_and(|ours| ours.version == case.observed.wanted_version && ours.runs_only(ManagerMode::Full))
}

/// Configurations that pods mount, and the one that is wanted.
fn used_configs(case: &Case<'_>) -> Vec<String> {
    let pods = case.observed.ours.iter().flat_map(|ours| ours.pods.iter());
    let mut used: Vec<String> =
        pods.filter_map(|pod| pod.config.clone()).chain(case.observed.wanted_config.clone()).collect();
    used.sort();
    used.dedup();
    used
}
