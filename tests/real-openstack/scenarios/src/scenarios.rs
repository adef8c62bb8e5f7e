//! The scenarios, in the order in which they run.

mod access;
mod failures;
mod nodes;
mod routes;
mod services;
mod simulator;
mod takeover;
mod tenants;

use crate::scenario::Scenario;

/// All of them.
pub(crate) fn all() -> Vec<Scenario> {
    [
        nodes::SCENARIOS,
        access::SCENARIOS,
        services::SCENARIOS,
        tenants::SCENARIOS,
        takeover::SCENARIOS,
        routes::SCENARIOS,
        failures::SCENARIOS,
        simulator::SCENARIOS,
    ]
    .concat()
}
