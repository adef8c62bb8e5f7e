//! The condition that this process last wrote on a Service, until the informer shows it. Pure except for the clock.

use bowline_cloud::{ServiceCondition, ServiceView, Text};
use tokio::time::Instant;

use super::condition::says_the_same;
use super::noted::SHOWN_WITHIN;

/// The last write of a condition.
#[derive(Debug)]
pub(super) struct Said {
    /// The UID of the Service: a later Service may have the same name.
    pub(super) uid: Text,
    condition: ServiceCondition,
    pub(super) at: Instant,
    state: State,
}

/// The state of the write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Sent without an answer so far, or failed: it may have taken effect.
    Sent,
    /// The API server accepted it; the informer does not show it yet.
    Accepted,
    /// The informer has shown it. From then on the informer is authoritative, because it also shows changes by other clients.
    Shown,
}

/// The condition of a Service as far as it is known.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Present {
    Nothing,
    Says(ServiceCondition),
    /// The last write had no answer, so the Service has the previous condition or the written one.
    Unknown,
}

impl Present {
    /// The condition that the informer shows.
    pub(super) fn of(service: &ServiceView) -> Self {
        service.condition.as_deref().cloned().map_or(Self::Nothing, Self::Says)
    }

    /// The condition; `None` if there is none or it is unknown.
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

    /// The informer shows this condition.
    pub(super) fn is_shown_by(&mut self, there: &ServiceCondition) {
        if self.state == State::Accepted && says_the_same(there, &self.condition) {
            self.state = State::Shown;
        }
    }

    /// What this process knows that the informer does not show yet; `None` if the informer is authoritative.
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
