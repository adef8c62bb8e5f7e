//! Services as people use them: kubectl on a real API server, `bowline ccm` with the rights that are shipped, a simulated
//! OpenStack over HTTP, and the `openstack` client to see what came of it.
//!
//! Needs the programs: `cargo xtask kubernetes` and `cargo xtask openstack-client`. Without them nothing is tested, said aloud.

#![expect(
    clippy::indexing_slicing,
    reason = "an answer without what is looked for fails the test, as it should"
)]

mod bad_input;
#[path = "../../../../sim/sim-openstack/tests/openstack_client/location.rs"]
#[allow(dead_code, unreachable_pub, reason = "the file is part of xtask as well")]
mod client_location;
#[path = "../stage/cloud.rs"]
#[allow(dead_code, reason = "it is part of several test targets, which use different parts of it")]
mod cloud;
mod credentials;
mod journeys;
mod kubectl;
mod openstack;
mod site;
