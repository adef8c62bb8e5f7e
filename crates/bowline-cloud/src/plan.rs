//! The plan vocabulary: what a planner answers, as data.
//!
//! A plan leaves no choice to its executor. It can be printed (dry-run), explained (every step has its reason), judged
//! by the safety rails before anything happens, and compared with a golden file.

use std::fmt;
use std::time::Duration;

/// The answer of a planner: `S` are the steps, `T` is the result once there is nothing left to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan<S, T> {
    /// The world is as wanted; this is the result.
    Settled(T),
    /// Perform these steps in order, then observe again. Never empty.
    Act(Vec<Planned<S>>),
    /// Nothing can be done now; look again when this has passed. A wait is a requeue, never a held worker.
    Wait(Wait),
    /// Another controller does this for us: success, nothing is written.
    Elsewhere,
    /// This cannot be done; a person must change something.
    Refuse(Refusal),
}

/// A step with the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned<S> {
    /// What to do.
    pub step: S,
    /// Why, in words for a person.
    pub reason: String,
    /// Whether it is as right when the steps before it in the plan have just succeeded: then nobody has to look at the cloud
    /// again in between. The provider says so; without it every step is followed by a look.
    pub at_once: bool,
}

impl<S> Planned<S> {
    /// A step and its reason.
    #[must_use]
    pub fn new(step: S, reason: impl Into<String>) -> Self {
        Self { step, reason: reason.into(), at_once: false }
    }

    /// The step may follow the one before it without another look.
    #[must_use]
    pub fn at_once(mut self) -> Self {
        self.at_once = true;
        self
    }
}

/// Something that has to happen in the cloud first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// What is waited for, in words for a person: it is shown as the Service's condition.
    pub reason: String,
    /// When to look again, whatever polls say: with the next poll after that.
    pub at_most: Duration,
}

/// Why a wish cannot be fulfilled, and what would help.
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

/// A step of a plan: typed by its provider, described to everybody else by its [`StepFacts`].
pub trait Step: fmt::Display + Send + Sync {
    /// What the rails, the budget and the metrics must know about this step.
    fn facts(&self) -> StepFacts;
}

/// What a step does, in the words the safety rails understand.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepFacts {
    /// What is done.
    pub verb: Verb,
    /// To what kind of cloud object: `listener`, `floating ip`, …
    pub kind: &'static str,
    /// To which one: its id, or its name if it does not exist yet.
    pub target: String,
    /// How a set changes, if the step replaces one (safety rail SR-7 guards against emptying it).
    pub set: Option<SetChange>,
    /// Kinds of objects that go with the target when it is taken away, without steps of their own.
    pub takes: &'static [&'static str],
}

impl StepFacts {
    /// A step that does this to that.
    #[must_use]
    pub fn new(verb: Verb, kind: &'static str, target: impl Into<String>) -> Self {
        Self { verb, kind, target: target.into(), set: None, takes: &[] }
    }

    /// With the target go objects of these kinds.
    #[must_use]
    pub const fn taking(mut self, kinds: &'static [&'static str]) -> Self {
        self.takes = kinds;
        self
    }

    /// The step replaces a set.
    #[must_use]
    pub fn replacing(mut self, set: SetChange) -> Self {
        self.set = Some(set);
        self
    }
}

/// What a step does to its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// Makes something new: counted against the create budget (SR-10).
    Create,
    /// Changes what is there.
    Update,
    /// Takes something away.
    Delete,
}

/// The size of a set before and after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetChange {
    /// Members now.
    pub before: usize,
    /// Of these, how many are taken away.
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
