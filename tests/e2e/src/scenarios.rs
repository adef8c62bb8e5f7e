//! The scenarios, in the order in which they run.

mod access;
mod nodes;
mod services;

use crate::scenario::Scenario;

/// All of them.
pub(crate) fn all() -> Vec<Scenario> {
    [nodes::SCENARIOS, access::SCENARIOS, services::SCENARIOS].concat()
}
