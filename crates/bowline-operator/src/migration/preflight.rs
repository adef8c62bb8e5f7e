//! Would it go well? Each question has a name, an answer, and words for what to do. Nobody's silence is a yes.

use std::collections::BTreeSet;

use super::decision::Case;
use super::evidence::{Answer, ShadowFacts, ShadowFinding, WouldDo};
use super::mode::ManagerMode;
use super::reason::Reason;
use super::writers::{heeds_lease, lease_of, others};
use crate::api::{Form, Manager, MigrationKind, PlatformName};
use crate::flags::value_of;

/// `--cluster-name` of a manager that is not told one.
const DEFAULT_NAME: &str = "kubernetes";

/// The check of the configuration itself.
pub(super) const CONFIG_VALID: &str = "ConfigValid";

/// One question with its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The type of its condition.
    pub name: &'static str,
    /// The answer.
    pub answer: Answer,
    /// What it blocks with.
    pub reason: Reason,
}

impl Check {
    fn new(name: &'static str, answer: Answer) -> Self {
        let reason = match name {
            "ClusterNameMatches" => Reason::ClusterNameMismatch,
            "LeaseShared" => Reason::LeaseMismatch,
            "HandOverClean" => Reason::HandOverChanges,
            _ => Reason::PreflightFailed,
        };
        Self { name, answer, reason }
    }

    /// Whether it keeps the migration from going on.
    #[must_use]
    pub fn holds_up(&self) -> bool {
        matches!(self.answer, Answer::Fail(_) | Answer::Unknown(_))
    }

    /// Its text.
    #[must_use]
    pub fn message(&self) -> &str {
        match &self.answer {
            Answer::Pass(text) | Answer::Fail(text) | Answer::Unknown(text) => text,
            Answer::NotAsked => "not asked",
        }
    }
}

/// All checks. An upgrade of ours is asked only what can be new.
pub(super) fn checks(case: &Case<'_>, kind: MigrationKind) -> Vec<Check> {
    let facts = &case.observed.preflight;
    let config = Check::new(CONFIG_VALID, required(&facts.config, "the configuration has not been read yet"));
    let name = Check::new("ClusterNameMatches", cluster_name(case));
    let images = Check::new("ImagesPullable", facts.images.clone());
    if kind == MigrationKind::Upgrade {
        return vec![name, config, images];
    }
    vec![
        Check::new("FormFits", form(case, kind)),
        Check::new("CloudReachable", cloud(case)),
        Check::new("NodesResolvable", nodes(case)),
        name,
        config,
        Check::new("LoadBalancersAvailable", facts.load_balancers.clone()),
        Check::new("NoDuplicateLoadBalancers", facts.duplicates.clone()),
        Check::new("CertificatesTrusted", facts.trust.clone()),
        images,
        Check::new("LeaseShared", lease_shared(case)),
        Check::new("HandOverClean", hand_over(case, kind)),
    ]
}

/// A hand-over tells our manager, step by step, how much it may do. What kubelets have from a file cannot be told.
fn form(case: &Case<'_>, kind: MigrationKind) -> Answer {
    if case.spec.form != Form::StaticPod {
        return Answer::Pass("the operator can start and stop it".to_owned());
    }
    if kind == MigrationKind::Fresh {
        return Answer::Pass("nobody has to hand over, so a person may start it".to_owned());
    }
    Answer::Fail(
        "static pods cannot take over step by step; use form Deployment or DaemonSet, and StaticPod when the phase is Steady"
            .to_owned(),
    )
}

fn required(answer: &Answer, otherwise: &str) -> Answer {
    match answer {
        Answer::NotAsked => Answer::Unknown(otherwise.to_owned()),
        other => other.clone(),
    }
}

/// The upstream managers have no shadow mode: nobody asks them anything.
fn reports(case: &Case<'_>) -> bool {
    case.spec.manager == Manager::Bowline
}

