//! Safety rail SR-7: a plan that takes away all, or more than half, of a set is held until a second, fresh look at the
//! world gives the same plan. Pure: the caller looks, and says when it did.

use std::collections::BTreeSet;
use std::time::Duration;

use bowline_cloud::SetChange;
use tokio::time::Instant;

/// Remembers the removals that wait for their second look. `T` names one member of the set.
#[derive(Debug)]
pub struct SecondLook<T> {
    /// How much later than the first look the second must be: what was wrong for a moment has passed by then.
    apart: Duration,
    held: Option<Held<T>>,
}

#[derive(Debug)]
struct Held<T> {
    removals: BTreeSet<T>,
    since: Instant,
}

/// What the rail says of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Go on.
    Pass,
    /// Take nothing away now.
    Hold {
        /// When the second look may be taken.
        look_again_after: Duration,
        /// Whether this very plan is held for the first time: time to tell somebody.
        is_new: bool,
    },
}

impl<T: Ord> SecondLook<T> {
    /// A rail whose looks are at least this far apart.
    #[must_use]
    pub fn new(apart: Duration) -> Self {
        Self { apart, held: None }
    }

    /// Judges a plan made from a look at `looked_at` that takes `removals` out of a set of `before` members.
    pub fn judge(&mut self, removals: BTreeSet<T>, before: usize, looked_at: Instant) -> Verdict {
        if !(SetChange { before, removed: removals.len() }).is_drastic() {
            self.held = None;
            return Verdict::Pass;
        }
        let same = self.held.as_ref().filter(|held| held.removals == removals).map(|held| held.since);
        let Some(since) = same else {
            self.held = Some(Held { removals, since: looked_at });
            return Verdict::Hold { look_again_after: self.apart, is_new: true };
        };
        let passed = looked_at.saturating_duration_since(since);
        if passed < self.apart {
            return Verdict::Hold { look_again_after: self.apart.saturating_sub(passed), is_new: false };
        }
        self.held = None;
        Verdict::Pass
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const APART: Duration = Duration::from_secs(5);

    fn set(members: &[u32]) -> BTreeSet<u32> {
        members.iter().copied().collect()
    }

    #[test]
    fn a_small_removal_passes_at_once() {
        let mut rail = SecondLook::new(APART);
        assert_eq!(rail.judge(set(&[1, 2]), 4, Instant::now()), Verdict::Pass);
        assert_eq!(rail.judge(set(&[]), 0, Instant::now()), Verdict::Pass);
    }

    #[test]
    fn a_drastic_removal_passes_when_a_later_look_gives_the_same() {
        let (mut rail, start) = (SecondLook::new(APART), Instant::now());
        let held = |seconds, is_new| Verdict::Hold { look_again_after: Duration::from_secs(seconds), is_new };
        assert_eq!(rail.judge(set(&[1, 2]), 2, start), held(5, true));
        assert_eq!(rail.judge(set(&[1, 2]), 2, start + Duration::from_secs(2)), held(3, false));
        assert_eq!(rail.judge(set(&[1, 2]), 2, start + APART), Verdict::Pass);
        assert_eq!(rail.judge(set(&[1, 2]), 2, start + APART), held(5, true), "a pass is good for one plan");
    }

    #[test]
    fn another_drastic_removal_begins_anew_and_a_look_without_one_clears_it() {
        let (mut rail, start) = (SecondLook::new(APART), Instant::now());
        let held = Verdict::Hold { look_again_after: APART, is_new: true };
        assert_eq!(rail.judge(set(&[1, 2]), 2, start), held);
        assert_eq!(rail.judge(set(&[2]), 1, start + APART), held);
        assert_eq!(rail.judge(set(&[]), 2, start + 2 * APART), Verdict::Pass);
        assert_eq!(rail.judge(set(&[2]), 1, start + 3 * APART), held);
    }
}
