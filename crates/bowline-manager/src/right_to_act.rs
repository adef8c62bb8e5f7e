//! The permission check (safety rail SR-6): the process asks the API server in advance whether it has the permissions that it needs, so
//! that a missing permission gives a clear message, and not, for example, a Node that silently is not deleted.
//!
//! Nothing depends on the results: an operation without permission fails when it is tried, and everything else works. A missing permission
//! is reported with verb, resource, controller and remedy: in the log, in `/readyz?verbose`, as a metric and as an event. `questions`
//! decides what to check, `rules` evaluates one rules review for many checks, `report` builds the message; this file runs and repeats the
//! checks and reports the results.

mod ask;
mod metrics;
mod questions;
mod report;
mod rules;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::EventKind;
use bowline_kube::events::EventRecorder;
use futures::future::join_all;
use k8s_openapi::api::core::v1::ObjectReference;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{error, info, warn};

pub(crate) use ask::{Ask, KubeAsk};
pub(crate) use metrics::PermissionMetrics;
pub(crate) use questions::{Question, Situation, questions};
use report::Report;
use rules::{Place, grant, places};

use crate::serving::{CheckOutcome, CheckSets, HealthRegistry};

/// The name of the check in `/readyz?verbose`.
const CHECK: &str = "permissions";

/// How long a result with all permissions is cached. Roles change rarely and manually, and a revoked permission is reported where it is
/// needed.
const AGAIN_AFTER: Duration = Duration::from_secs(3600);

/// The interval between checks while a permission is missing or a check failed: a fix may follow soon.
const AGAIN_WHILE_MISSING: Duration = Duration::from_secs(30);

/// The inputs of the permission check.
pub(crate) struct RightToAct {
    /// The permissions to check.
    pub(crate) questions: Vec<Question>,
    /// Sends the checks to the API server.
    pub(crate) ask: Arc<dyn Ask>,
    /// The metric for missing permissions.
    pub(crate) metrics: PermissionMetrics,
    /// Emits events about missing permissions.
    pub(crate) events: EventRecorder,
    /// The object of these events: the main Lease.
    pub(crate) about: ObjectReference,
    /// The manifest that grants all checked permissions, named in messages.
    pub(crate) manifest: &'static str,
}

/// A running permission check. It ends when this value is dropped.
pub(crate) struct Checking {
    leads: watch::Sender<bool>,
    _end: DropGuard,
}

impl Checking {
    /// Reports that this process leads: the check is repeated at once, and from now on also for the ServiceAccounts of the controllers. A
    /// standby must not use these, because obtaining a token creates a ServiceAccount that is missing.
    pub(crate) fn leads(&self) {
        self.leads.send_replace(true);
    }
}

impl RightToAct {
    /// Starts the check: immediately and then periodically. The last result is shown in `health`.
    pub(crate) fn start(self, health: &HealthRegistry) -> Checking {
        let (shown, seen) = watch::channel(CheckOutcome::Degraded("not asked yet".to_owned()));
        health.add(CHECK, CheckSets::READY_ONLY, move || seen.borrow().clone());
        let ((leads, led), end) = (watch::channel(false), CancellationToken::new());
        let ended = end.clone();
        tokio::spawn(async move { ended.run_until_cancelled(self.run(shown, led)).await });
        Checking { leads, _end: end.drop_guard() }
    }

    async fn run(self, shown: watch::Sender<CheckOutcome>, mut leads: watch::Receiver<bool>) {
        let mut told = None;
        loop {
            let is_leader = *leads.borrow_and_update();
            let report = self.ask_all(is_leader).await;
            let fine = report.is_fine();
            self.metrics.show(&report);
            if told.as_ref() != Some(&report) {
                shown.send_replace(report.outcome(self.manifest));
                self.tell(&report, told.as_ref());
                told = Some(report);
            }
            let pause = if fine { AGAIN_AFTER } else { AGAIN_WHILE_MISSING };
            // A timeout or a change starts the next round. An error means that the sender was dropped, so the check ends.
            if let Ok(Err(_ended)) = timeout(pause, leads.changed()).await {
                return;
            }
        }
    }

    async fn ask_all(&self, is_leader: bool) -> Report {
        let may_ask = |question: &&Question| is_leader || question.account.is_none();
        let questions: Vec<_> = self.questions.iter().filter(may_ask).collect();
        let places = places(questions.iter().copied());
        let lists = join_all(places.iter().map(|place| self.ask.rules(place))).await;
        let listed: BTreeMap<Place, _> =
            places.into_iter().zip(lists).filter_map(|(place, rules)| Some((place, rules?))).collect();
        let is_granted = |question: &Question| {
            listed.get(&Place::of(question)).is_some_and(|rules| grant(rules, question))
        };
        let open: Vec<_> = questions.into_iter().filter(|question| !is_granted(question)).collect();
        // Concurrently, so that an identity without credentials only delays its own checks.
        let answers = join_all(open.iter().map(|question| self.ask.ask(question))).await;
        let mut report = Report::default();
        for (question, answer) in open.into_iter().zip(answers) {
            report.add(question, answer);
        }
        report
    }

    /// Reports a changed result in the log, and missing permissions also as an event.
    fn tell(&self, report: &Report, before: Option<&Report>) {
        let Some(message) = report.message(self.manifest) else {
            if before.is_some() {
                info!("all rights that were missing are there now");
            }
            return;
        };
        if report.is_missing_something() {
            error!("{message}");
            self.events.event(&self.about, EventKind::Warning, "MissingPermissions", &message);
        } else {
            warn!("{message}");
        }
    }
}