/// The report of our shadow, if it is young and by a process that only looks; else what is waited for.
fn report<'a>(case: &Case<'a>) -> Result<&'a ShadowFacts, Answer> {
    let unknown = |text: &str| Answer::Unknown(text.to_owned());
    if !reports(case) {
        return Err(Answer::NotAsked);
    }
    let report = case.observed.shadow.as_ref().ok_or_else(|| {
        unknown("our manager in shadow mode has not reported yet; see its pod's log if this stays")
    })?;
    if !is_young(case, report) {
        return Err(unknown("the report of our manager is old; its pod may not run"));
    }
    Ok(report)
}

/// Whether a report is young enough to be believed. One from the future is not.
pub(super) fn is_young(case: &Case<'_>, report: &ShadowFacts) -> bool {
    case.now.duration_since(report.observed_at).unsigned_abs() <= case.timings.report_age
}

fn cloud(case: &Case<'_>) -> Answer {
    match report(case) {
        Err(_) if case.observed.preflight.cloud != Answer::NotAsked => case.observed.preflight.cloud.clone(),
        Err(answer) => answer,
        Ok(report) => match &report.cloud_problem {
            Some(problem) => Answer::Fail(format!(
                "the cloud does not answer our manager: {problem}; look at the credentials and the configuration"
            )),
            None => Answer::Pass("the cloud answers with these credentials".to_owned()),
        },
    }
}

/// (b) A manager that looks into the wrong project would delete nodes.
fn nodes(case: &Case<'_>) -> Answer {
    let report = match report(case) {
        Ok(report) => report,
        Err(answer) => return answer,
    };
    let (absent, unknown) = (&report.nodes_absent, &report.nodes_unknown);
    if !absent.is_empty() {
        return Answer::Fail(format!(
            "the cloud has no machine for the nodes {}; they would be deleted. Is it the right project and region? If the machines are gone, delete these nodes",
            absent.join(", ")
        ));
    }
    if !unknown.is_empty() {
        return Answer::Unknown(format!(
            "the cloud does not say whether it has machines for the nodes {}",
            unknown.join(", ")
        ));
    }
    let ours = case.observed.nodes.len().saturating_sub(report.nodes_foreign.len());
    if report.nodes_present == 0 && ours > 0 {
        return Answer::Fail(
            "the cloud has a machine for none of the nodes; is it the right project and region?".to_owned(),
        );
    }
    Answer::Pass(format!(
        "{} nodes were found in the cloud, {} are of somebody else and left alone",
        report.nodes_present,
        report.nodes_foreign.len()
    ))
}

/// (c) and I3.
fn cluster_name(case: &Case<'_>) -> Answer {
    let wanted = &case.spec.cluster_name;
    match &case.status.cluster_name {
        Some(first) if first != wanted => Answer::Fail(format!(
            "clusterName is {wanted:?}, but the load balancers of this cluster were made as {first:?}; set it back"
        )),
        _ => named_by_previous(case).unwrap_or_else(|| case.observed.preflight.cluster_name.clone()),
    }
}

/// The name that the previous manager of OpenStack was told is in the names of the load balancers that it made.
fn named_by_previous(case: &Case<'_>) -> Option<Answer> {
    if case.spec.platform != PlatformName::OpenStack {
        return None;
    }
    let wanted = &case.spec.cluster_name;
    let mut names = case.observed.managers.iter().filter(|manager| manager.desired > 0).map(|manager| {
        let told = value_of(&manager.arguments, "cluster-name").filter(|name: &String| !name.is_empty());
        (manager, told.unwrap_or_else(|| DEFAULT_NAME.to_owned()))
    });
    // A variable stands for what cannot be seen here.
    let (manager, name) = names.find(|(_, name)| name != wanted && !name.starts_with("$("))?;
    Some(Answer::Fail(format!(
        "clusterName is {wanted:?}, but {} runs with --cluster-name={name}, by which its load balancers are named; make a new object with clusterName: {name}",
        manager.workload.key()
    )))
}

