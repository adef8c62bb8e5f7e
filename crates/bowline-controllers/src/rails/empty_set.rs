//! Safety rail SR-7: a change that empties a set, or takes more than half of it away, needs two observations that agree.
//!
//! One wrong answer of a cloud (an empty list, a page that is missing) must not wipe what works. Pure: the caller looks
//! again, and shows here what the second look came to.

use std::collections::BTreeSet;
use std::time::Duration;

use bowline_cloud::StepFacts;
use tokio::time::Instant;

/// Drastic changes that wait for a second look. One for each object with a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EmptySetGuard {
    held: Option<Held>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Held {
    changes: BTreeSet<String>,
    since: Instant,
}

/// What becomes of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing drastic in it, or seen twice.
    Pass,
    /// Look again first.
    Hold {
        /// What would be taken away.
        what: String,
        /// When to look again.
        after: Duration,
        /// Whether this is the first time it is held.
        is_new: bool,
    },
}

impl EmptySetGuard {
    /// Judges the steps of a plan that was made from an observation nobody has judged before. Two looks count as two
    /// if `apart` lies between them: a cloud that answers wrongly does so for more than a moment.
    ///
    /// The steps of one plan are performed one by one, each after a look of its own: what is left of a change that was
    /// seen twice is not held again.
    pub fn judge<'a>(
        &mut self,
        steps: impl IntoIterator<Item = &'a StepFacts>,
        apart: Duration,
        now: Instant,
    ) -> Verdict {
        let changes: BTreeSet<String> = steps.into_iter().filter_map(drastic_change).collect();
        if changes.is_empty() {
            self.held = None;
            return Verdict::Pass;
        }
        let what = changes.iter().map(String::as_str).collect::<Vec<_>>().join("; ");
        if let Some(held) = self.held.as_ref().filter(|held| changes.is_subset(&held.changes)) {
            let after = apart.saturating_sub(now.duration_since(held.since));
            return if after.is_zero() {
                Verdict::Pass
            } else {
                Verdict::Hold { what, after, is_new: false }
            };
        }
        self.held = Some(Held { changes, since: now });
        Verdict::Hold { what, after: apart, is_new: true }
    }

    /// The plan is done with: the next drastic change needs two looks again.
    pub fn settled(&mut self) {
        self.held = None;
    }
}

/// What would be taken away, in words that are the same for the same change.
fn drastic_change(facts: &StepFacts) -> Option<String> {
    let set = facts.set.filter(|set| set.is_drastic())?;
    Some(format!("{} {} would lose {} of {}", facts.kind, facts.target, set.removed, set.before))
}

#[cfg(test)]
mod tests {
    use bowline_cloud::{SetChange, Verb};

    use super::*;

    const APART: Duration = Duration::from_secs(5);

    fn pool(name: &str, before: usize, removed: usize) -> StepFacts {
        StepFacts::new(Verb::Update, "pool", name).replacing(SetChange { before, removed })
    }

    fn is_held(verdict: &Verdict) -> bool {
        matches!(verdict, Verdict::Hold { .. })
    }

    #[test]
    fn emptying_a_set_is_held_until_a_second_look_says_the_same() {
        let (mut guard, now) = (EmptySetGuard::default(), Instant::now());
        let what = "pool web would lose 3 of 3".to_owned();
        let first = Verdict::Hold { what: what.clone(), after: APART, is_new: true };
        assert_eq!(guard.judge([&pool("web", 3, 3)], APART, now), first);
        let soon = guard.judge([&pool("web", 3, 3)], APART, now + Duration::from_secs(2));
        let rest = Duration::from_secs(3);
        assert_eq!(soon, Verdict::Hold { what, after: rest, is_new: false }, "too soon to be a second look");
        assert_eq!(guard.judge([&pool("web", 3, 3)], APART, now + APART), Verdict::Pass);
        guard.settled();
        assert!(is_held(&guard.judge([&pool("web", 3, 3)], APART, now + APART)), "another time");
    }

    #[test]
    fn what_is_left_of_a_change_that_was_seen_twice_is_not_held_again() {
        let (mut guard, now) = (EmptySetGuard::default(), Instant::now());
        let (web, dns) = (pool("web", 3, 3), pool("dns", 3, 3));
        assert!(is_held(&guard.judge([&web, &dns], APART, now)));
        assert_eq!(guard.judge([&web, &dns], APART, now + APART), Verdict::Pass);
        assert_eq!(guard.judge([&dns], APART, now + APART), Verdict::Pass);
    }

    #[test]
    fn a_second_look_that_says_something_else_starts_anew() {
        let (mut guard, now) = (EmptySetGuard::default(), Instant::now());
        assert!(is_held(&guard.judge([&pool("web", 3, 3)], APART, now)));
        let later = now + APART;
        assert_eq!(guard.judge([&pool("web", 3, 1)], APART, later), Verdict::Pass, "the answer was wrong");
        assert!(is_held(&guard.judge([&pool("web", 3, 3)], APART, later)));
        assert!(is_held(&guard.judge([&pool("web", 3, 2)], APART, later + APART)));
    }

    #[test]
    fn ordinary_changes_pass_at_once() {
        let create = StepFacts::new(Verb::Create, "pool", "web");
        let steps = [&pool("web", 4, 2), &pool("new", 0, 0), &create];
        assert_eq!(EmptySetGuard::default().judge(steps, APART, Instant::now()), Verdict::Pass);
    }
}
