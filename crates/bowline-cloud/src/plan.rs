//! Plans: the results of planners, as data.
//!
//! A plan leaves no decision to its executor. It can be printed (dry-run), explained (every step has its reason), checked by the safety
//! rails before anything happens, and compared with a golden file.

use std::fmt;
use std::time::Duration;

/// The result of a planner. `S` is the type of the steps, `T` the type of the result once nothing is left to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan<S, T> {
    /// The observed state matches the desired state; this is the result.
    Settled(T),
    /// Perform these steps in order, then observe again. Never empty.
    Act(Vec<Planned<S>>),
    /// Nothing can be done now; observe again when a poll reports a change, or after the time in [`Wait`]. The controller requeues the
    /// object and does not block a worker.
    Wait(Wait),
    /// Another controller is responsible. This counts as success: no status is written, and the service controller only removes its own
    /// condition.
    Elsewhere,
    /// The request cannot be satisfied; a user or administrator has to change something.
    Refuse(Refusal),
}

/// A step with the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned<S> {
    /// What to do.
    pub step: S,
    /// Why, as a message for people.
    pub reason: String,
    /// Whether the executor may perform the step without another observation if the previous steps of the plan have just succeeded. The
    /// provider sets this. Otherwise an observation follows before the step.
    pub at_once: bool,
}

impl<S> Planned<S> {
    /// A step with its reason, to be performed after an observation.
    #[must_use]
    pub fn new(step: S, reason: impl Into<String>) -> Self {
        Self { step, reason: reason.into(), at_once: false }
    }

    /// Sets `at_once`: the executor may perform the step directly after the previous one.
    #[must_use]
    pub fn at_once(mut self) -> Self {
        self.at_once = true;
        self
    }
}

/// A change in the cloud that has to finish first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// What the plan waits for, as a message for people. It becomes the message of the condition of the Service.
    pub reason: String,
    /// When to observe again even if polls report no change. The observation happens with the next poll after that.
    pub at_most: Duration,
}

/// Why the request cannot be satisfied, and what would help.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Every problem found, not just the first.
    pub problems: Vec<String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problems.join("; "))
    }
}

/// A step of a plan. Its type belongs to the provider; the framework reads its [`StepFacts`] and its text.
pub trait Step: fmt::Display + Send + Sync {
    /// What the safety rails and the metrics need to know about this step.
    fn facts(&self) -> StepFacts;
}

/// What a step does, in terms of the safety rails.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepFacts {
    /// The kind of the change.
    pub verb: Verb,
    /// The kind of the cloud object: `listener`, `floating ip`, …
    pub kind: &'static str,
    /// The id of the object, or its name if it does not exist yet.
    pub target: String,
    /// How the size of a set changes, if the step replaces a set (safety rail SR-7 guards against emptying it).
    pub set: Option<SetChange>,
    /// The kinds of objects that the cloud deletes together with the target, without steps of their own.
    pub takes: &'static [&'static str],
}

impl StepFacts {
    /// A step with this change of this object.
    #[must_use]
    pub fn new(verb: Verb, kind: &'static str, target: impl Into<String>) -> Self {
        Self { verb, kind, target: target.into(), set: None, takes: &[] }
    }

    /// Sets the kinds of objects that are deleted together with the target.
    #[must_use]
    pub const fn taking(mut self, kinds: &'static [&'static str]) -> Self {
        self.takes = kinds;
        self
    }

    /// Sets how the size of the set changes that the step replaces.
    #[must_use]
    pub fn replacing(mut self, set: SetChange) -> Self {
        self.set = Some(set);
        self
    }
}

/// The kind of change that a step makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// Creates an object; counted by the create budget (safety rail SR-10).
    Create,
    /// Changes an existing object.
    Update,
    /// Deletes an object.
    Delete,
}

/// The size of a set before and after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetChange {
    /// Number of members before the step.
    pub before: usize,
    /// How many of these the step removes.
    pub removed: usize,
}

impl SetChange {
    /// Whether the change empties the set or removes more than half of it.
    #[must_use]
    pub const fn is_drastic(self) -> bool {
        self.before > 0 && self.removed * 2 > self.before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removing_more_than_half_of_a_set_is_drastic_and_filling_an_empty_one_is_not() {
        assert!(SetChange { before: 1, removed: 1 }.is_drastic());
        assert!(SetChange { before: 3, removed: 2 }.is_drastic());
        assert!(!SetChange { before: 4, removed: 2 }.is_drastic());
        assert!(!SetChange { before: 0, removed: 0 }.is_drastic());
    }
}
