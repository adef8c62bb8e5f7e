//! How a step affects the traffic of users. Shadow mode and adopt-only mode use it to judge plans. Pure.

use super::Verdict;
use crate::plan::{StepFacts, Verb};

/// The kind of steps on a load balancer as a whole.
pub const LOAD_BALANCER: &str = "load balancer";

/// The kind of steps on a public address that leads to a load balancer.
pub const FLOATING_IP: &str = "floating ip";

/// The kinds of objects without which a port of a Service is not reachable.
const CARRIES_TRAFFIC: [&str; 2] = ["listener", "pool"];

/// How a step affects the traffic of users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touch {
    /// Deletes a load balancer, or a public address while the Service has no address.
    Deletes,
    /// Changes the address of a Service that has one, also by creating or deleting a public address, or associates an existing public
    /// address.
    Readdresses,
    /// Creates a load balancer, or a public address for a Service that has no address.
    Creates,
    /// Removes what carries traffic: a listener, a pool, or more than half of the members of a set.
    Cuts,
    /// Changes something in place.
    InPlace,
}

impl Touch {
    /// Classifies a step. `has_address` says whether the Service has an address.
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

    /// Whether `--adopt-only` holds the step back.
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
