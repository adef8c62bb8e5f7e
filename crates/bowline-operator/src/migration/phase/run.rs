//! Full, Verify, Steady: everything runs, is as it was, and stays so.

use std::time::Duration;

use super::super::admin::{api_server_flag, is_claimed, static_pods, to_replace_nodes};
use super::super::decision::Step;
use super::super::evidence::Answer;
use super::super::preflight::{self, Check, checks};
use super::super::{fence, reason::Reason, snapshot};
use super::{Draft, Outcome, View};
use crate::api::{Form, MigrationKind, Phase};
use crate::migration::ManagerMode;

pub(super) fn full(view: &View<'_>) -> Draft {
    let admin = static_pods(view.case);
    let open = admin.iter().filter(|step| !step.done).count();
    if view.case.spec.form == Form::StaticPod && open > 0 {
        let message = format!(
            "{open} steps are to be done by you, for static pods: see status.migration.steps, or `bowline migrate status`"
        );
        return Draft { admin, ..Draft::new(Outcome::Stay(message), ManagerMode::Full) };
    }
    let Some(message) = not_full(view) else {
        return Draft::new(Outcome::Go(Phase::Verify, "all controllers run".to_owned()), ManagerMode::Full);
    };
    let outcome = view.wait(Reason::ManagerNotReady, message);
    let is_back = matches!(outcome, Outcome::Block(..))
        && !matches!(view.kind, MigrationKind::Fresh | MigrationKind::Upgrade);
    // What worked before is better than what does not come up. A first manager and a new version have nothing else to offer.
    let mode = if is_back { ManagerMode::ServiceOnly } else { ManagerMode::Full };
    Draft::new(outcome, mode)
}

fn not_full(view: &View<'_>) -> Option<String> {
    let observed = view.case.observed;
    let version = &observed.wanted_version;
    if observed.ours.as_ref().is_none_or(|ours| ours.version != *version)
        || !view.runs_only(ManagerMode::Full)
    {
        return Some(format!("version {version} of our manager is being rolled out with all controllers"));
    }
    if !fence::is_ours(view.case) {
        return Some(fence::missing(view.case).unwrap_or_else(|| "our manager does not lead yet".to_owned()));
    }
    let waiting: Vec<&str> = observed
        .nodes
        .iter()
        .filter(|node| node.uninitialized && is_claimed(view.case, node))
        .map(|node| node.name.as_str())
        .take(10)
        .collect();
    let is_first = view.kind == MigrationKind::Fresh;
    (is_first && !waiting.is_empty())
        .then(|| format!("nodes that wait to be initialised: {}", waiting.join(", ")))
}

pub(super) fn verify(view: &View<'_>) -> Draft {
    let found = view.snapshot.map(|before| snapshot::differences(view.case, before)).unwrap_or_default();
    let outcome = if found.is_empty() {
        Outcome::Go(Phase::Steady, "all is as it was".to_owned())
    } else {
        let first: Vec<&str> = found.iter().take(5).map(String::as_str).collect();
        let advice = "If this is right, accept the Service by migration.accept; to go back, set migration.rollback: true";
        Outcome::Block(
            Reason::VerifyFailed,
            format!("{} things are not as they were: {}. {advice}", found.len(), first.join("; ")),
        )
    };
    Draft::new(outcome, ManagerMode::Full)
}

pub(super) fn steady(view: &View<'_>) -> Draft {
    let checks = checks(view.case, MigrationKind::Upgrade);
    let bad = checks.iter().find(|check| matches!(check.answer, Answer::Fail(_)));
    if let Some(check) = bad {
        let message =
            format!("what was asked for is not rolled out, the last good one runs on: {}", check.message());
        let hold = !is_repairable(view, &checks);
        let draft = Draft::new(Outcome::Stay(message.clone()), view.current());
        return Draft { hold, warning: Some(message), checks, ..draft };
    }
    let observed = view.case.observed;
    let is_rolled_out = observed
        .ours
        .as_ref()
        .is_some_and(|ours| ours.version == observed.wanted_version && ours.mode == Some(ManagerMode::Full));
    let outcome = if is_rolled_out {
        Outcome::Stay("done".to_owned())
    } else {
        Outcome::Go(Phase::Full, format!("version {} is to be rolled out", observed.wanted_version))
    };
    let mut admin = to_replace_nodes(view.case);
    admin.extend(api_server_flag(view.case));
    let pods = static_pods(view.case);
    if pods.iter().any(|step| !step.done) {
        admin.extend(pods);
    }
    Draft { steps: leftovers(view), admin, checks, ..Draft::new(outcome, ManagerMode::Full) }
}

/// Whether what runs can be kept as it was: only the configuration is wrong, and objects are rendered with the last good one.
fn is_repairable(view: &View<'_>, checks: &[Check]) -> bool {
    let is_of_config =
        |check: &Check| !matches!(check.answer, Answer::Fail(_)) || check.name == preflight::CONFIG_VALID;
    view.case.observed.runs_what_is_wanted() && checks.iter().all(is_of_config)
}

/// What the previous manager ran as, when it was kept for long enough (I11).
fn leftovers(view: &View<'_>) -> Vec<Step> {
    let hours = u64::from(view.case.spec.migration.keep_previous_hours);
    let lasted = view.case.now.duration_since(view.since).unsigned_abs();
    if lasted <= Duration::from_secs(hours * 3600) || view.kind != MigrationKind::OtherManager {
        return Vec::new();
    }
    let stopped = view.case.observed.managers.iter().filter(|manager| {
        manager.previous_replicas.is_some() && manager.desired == 0 && manager.live().next().is_none()
    });
    stopped.map(|manager| Step::DeletePrevious { workload: manager.workload.clone() }).collect()
}
