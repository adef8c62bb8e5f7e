//! Safety rail SR-7: a change that empties a set, or takes more than half of it away, needs two observations that agree.
//!
//! One wrong answer of a cloud (an empty list, a page that is missing) must not wipe what works. Pure: the caller looks
//! again, and shows here what the second look came to.

use std::fmt::Write;

use bowline_cloud::StepFacts;

/// A drastic change that waits for a second look. One for each object with a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EmptySetGuard {
    held: Option<String>,
}

/// What becomes of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing drastic in it, or seen twice.
    Pass,
    /// Look again first. The text says what would be taken away.
    Hold(String),
}

impl EmptySetGuard {
    /// Judges the steps of a plan that was made from an observation nobody has judged before.
    pub fn judge<'a>(&mut self, steps: impl IntoIterator<Item = &'a StepFacts>) -> Verdict {
        let drastic = drastic_changes(steps);
        if drastic.is_empty() {
            self.held = None;
            return Verdict::Pass;
        }
        if self.held.as_ref() == Some(&drastic) {
            // Stays held as seen: the steps of one plan are performed one by one, each after a look of its own.
            return Verdict::Pass;
        }
        self.held = Some(drastic.clone());
        Verdict::Hold(drastic)
    }

    /// The plan is done with: the next drastic change needs two looks again.
    pub fn settled(&mut self) {
        self.held = None;
    }
}

/// What would be taken away, in words that are the same for the same change.
fn drastic_changes<'a>(steps: impl IntoIterator<Item = &'a StepFacts>) -> String {
    let mut text = String::new();
    for facts in steps {
        let Some(set) = facts.set.filter(|set| set.is_drastic()) else { continue };
        let separator = if text.is_empty() { "" } else { "; " };
        let StepFacts { kind, target, .. } = facts;
        let written = write!(text, "{separator}{kind} {target} would lose {} of {}", set.removed, set.before);
        debug_assert!(written.is_ok(), "a String takes every write");
    }
    text
}

#[cfg(test)]
mod tests {
    use bowline_cloud::{SetChange, Verb};

    use super::*;

    fn pool(before: usize, removed: usize) -> StepFacts {
        StepFacts::new(Verb::Update, "pool", "web").replacing(SetChange { before, removed })
    }

    #[test]
    fn emptying_a_set_is_held_until_a_second_look_says_the_same() {
        let mut guard = EmptySetGuard::default();
        let held = Verdict::Hold("pool web would lose 3 of 3".to_owned());
        assert_eq!(guard.judge([&pool(3, 3)]), held);
        assert_eq!(guard.judge([&pool(3, 3)]), Verdict::Pass);
        guard.settled();
        assert_eq!(guard.judge([&pool(3, 3)]), held, "another time is another change");
    }

    #[test]
    fn a_second_look_that_says_something_else_starts_anew() {
        let mut guard = EmptySetGuard::default();
        assert!(matches!(guard.judge([&pool(3, 3)]), Verdict::Hold(_)));
        assert_eq!(guard.judge([&pool(3, 1)]), Verdict::Pass, "the empty answer was wrong");
        assert!(matches!(guard.judge([&pool(3, 3)]), Verdict::Hold(_)));
        assert!(matches!(guard.judge([&pool(3, 2)]), Verdict::Hold(_)));
    }

    #[test]
    fn ordinary_changes_pass_at_once() {
        let mut guard = EmptySetGuard::default();
        let create = StepFacts::new(Verb::Create, "pool", "web");
        assert_eq!(guard.judge([&pool(4, 2), &pool(0, 0), &create]), Verdict::Pass);
    }
}
