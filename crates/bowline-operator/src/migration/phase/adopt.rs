//! ServiceOnly: our manager takes over the load balancers that exist, and makes none that should be there already (I2).

use super::super::evidence::{ShadowFacts, ShadowFinding, WouldDo};
use super::super::preflight::{is_leaving, is_new, is_young, list, not_accepted};
use super::super::{approval, fence, reason::Reason, snapshot};
use super::{Draft, Outcome, View};
use crate::api::Phase;
use crate::migration::ManagerMode;

pub(super) fn service_only(view: &View<'_>) -> Draft {
    let mode = ManagerMode::ServiceOnly;
    if let Some(message) = moved(view) {
        return Draft::new(
            Outcome::Block(Reason::UnexpectedCreate, message),
            view.quiet(ManagerMode::Paused),
        );
    }
    let unsettled = still_unsettled(view);
    let outcome = match missing(view) {
        Err(outcome) => outcome,
        Ok(Some(message)) => view.wait(Reason::AdoptionStalled, message),
        Ok(None) => match approval::missing(view.case, view.kind, Phase::Nodes) {
            Some(message) => Outcome::Stay(message),
            None => Outcome::Go(Phase::Nodes, "all load balancers were taken over".to_owned()),
        },
    };
    Draft { unsettled, ..Draft::new(outcome, mode) }
}

/// What has happened that must not: ours is paused at once.
fn moved(view: &View<'_>) -> Option<String> {
    let moved = snapshot::moved(view.case, view.snapshot?);
    let texts: Vec<&str> = moved.iter().take(5).map(|(_, text)| text.as_str()).collect();
    let advice = "Our manager was paused. If this is right, accept it by migration.accept; else set migration.rollback";
    (!texts.is_empty()).then(|| format!("{}. {advice}", texts.join("; ")))
}

/// What is still to be seen; or why it must not go on.
fn missing(view: &View<'_>) -> Result<Option<String>, Outcome> {
    if !view.runs_only(ManagerMode::ServiceOnly) {
        return Ok(Some("our manager is not yet rolled out with the service controller alone".to_owned()));
    }
    if !fence::is_ours(view.case) {
        return Ok(Some(fence::missing(view.case).unwrap_or_else(|| "the Lease is not ours".to_owned())));
    }
    if !view.reports() {
        return Ok(None);
    }
    let report = view.case.observed.shadow.as_ref();
    let Some(report) = report.filter(|report| is_adopting(view, report)) else {
        return Ok(Some("our manager has not yet reported what became of the Services".to_owned()));
    };
    let wrong: Vec<_> = not_accepted(view.case, report)
        .into_iter()
        .filter(|finding| {
            !is_asked_for(view, finding)
                && !matches!(finding.would, WouldDo::Wait | WouldDo::Unknown | WouldDo::Block)
        })
        .collect();
    if !wrong.is_empty() {
        let message = format!(
            "our manager holds back what it would do: {}. Mend it, or accept it by migration.accept",
            list(&wrong)
        );
        return Err(Outcome::Block(Reason::UnexpectedCreate, message));
    }
    Ok(unsettled(view, report).or_else(|| without_id(view)))
}

fn is_adopting(view: &View<'_>, report: &ShadowFacts) -> bool {
    report.leader && report.mode == Some(ManagerMode::ServiceOnly) && is_young(view.case, report)
}

/// What a person has asked for since. It is done as soon as ours may do everything.
fn is_asked_for(view: &View<'_>, finding: &ShadowFinding) -> bool {
    is_new(view.case, finding) || is_leaving(view.case, finding)
}

/// Services that were not seen as they ask to be since ours takes them over. One that was, and is edited since, holds nothing up:
/// what is asked for next is everyday work.
fn still_unsettled(view: &View<'_>) -> Option<Vec<String>> {
    let before = view.case.status.migration.as_ref().and_then(|migration| migration.unsettled.clone());
    let report = view.case.observed.shadow.as_ref().filter(|report| is_adopting(view, report));
    let Some(report) = report.filter(|report| are_all_listed(report)) else { return before };
    let open = report.findings.iter().map(|finding| &finding.service);
    let was_open = |service: &&String| before.as_ref().is_none_or(|before| before.contains(service));
    Some(open.filter(was_open).cloned().collect())
}

/// Whether the report names every Service that is not settled.
fn are_all_listed(report: &ShadowFacts) -> bool {
    report.settled + report.findings.len() >= report.services
}

/// Services that are not as they ask to be, and shall be, once, before it goes on.
fn unsettled(view: &View<'_>, report: &ShadowFacts) -> Option<String> {
    let accept = &view.case.spec.migration.accept;
    let once = still_unsettled(view).filter(|_| are_all_listed(report));
    let may_stay = report.findings.iter().filter(|finding| {
        finding.would == WouldDo::Refuse
            || is_asked_for(view, finding)
            || accept.contains(&finding.service)
            || once.as_ref().is_some_and(|once| !once.contains(&finding.service))
    });
    let open = report.services.saturating_sub(report.settled + may_stay.count());
    let text = format!("{open} of {} Services are not settled yet", report.services);
    let blocked: Vec<&ShadowFinding> = not_accepted(view.case, report)
        .into_iter()
        .filter(|finding| finding.would == WouldDo::Block)
        .filter(|finding| once.as_ref().is_none_or(|once| once.contains(&finding.service)))
        .collect();
    let text = match blocked.as_slice() {
        [] => text,
        some => format!("{text}. {}. Correct it, or accept it by migration.accept", list(some)),
    };
    (open > 0).then_some(text)
}

/// Services with an address whose load balancer nobody has written down.
fn without_id(view: &View<'_>) -> Option<String> {
    let snapshot = view.snapshot?;
    let accept = &view.case.spec.migration.accept;
    let open = view.case.observed.services.iter().find(|service| {
        snapshot.load_balancers.contains_key(&service.key())
            && service.load_balancer_id.is_none()
            && !service.deleting
            && !accept.contains(&service.key())
    })?;
    Some(format!("Service {} has lost the annotation with the id of its load balancer", open.key()))
}
