//! SR-3, read-only on auth loss: while the cloud does not accept us, or takes us for somebody else, nothing is changed in
//! the cloud or in the cluster. What was known stays as it is, and work goes on by itself when we are ourselves again.
//!
//! Pure: which looks were taken and when they began is handed in. A look that had begun before the loss proves nothing
//! about the time after it.

use std::fmt;

use tokio::time::Instant;

/// Who we are to the cloud, as far as its answers tell.
#[derive(Debug, Default)]
pub struct IdentityRail {
    /// What the cloud called us first; `None` while it has not, or cannot.
    known: Option<String>,
    loss: Option<(Loss, Instant)>,
}

/// Why nothing may be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loss {
    /// The cloud does not accept who we say we are; these are its words.
    Refused(String),
    /// We are somebody else than before: another project's objects would be taken for ours.
    Changed {
        /// Who we were at the start.
        known: String,
        /// Who we are now.
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
    /// Why nothing may be changed now; `None` if all is well.
    #[must_use]
    pub fn loss(&self) -> Option<&Loss> {
        self.loss.as_ref().map(|(loss, _)| loss)
    }

    /// The cloud did not accept us.
    pub fn refused(&mut self, why: String, now: Instant) {
        match &mut self.loss {
            // The first words stay: they would otherwise change with every request id.
            Some((_loss, at)) => *at = now,
            None => self.loss = Some((Loss::Refused(why), now)),
        }
    }

    /// A look that began at `begun` was answered. Enough only for a cloud that cannot say who we are to it.
    pub fn accepted(&mut self, begun: Instant) {
        if self.known.is_none() {
            self.recover(begun);
        }
    }

    /// The cloud said in a look that began at `begun` who we are; whether that is who we were.
    pub fn is(&mut self, found: String, begun: Instant, now: Instant) -> bool {
        let known = self.known.get_or_insert_with(|| found.clone()).clone();
        if known == found {
            self.recover(begun);
            return true;
        }
        self.loss = Some((Loss::Changed { known, found }, now));
        false
    }

    fn recover(&mut self, begun: Instant) {
        if self.loss.as_ref().is_some_and(|(_loss, at)| begun >= *at) {
            self.loss = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_refusal_freezes_and_a_later_answer_frees() {
        let (mut rail, start) = (IdentityRail::default(), Instant::now());
        rail.accepted(start);
        assert_eq!(rail.loss(), None);
        rail.refused("401".to_owned(), start + SECOND);
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
        rail.refused("401".to_owned(), start);
        rail.accepted(start + SECOND);
        assert!(rail.loss().is_some());
        assert!(rail.is("project-a".to_owned(), start + SECOND, start + SECOND));
        assert_eq!(rail.loss(), None);
    }
}
