//! Safety rail SR-7: a plan that removes all, or more than half, of a set is held until a second, fresh observation leads to the same plan.
//!
//! One wrong answer of a cloud (an empty list, a missing page) must not remove working objects. Pure: the caller observes again, and passes
//! the removals of the new plan.

use std::collections::BTreeSet;
use std::time::Duration;

use bowline_cloud::StepFacts;
use tokio::time::Instant;

/// Drastic removals that wait for the second observation. `T` identifies one removal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecondLook<T> {
    held: Option<Held<T>>,
}

impl<T> Default for SecondLook<T> {
    fn default() -> Self {
        Self { held: None }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Held<T> {
    removals: BTreeSet<T>,
    since: Instant,
}

/// Whether a plan may be executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The plan has no drastic removal, or two observations confirmed it.
    Pass,
    /// Nothing may be removed now.
    Hold {
        /// When to observe again.
        after: Duration,
        /// Whether this is held for the first time, so that it is reported once.
        is_new: bool,
    },
}

impl<T: Ord> SecondLook<T> {
    /// Judges the drastic `removals` of a plan (empty if it has none). Each plan must be based on a new observation. A second observation
    /// counts only `apart` after the first: a cloud that answers wrongly does so for more than a moment.
    ///
    /// Removals that were confirmed and not executed completely are not held again, until they are [`settled`](Self::settled).
    pub fn judge(&mut self, removals: BTreeSet<T>, apart: Duration, now: Instant) -> Verdict {
        if removals.is_empty() {
            self.held = None;
            return Verdict::Pass;
        }
        if let Some(held) = self.held.as_ref().filter(|held| removals.is_subset(&held.removals)) {
            let after = apart.saturating_sub(now.saturating_duration_since(held.since));
            return if after.is_zero() { Verdict::Pass } else { Verdict::Hold { after, is_new: false } };
        }
        self.held = Some(Held { removals, since: now });
        Verdict::Hold { after: apart, is_new: true }
    }

    /// The plan is completed: the next drastic removal needs two observations again.
    pub fn settled(&mut self) {
        self.held = None;
    }
}

/// The drastic removals of a plan, as text that is the same for the same change.
pub fn drastic_removals<'a>(steps: impl IntoIterator<Item = &'a StepFacts>) -> BTreeSet<String> {
    let words = |facts: &StepFacts| {
        let set = facts.set.filter(|set| set.is_drastic())?;
        Some(format!("{} {} would lose {} of {}", facts.kind, facts.target, set.removed, set.before))
    };
    steps.into_iter().filter_map(words).collect()
}

#[cfg(test)]
mod tests {
    use bowline_cloud::{SetChange, Verb};

    use super::*;

    const APART: Duration = Duration::from_secs(5);

    fn set(members: &[u32]) -> BTreeSet<u32> {
        members.iter().copied().collect()
    }

    fn held(seconds: u64, is_new: bool) -> Verdict {
        Verdict::Hold { after: Duration::from_secs(seconds), is_new }
    }

    #[test]
    fn a_drastic_removal_passes_when_a_later_look_wants_the_same() {
        let (mut rail, now) = (SecondLook::default(), Instant::now());
        assert_eq!(rail.judge(set(&[1, 2]), APART, now), held(5, true));
        assert_eq!(rail.judge(set(&[1, 2]), APART, now + Duration::from_secs(2)), held(3, false), "too soon");
        assert_eq!(rail.judge(set(&[1, 2]), APART, now + APART), Verdict::Pass);
        rail.settled();
        assert_eq!(rail.judge(set(&[1, 2]), APART, now + APART), held(5, true), "another time");
    }

    #[test]
    fn what_is_left_of_removals_that_were_seen_twice_is_not_held_again() {
        let (mut rail, now) = (SecondLook::default(), Instant::now());
        rail.judge(set(&[1, 2]), APART, now);
        assert_eq!(rail.judge(set(&[1, 2]), APART, now + APART), Verdict::Pass);
        assert_eq!(rail.judge(set(&[2]), APART, now + APART), Verdict::Pass);
    }

    #[test]
    fn a_second_look_that_wants_something_else_starts_anew_and_one_that_wants_nothing_clears_it() {
        let (mut rail, now) = (SecondLook::default(), Instant::now());
        assert_eq!(rail.judge(set(&[1, 2]), APART, now), held(5, true));
        assert_eq!(rail.judge(set(&[2, 3]), APART, now + APART), held(5, true));
        assert_eq!(rail.judge(set(&[]), APART, now + 2 * APART), Verdict::Pass, "the answer was wrong");
        assert_eq!(rail.judge(set(&[2, 3]), APART, now + 3 * APART), held(5, true));
    }

    #[test]
    fn only_steps_that_take_more_than_half_away_are_drastic() {
        let pool = |name: &str, before, removed| {
            StepFacts::new(Verb::Update, "pool", name).replacing(SetChange { before, removed })
        };
        let create = StepFacts::new(Verb::Create, "pool", "web");
        assert!(drastic_removals([&pool("web", 4, 2), &pool("new", 0, 0), &create]).is_empty());
        let drastic = drastic_removals([&pool("web", 3, 3), &pool("dns", 3, 2)]);
        assert_eq!(
            drastic.into_iter().collect::<Vec<_>>(),
            ["pool dns would lose 2 of 3", "pool web would lose 3 of 3"]
        );
    }
}
