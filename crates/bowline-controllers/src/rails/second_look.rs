//! Safety rail SR-7: a plan that takes away all, or more than half, of a set is held until a second, fresh look at the
//! world wants the same.
//!
//! One wrong answer of a cloud (an empty list, a page that is missing) must not wipe what works. Pure: the caller looks
//! again, and shows here what that came to.

use std::collections::BTreeSet;
use std::time::Duration;

use bowline_cloud::StepFacts;
use tokio::time::Instant;

/// Drastic removals that wait for their second look. `T` names one of them.
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

/// What the rail says of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing drastic in it, or seen twice.
    Pass,
    /// Take nothing away now.
    Hold {
        /// When to look again.
        after: Duration,
        /// Whether this is held for the first time: time to tell somebody.
        is_new: bool,
    },
}

impl<T: Ord> SecondLook<T> {
    /// Judges the drastic `removals` of a plan (none if it has none) that was made from a look nobody has judged before.
    /// Two looks count as two if `apart` lies between them: a cloud that answers wrongly does so for more than a moment.
    ///
    /// What is left of removals that were seen twice is not held again, until they are [`settled`](Self::settled).
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

    /// The plan is done with: the next drastic removal needs two looks again.
    pub fn settled(&mut self) {
        self.held = None;
    }
}

/// What the steps of a plan would take away drastically, in words that are the same for the same change.
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
