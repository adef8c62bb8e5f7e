//! SR-3, read-only on authentication loss: while the cloud rejects our credentials, or identifies us as another project, nothing is changed
//! in the cloud or in the cluster. Cached state is kept, and work resumes automatically once the original identity is confirmed.
//!
//! Pure: the caller passes the results of observations and when they began. An observation that began before the loss proves nothing about
//! the time after it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use tokio::time::Instant;

/// How long a confirmation of our identity by the cloud outweighs a single API that rejects us. The caller that checks the identity must do
/// so more often than this.
pub const WORD_COUNTS_FOR: Duration = Duration::from_secs(120);

/// How long it is remembered that an API rejected us while the cloud confirmed our identity.
const DISPUTE_LASTS: Duration = Duration::from_secs(3600);

/// How often one call is let through during a freeze, for clouds that cannot report the identity: only a successful call ends the freeze
/// there.
const TRY_EVERY: Duration = Duration::from_secs(5);

/// The part of the cloud provider that answered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The identity API, which reports who we are.
    Identity,
    /// The start of the provider.
    Start,
    /// The API for instances.
    Instances,
    /// The API for load balancers.
    LoadBalancers,
    /// The API for routes.
    Routes,
    /// A provider-specific controller of this name.
    Extra(String),
}

/// The identity that the cloud reports for our credentials, and the freeze while it is lost.
#[derive(Debug, Default)]
pub struct IdentityRail {
    /// The identity that the cloud reported first; `None` until then, and for clouds that cannot report one.
    known: Option<String>,
    /// When the latest identity check that confirmed it began.
    said: Option<Instant>,
    freeze: Option<Freeze>,
    /// The parts that rejected us while the cloud confirmed our identity, and when they last did. They cause no freeze: only their own
    /// controllers fail.
    disputed: BTreeMap<Part, Instant>,
    /// When a call was last let through during a freeze.
    tried: Option<Instant>,
}

#[derive(Debug)]
struct Freeze {
    loss: Loss,
    /// Observations that began before this do not end the freeze.
    since: Instant,
    /// The parts that rejected us.
    by: BTreeSet<Part>,
}

/// Why nothing may be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loss {
    /// The cloud rejects our credentials, with the error of the cloud.
    Refused(String),
    /// The credentials belong to another identity than at the start: objects of another project would be treated as ours.
    Changed {
        /// The identity at the start.
        known: String,
        /// The identity now.
        found: String,
    },
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(why) => write!(
                f,
                "the cloud does not accept our identity ({why}); nothing is changed until it does. Check the credentials"
            ),
            Self::Changed { known, found } => write!(
                f,
                "the credentials now stand for {found:?}, at the start it was {known:?}; nothing is changed until they \
                 stand for {known:?} again. If the change is meant, restart this process"
            ),
        }
    }
}

impl IdentityRail {
    /// Why nothing may be changed now; `None` if there is no freeze.
    #[must_use]
    pub fn loss(&self) -> Option<&Loss> {
        self.freeze.as_ref().map(|freeze| &freeze.loss)
    }

    /// Records that this part of the cloud rejected our credentials.
    pub fn refused(&mut self, part: Part, why: String, now: Instant) {
        if self.is_disputed(&part, now) {
            self.disputed.insert(part, now);
            return;
        }
        // Keep the first message, because later ones differ in their request ids. Also keep the first time: otherwise one API that keeps
        // rejecting us would invalidate every identity check that is in progress.
        let freeze = self.freeze.get_or_insert_with(|| Freeze {
            loss: Loss::Refused(why),
            since: now,
            by: BTreeSet::new(),
        });
        if part == Part::Identity {
            freeze.since = now;
        }
        freeze.by.insert(part);
    }

    /// Records that an observation that began at `begun` was answered. Ends a freeze only for clouds that cannot report an identity.
    pub fn accepted(&mut self, begun: Instant) {
        if self.known.is_none() {
            self.recover(begun);
        }
    }

    /// Records that a call of `part` succeeded, although it may not have reached the cloud. Ends a freeze only if this part was rejected,
    /// and no other part than provider-specific controllers and the identity API: then nothing else would show that the cloud accepts us
    /// again.
    pub fn went_well(&mut self, part: &Part, begun: Instant) {
        let unproven = |part: &Part| matches!(part, Part::Extra(_) | Part::Identity);
        let ends = |freeze: &Freeze| freeze.by.contains(part) && freeze.by.iter().all(unproven);
        if self.freeze.as_ref().is_some_and(ends) {
            self.accepted(begun);
        }
    }

    /// Checks whether a call may be made that both reads and changes. Refused during a freeze, except that one call every few seconds is
    /// let through if the cloud cannot report an identity: only an answer ends the freeze there.
    ///
    /// # Errors
    ///
    /// The [`Loss`], during a freeze.
    pub fn lets_call(&mut self, now: Instant) -> Result<(), Loss> {
        let Some(loss) = self.loss() else { return Ok(()) };
        let is_early = self.tried.is_some_and(|tried| now.duration_since(tried) < TRY_EVERY);
        if self.known.is_some() || is_early {
            return Err(loss.clone());
        }
        self.tried = Some(now);
        Ok(())
    }