/// The previous manager must wait for the Lease that ours takes, or there is nothing between the two.
fn lease_shared(case: &Case<'_>) -> Answer {
    let mut running = case
        .observed
        .managers
        .iter()
        .filter(|manager| manager.desired > 0 || manager.live().next().is_some());
    let Some(manager) = running.find(|manager| !heeds_lease(case, manager)) else {
        return Answer::Pass("nobody uses another Lease".to_owned());
    };
    let what = manager.workload.key();
    Answer::Fail(match lease_of(manager) {
        None => format!(
            "{what} runs with --leader-elect=false; let it elect a leader first, so that it can be seen to have stopped"
        ),
        Some((namespace, name)) => format!(
            "{what} uses Lease {namespace}/{name}; set leaseNamespace: {namespace} and leaseName: {name}"
        ),
    })
}

/// The gate: the plan of our shadow makes, takes away and moves nothing that nobody has accepted.
fn hand_over(case: &Case<'_>, kind: MigrationKind) -> Answer {
    let report = match report(case) {
        Ok(report) if report.mode == Some(ManagerMode::Shadow) => report,
        Ok(_) => return Answer::Unknown("our manager has not reported in shadow mode yet".to_owned()),
        Err(answer) => return answer,
    };
    if !report.cloud_known {
        return Answer::Unknown(format!(
            "the plan has gaps: {}",
            report.cloud_problem.as_deref().unwrap_or("the cloud does not say everything yet")
        ));
    }
    // Where nobody else makes load balancers, or nobody is left who would, one for a new Service is no change by the hand-over.
    let is_first = matches!(kind, MigrationKind::Fresh | MigrationKind::None | MigrationKind::Embedded)
        || others(case).is_empty();
    let blocking: Vec<&ShadowFinding> = not_accepted(case, report)
        .into_iter()
        .filter(|finding| !(is_first && is_new(case, finding)))
        .collect();
    match (blocking.as_slice(), report.unlisted()) {
        ([], 0) => Answer::Pass("the hand-over makes, removes and re-addresses nothing".to_owned()),
        ([], more) => {
            Answer::Fail(format!("{more} Services would be changed and do not fit into the report"))
        }
        (found, _) => Answer::Fail(format!("{}. Mend it, or accept it by migration.accept", list(found))),
    }
}

/// The findings that nobody has accepted.
pub(super) fn not_accepted<'a>(case: &Case<'a>, report: &'a ShadowFacts) -> Vec<&'a ShadowFinding> {
    let accept: BTreeSet<&str> = case.spec.migration.accept.iter().map(String::as_str).collect();
    report.not_accepted(&accept)
}

/// Whether a load balancer would be made for a Service that has none yet: that is not the hand-over's doing.
pub(super) fn is_new(case: &Case<'_>, finding: &ShadowFinding) -> bool {
    let snapshot = case.status.migration.as_ref().and_then(|migration| migration.snapshot.as_ref());
    let was_there = snapshot.is_some_and(|snapshot| snapshot.services.contains_key(&finding.service));
    let has_none = case
        .observed
        .service(&finding.service)
        .is_some_and(|service| service.ingress.is_empty() && service.load_balancer_id.is_none());
    finding.would == WouldDo::Create && has_none && !was_there
}

/// Whether a load balancer would be removed because a person deletes its Service: that is not the hand-over's doing, either.
pub(super) fn is_leaving(case: &Case<'_>, finding: &ShadowFinding) -> bool {
    let is_deleted = case.observed.service(&finding.service).is_none_or(|service| service.deleting);
    finding.would == WouldDo::Delete && is_deleted
}

/// Findings for people, the first few.
pub(super) fn list(found: &[&ShadowFinding]) -> String {
    let first = found.iter().take(5).map(|finding| {
        let ShadowFinding { service, would, message, .. } = finding;
        match would {
            WouldDo::Block => format!("{service} would not get what it asks for: {message}"),
            _ => format!("{service} would {would:?}: {message}"),
        }
    });
    let mut text = first.collect::<Vec<_>>().join("; ");
    if found.len() > 5 {
        text.push_str(&format!("; and {} more", found.len() - 5));
    }
    text
}
