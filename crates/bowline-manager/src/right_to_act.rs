//! The right to act (safety rail SR-6): the process asks the API server whether it may do what it is about to do, so that
//! a missing right is a clear message and not a Node that silently stays.
//!
//! Nothing depends on the answers: what is forbidden fails where it is tried, and everything else works. Here it is only
//! said in advance, with verb, resource, controller and what to do: in the log, in `/readyz?verbose`, as a metric and as
//! an event. `questions` decides what is asked, `rules` what one list answers for many, `report` what is said; this file asks, tells,
//! and asks again.

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

/// How long a good answer is believed: roles change rarely, and by hand, and a right that is taken away is missed where it is used.
const AGAIN_AFTER: Duration = Duration::from_secs(3600);

/// The same while something is missing: somebody is about to grant it.
const AGAIN_WHILE_MISSING: Duration = Duration::from_secs(30);

/// What the check works with.
pub(crate) struct RightToAct {
    /// What is asked.
    pub(crate) questions: Vec<Question>,
    /// Who is asked.
    pub(crate) ask: Arc<dyn Ask>,
    /// Where missing rights are counted.
    pub(crate) metrics: PermissionMetrics,
    /// For events about missing rights.
    pub(crate) events: EventRecorder,
    /// What these events are about.
    pub(crate) about: ObjectReference,
    /// Which manifest grants everything that is asked about.
    pub(crate) manifest: &'static str,
}

/// The running check; it ends when this is dropped.
pub(crate) struct Checking {
    leads: watch::Sender<bool>,
    _end: DropGuard,
}

impl Checking {
    /// This process leads now: asks again at once, and from now on also as the controllers. Before that nobody may take their
    /// identities, since that creates a ServiceAccount that is missing.
    pub(crate) fn leads(&self) {
        self.leads.send_replace(true);
    }
}

impl RightToAct {
    /// Starts to ask, at once and then from time to time, and shows the last answer in `health`.
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
            // Either is a reason to ask again, unless who would say so is gone: then this has ended.
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
        // All at once: an identity that cannot be had delays only its own answers.
        let answers = join_all(open.iter().map(|question| self.ask.ask(question))).await;
        let mut report = Report::default();
        for (question, answer) in open.into_iter().zip(answers) {
            report.add(question, answer);
        }
        report
    }

    /// Says what is new; nothing that was said before.
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
