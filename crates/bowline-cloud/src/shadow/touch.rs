//! What a step does to what users reach: the one question on which shadow mode and adopt-only mode decide. Pure.

use super::Verdict;
use crate::plan::{StepFacts, Verb};

/// The kind of step that is about a load balancer as a whole.
pub const LOAD_BALANCER: &str = "load balancer";

/// The kind of step that is about an address that leads to one.
pub const FLOATING_IP: &str = "floating ip";

/// The kinds without which a port of a Service is not reached.
const CARRIES_TRAFFIC: [&str; 2] = ["listener", "pool"];

/// What a step does to what users reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touch {
    /// It takes away a load balancer or an address.
    Deletes,
    /// It changes the address of a Service that has one, or gives it one that was there before.
    Readdresses,
    /// It makes a load balancer, or an address for a Service that has none.
    Creates,
    /// It takes away what carries traffic: a listener, or most members of a pool.
    Cuts,
    /// It changes something in place.
    InPlace,
}

impl Touch {
    /// What a step does to a Service that has an address, or not.
    #[must_use]
    pub fn of(step: &StepFacts, has_address: bool) -> Self {
        match (step.kind, step.verb) {
            (LOAD_BALANCER, Verb::Create) => Self::Creates,
            (LOAD_BALANCER, Verb::Delete) => Self::Deletes,
            (FLOATING_IP, Verb::Create) if !has_address => Self::Creates,
            (FLOATING_IP, Verb::Delete) if !has_address => Self::Deletes,
            (FLOATING_IP, _) => Self::Readdresses,
            (kind, Verb::Delete) if CARRIES_TRAFFIC.contains(&kind) => Self::Cuts,
            _ if step.set.is_some_and(crate::SetChange::is_drastic) => Self::Cuts,
            _ => Self::InPlace,
        }
    }

    /// Whether `--adopt-only` holds it back.
    #[must_use]
    pub const fn is_held(self) -> bool {
        matches!(self, Self::Deletes | Self::Readdresses | Self::Creates)
    }
}

impl From<Touch> for Verdict {
    fn from(touch: Touch) -> Self {
        match touch {
            Touch::Deletes | Touch::Cuts => Self::Deletes,
            Touch::Readdresses => Self::Readdresses,
            Touch::Creates => Self::Creates,
            Touch::InPlace => Self::Changes,
        }
    }
}
