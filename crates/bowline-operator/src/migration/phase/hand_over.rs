//! Relinquish and Fence: the previous writer stops, that is proven, and our manager holds the Lease without writing.

use super::super::decision::Step;
use super::super::observed::{ManagerWorkload, WorkloadKind};
use super::super::writers::{Who, describe};
use super::super::{admin, fence as lease, reason::Reason};
use super::{Draft, Outcome, View};
use crate::api::{MigrationKind, Phase};
use crate::migration::ManagerMode;

pub(super) fn relinquish(view: &View<'_>) -> Draft {
    let mode = view.quiet(ManagerMode::Paused);
    if view.others.is_empty() {
        return Draft::new(Outcome::Go(Phase::Fence, "nobody else writes".to_owned()), mode);
    }
    let to_stop: Vec<&ManagerWorkload> = stoppable(view).collect();
    // Ours stands by before the other one is stopped, so that the time without a writer is short.
    if !to_stop.is_empty() && view.reports() && !view.runs_only(ManagerMode::Paused) {
        let message = "our manager is to stand by, paused, before the previous one is stopped".to_owned();
        let outcome = view.wait(Reason::ManagerNotReady, message);
        // A standby that does not come up must not be there to take the Lease from who serves the cluster.
        let mode = if matches!(outcome, Outcome::Block(..)) { ManagerMode::Shadow } else { mode };
        return Draft::new(outcome, mode);
    }
    let outcome = view.wait(Reason::WriterStillActive, describe(&view.others));
    let admin = admin::to_relinquish(view.case);
    Draft { steps: to_stop.into_iter().map(scale_down).collect(), admin, ..Draft::new(outcome, mode) }
}

/// The steps that stop them.
pub(in super::super) fn stops(view: &View<'_>) -> Vec<Step> {
    stoppable(view).map(scale_down).collect()
}

/// Managers that the operator can stop: those that were there before. Somebody's new one is not ours to stop.
fn stoppable<'a>(view: &'a View<'_>) -> impl Iterator<Item = &'a ManagerWorkload> {
    let managers = view.others.iter().filter_map(|writer| match writer.who {
        Who::Manager(manager) => Some(manager),
        _ => None,
    });
    let is_ours_to_stop = view.kind == MigrationKind::OtherManager;
    managers.filter(move |manager| {
        is_ours_to_stop && manager.desired > 0 && manager.workload.kind != WorkloadKind::Pod
    })
}

fn scale_down(manager: &ManagerWorkload) -> Step {
    Step::ScaleDown { workload: manager.workload.clone(), replicas: manager.desired }
}

pub(super) fn fence(view: &View<'_>) -> Draft {
    let mode = view.quiet(ManagerMode::Paused);
    if !view.others.is_empty() {
        let because = format!("somebody else may write again: {}", describe(&view.others));
        return Draft::new(Outcome::Go(Phase::Relinquish, because), mode);
    }
    let missing = if view.reports() { missing(view) } else { unheld(view) };
    let outcome = match missing {
        Some(message) => view.wait(Reason::LeaseNotAcquired, message),
        None => match super::super::approval::missing(view.case, view.kind, Phase::ServiceOnly) {
            Some(message) => Outcome::Stay(message),
            None => Outcome::Go(Phase::ServiceOnly, "the Lease is ours, and nobody else writes".to_owned()),
        },
    };
    Draft::new(outcome, mode)
}

fn missing(view: &View<'_>) -> Option<String> {
    lease::missing(view.case).or_else(|| {
        (!view.runs_only(ManagerMode::Paused)).then(|| "our manager is not yet paused everywhere".to_owned())
    })
}

/// The upstream managers cannot hold a Lease without writing: it has to be free before they begin.
fn unheld(view: &View<'_>) -> Option<String> {
    let held = lease::lease(view.case).filter(|lease| !lease.is_over() && !lease::is_ours(view.case))?;
    Some(format!(
        "Lease {} was held by {}; it is watched until it is over",
        held.key(),
        held.holder.as_deref().unwrap_or_default()
    ))
}
