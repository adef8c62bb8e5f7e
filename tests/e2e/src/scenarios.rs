//! The scenarios, in the order in which they run.

mod services;

use crate::scenario::Scenario;

/// All of them.
pub(crate) fn all() -> Vec<Scenario> {
    [services::SCENARIOS].concat()
}