    /// Records the identity from a check that began at `begun`. Returns whether it is the same as before.
    pub fn is(&mut self, found: String, begun: Instant, now: Instant) -> bool {
        let known = self.known.get_or_insert_with(|| found.clone()).clone();
        if known == found {
            self.said = self.said.max(Some(begun));
            self.recover(begun);
            return true;
        }
        let loss = Loss::Changed { known, found };
        self.freeze = Some(Freeze { loss, since: now, by: [Part::Identity].into() });
        false
    }

    fn recover(&mut self, begun: Instant) {
        let Some(freeze) = self.freeze.take_if(|freeze| begun >= freeze.since) else { return };
        if self.known.is_some() && !freeze.by.contains(&Part::Identity) {
            self.disputed.extend(freeze.by.into_iter().map(|part| (part, begun)));
        }
    }

    fn is_disputed(&self, part: &Part, now: Instant) -> bool {
        let within = |at: Instant, limit| now.duration_since(at) < limit;
        self.disputed.get(part).is_some_and(|last| within(*last, DISPUTE_LASTS))
            && self.said.is_some_and(|said| within(said, WORD_COUNTS_FOR))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_refusal_freezes_and_a_later_answer_frees() {
        let (mut rail, start) = (IdentityRail::default(), Instant::now());
        rail.accepted(start);
        assert_eq!(rail.loss(), None);
        rail.refused(Part::Instances, "401".to_owned(), start + SECOND);
        assert!(matches!(rail.loss(), Some(Loss::Refused(_))));
        rail.accepted(start);
        assert!(rail.loss().is_some(), "that look had begun before the loss");
        rail.accepted(start + 2 * SECOND);
        assert_eq!(rail.loss(), None);
    }

    #[test]
    fn another_identity_freezes_until_the_first_is_back() {
        let (mut rail, start) = (IdentityRail::default(), Instant::now());
        assert!(rail.is("project-a".to_owned(), start, start));
        assert!(!rail.is("project-b".to_owned(), start, start));
        let shown = rail.loss().map(ToString::to_string).unwrap_or_default();
        assert!(shown.contains("project-a") && shown.contains("project-b"), "{shown}");
        rail.accepted(start + SECOND);
        assert!(rail.loss().is_some(), "an answer alone does not say to whom");
        assert!(rail.is("project-a".to_owned(), start + SECOND, start + SECOND));
        assert_eq!(rail.loss(), None);
    }

    #[test]
    fn a_cloud_that_can_say_who_we_are_must_say_so_after_a_refusal() {
        let (mut rail, start) = (IdentityRail::default(), Instant::now());
        rail.is("project-a".to_owned(), start, start);
        rail.refused(Part::Instances, "401".to_owned(), start);
        rail.accepted(start + SECOND);
        assert!(rail.loss().is_some());
        assert!(rail.is("project-a".to_owned(), start + SECOND, start + SECOND));
        assert_eq!(rail.loss(), None);
    }

    /// A rail of a cloud that knows us, and whose load balancers refuse us although it said so again.
    fn disputed(start: Instant) -> IdentityRail {
        let mut rail = IdentityRail::default();
        rail.is("project-a".to_owned(), start, start);
        rail.refused(Part::LoadBalancers, "401".to_owned(), start + SECOND);
        rail.is("project-a".to_owned(), start + SECOND, start + SECOND);
        rail
    }

    #[test]
    fn refusals_that_outrun_the_question_do_not_keep_all_frozen() {
        let (mut rail, start) = (IdentityRail::default(), Instant::now());
        rail.is("project-a".to_owned(), start, start);
        rail.refused(Part::LoadBalancers, "401".to_owned(), start + SECOND);
        rail.refused(Part::LoadBalancers, "401".to_owned(), start + 3 * SECOND);
        rail.is("project-a".to_owned(), start + 2 * SECOND, start + 4 * SECOND);
        assert_eq!(rail.loss(), None);
    }

    #[test]
    fn a_part_that_refuses_whom_the_cloud_knows_freezes_nothing_but_any_other_does() {
        let start = Instant::now();
        let mut rail = disputed(start);
        rail.refused(Part::LoadBalancers, "401".to_owned(), start + 3 * SECOND);
        assert_eq!(rail.loss(), None);
        rail.refused(Part::Instances, "401".to_owned(), start + 3 * SECOND);
        assert!(rail.loss().is_some());
    }

    #[test]
    fn the_clouds_word_must_be_fresh_and_its_no_counts_at_once() {
        let start = Instant::now();
        let mut rail = disputed(start);
        rail.refused(Part::LoadBalancers, "401".to_owned(), start + SECOND + WORD_COUNTS_FOR);
        assert!(rail.loss().is_some());
        let mut rail = disputed(start);
        rail.refused(Part::Identity, "401".to_owned(), start + 3 * SECOND);
        assert!(rail.loss().is_some());
    }

    #[test]
    fn a_call_that_may_have_asked_nobody_proves_nothing_about_a_part_that_was_refused() {
        let (mut rail, start) = (IdentityRail::default(), Instant::now());
        let own = Part::Extra("tags".to_owned());
        rail.refused(own.clone(), "401".to_owned(), start);
        rail.refused(Part::Instances, "401".to_owned(), start);
        rail.went_well(&own, start + SECOND);
        assert!(rail.loss().is_some());
        rail.accepted(start + SECOND);
        assert_eq!(rail.loss(), None);
        rail.refused(own.clone(), "401".to_owned(), start + SECOND);
        rail.went_well(&own, start + 2 * SECOND);
        assert_eq!(rail.loss(), None);
    }
}
