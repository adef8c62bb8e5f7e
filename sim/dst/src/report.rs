//! What came of a run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use crate::case::Case;
use crate::fault::{Kind, Place, Script};
use crate::invariants::Violation;
use crate::net::{Effect, Findings};
use crate::trace::Trace;

/// What came of a run.
pub struct Report {
    /// What was run.
    pub case: Case,
    /// What must never happen, and did.
    pub violations: Vec<Violation>,
    /// Everything that happened.
    pub trace: Trace,
    /// The faults that struck.
    pub struck: Script,
    /// The changes.
    pub effects: Vec<Effect>,
    /// How often each kind of change met each kind of fault.
    pub steps: BTreeMap<(String, Option<Kind>), u64>,
    /// How many requests there were of each place.
    pub counts: BTreeMap<Place, u64>,
    /// The tokens that were handed out.
    pub secrets: Vec<String>,
    /// All that was said in objects and metrics, if the run listened.
    pub said: String,
    /// How often an invariant was checked.
    pub checks: u64,
    /// When it came to rest after the faults had ended.
    pub rested: Option<Duration>,
}

impl Report {
    pub(crate) fn of(
        case: Case,
        findings: Findings,
        said: String,
        checks: u64,
        rested: Option<Duration>,
    ) -> Self {
        let Findings { violations, trace, struck, effects, steps, secrets, counts } = findings;
        Self { case, violations, trace, struck, effects, steps, counts, secrets, said, checks, rested }
    }

    /// Whether all held.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.violations.is_empty()
    }

    /// The run as a person reads it, with what was wrong at its end.
    #[must_use]
    pub fn story(&self) -> String {
        let mut story = format!("{} (seed {})\n", self.case.name, self.case.setting.seed);
        story.push_str(&self.trace.story());
        for violation in &self.violations {
            writeln!(story, "{violation}").expect("writing to a text does not fail");
        }
        story
    }
}
