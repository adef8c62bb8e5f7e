//! The phases: what each has our manager do, what it does itself, and when it is over. One file for each group of them.
//!
//! A phase is evaluated anew in every pass from the cluster alone; what was decided before is never taken for done.

mod adopt;
mod back;
mod hand_over;
mod nodes;
mod prepare;
mod run;

use super::decision::{Case, Step};
use super::mode::ManagerMode;
use super::preflight::Check;
use super::reason::Reason;
use super::writers::Writer;
use crate::api::{AdminStep, Manager, MigrationKind, Phase, Snapshot};

pub(super) use self::back::is_possible as can_go_back;
pub(super) use self::hand_over::stops;

/// What a phase is evaluated with.
#[derive(Debug)]
pub(super) struct View<'a> {
    /// The case.
    pub case: &'a Case<'a>,
    /// What is migrated from.
    pub kind: MigrationKind,
    /// Everyone else who writes, or may write.
    pub others: Vec<Writer<'a>>,
    /// Whether the phase has taken too long.
    pub overdue: bool,
    /// What it is blocked by, for as long as that is so.
    pub blocked: Option<&'a str>,
    /// How it was before.
    pub snapshot: Option<&'a Snapshot>,
    /// Since when this phase, or the one that it is blocked in.
    pub since: jiff::Timestamp,
}

/// What becomes of a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It goes on; this is waited for.
    Stay(String),
    /// It is over; the next one, and why.
    Go(Phase, String),
    /// A person has to look.
    Block(Reason, String),
}

/// What a phase wants.
#[derive(Debug)]
pub(super) struct Draft {
    /// What becomes of it.
    pub outcome: Outcome,
    /// What our manager may do.
    pub mode: ManagerMode,
    /// Our objects stay as they are.
    pub hold: bool,
    /// What to do.
    pub steps: Vec<Step>,
    /// What a person has to do.
    pub admin: Vec<AdminStep>,
    /// Answers of the preflight, where they were asked for.
    pub checks: Vec<Check>,
    /// What to warn of.
    pub warning: Option<String>,
    /// Services that were not seen settled yet, while load balancers are taken over.
    pub unsettled: Option<Vec<String>>,
}

impl Draft {
    /// Nothing but an outcome and a mode.
    pub(super) fn new(outcome: Outcome, mode: ManagerMode) -> Self {
        Self {
            outcome,
            mode,
            hold: false,
            steps: Vec::new(),
            admin: Vec::new(),
            checks: Vec::new(),
            warning: None,
            unsettled: None,
        }
    }
}

impl View<'_> {
    /// What our manager was last told.
    pub(super) fn current(&self) -> ManagerMode {
        current(self.case)
    }

    /// The mode that writes nothing. The upstream managers have none but not to be there.
    pub(super) fn quiet(&self, wanted: ManagerMode) -> ManagerMode {
        quiet(self.case, wanted)
    }

    /// Whether our manager can tell what it would do.
    pub(super) fn reports(&self) -> bool {
        self.case.spec.manager == Manager::Bowline
    }

    /// Whether all our pods are of a mode.
    pub(super) fn runs_only(&self, mode: ManagerMode) -> bool {
        self.case.observed.ours.as_ref().is_some_and(|ours| ours.runs_only(mode))
    }

    /// The most that any pod of ours may do.
    pub(super) fn strongest(&self) -> ManagerMode {
        self.case.observed.ours.as_ref().map_or(ManagerMode::Absent, super::observed::OurWorkload::strongest)
    }

    /// Waiting for something; or, when it has taken too long, blocked. What it was not blocked by before has all its time.
    pub(super) fn wait(&self, reason: Reason, message: String) -> Outcome {
        let is_still = self.blocked == Some(reason.to_string().as_str());
        if self.overdue || is_still { Outcome::Block(reason, message) } else { Outcome::Stay(message) }
    }
}

/// The mode that writes nothing. The upstream managers have none but not to be there.
pub(super) fn quiet(case: &Case<'_>, wanted: ManagerMode) -> ManagerMode {
    if case.spec.manager == Manager::Upstream { ManagerMode::Absent } else { wanted }
}

/// What our manager was last told. Without its mark it is taken for all it can be.
pub(super) fn current(case: &Case<'_>) -> ManagerMode {
    case.observed.ours.as_ref().map_or(ManagerMode::Absent, |ours| ours.mode.unwrap_or(ManagerMode::Full))
}

/// What a phase wants.
pub(super) fn evaluate(view: &View<'_>, phase: Phase) -> Draft {
    match phase {
        Phase::Detect | Phase::Blocked => prepare::detected(view),
        Phase::Preflight => prepare::preflight(view),
        Phase::AwaitAdmin => prepare::await_admin(view),
        Phase::Relinquish => hand_over::relinquish(view),
        Phase::Fence => hand_over::fence(view),
        Phase::ServiceOnly => adopt::service_only(view),
        Phase::Nodes => nodes::nodes(view),
        Phase::Full => run::full(view),
        Phase::Verify => run::verify(view),
        Phase::Steady => run::steady(view),
        Phase::RollingBack => back::rolling_back(view),
        Phase::Previous => back::previous(view),
    }
}
