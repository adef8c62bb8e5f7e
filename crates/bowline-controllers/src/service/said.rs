//! The condition that we wrote on a Service last, until the informer shows it. Pure but for the clock.

use std::time::Duration;

use bowline_cloud::{ServiceCondition, ServiceView, Text};
use tokio::time::Instant;

use super::condition::says_the_same;

/// By then the informer has shown what we wrote, or what somebody wrote over it: an informer that falls behind may show only the last.
const SHOWN_WITHIN: Duration = Duration::from_secs(60);

/// What we wrote, or tried to.
#[derive(Debug)]
pub(super) struct Said {
    /// On which Service: another may have its name.
    pub(super) uid: Text,
    condition: ServiceCondition,
    pub(super) at: Instant,
    state: State,
}

/// How far a write has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nobody knows whether it took effect.
    Sent,
    Accepted,
    /// The informer has shown it: from then on the informer is asked, which shows if somebody changes it.
    Shown,
}

/// The condition that a Service has, as far as we know.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Present {
    Nothing,
    Says(ServiceCondition),
    /// A write of ours had no answer: it may be the one from before or the one that was written.
    Unknown,
}

impl Present {
    /// As the informer shows it.
    pub(super) fn of(service: &ServiceView) -> Self {
        service.condition.as_deref().cloned().map_or(Self::Nothing, Self::Says)
    }

    /// The condition, if it is known that there is one and what it says.
    pub(super) fn known(&self) -> Option<&ServiceCondition> {
        match self {
            Self::Says(condition) => Some(condition),
            Self::Nothing | Self::Unknown => None,
        }
    }
}

impl Said {
    pub(super) fn sent(service: &ServiceView, condition: ServiceCondition) -> Self {
        Self { uid: service.uid.clone(), condition, at: Instant::now(), state: State::Sent }
    }

    pub(super) fn was_accepted(&mut self) {
        self.state = State::Accepted;
    }

    /// The informer shows this one.
    pub(super) fn is_shown_by(&mut self, there: &ServiceCondition) {
        if self.state == State::Accepted && says_the_same(there, &self.condition) {
            self.state = State::Shown;
        }
    }

    /// What is known beyond the informer.
    pub(super) fn unshown(&self) -> Option<Present> {
        match self.state {
            State::Sent => Some(Present::Unknown),
            State::Accepted if self.at.elapsed() < SHOWN_WITHIN => {
                Some(Present::Says(self.condition.clone()))
            }
            State::Accepted | State::Shown => None,
        }
    }
}
