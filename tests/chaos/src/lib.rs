//! The shipped `bowline ccm` between a real API server and a simulated OpenStack, killed and disturbed as Sieve disturbs controllers.
//!
//! - [`scenario`] is what people and machines do; a run without a fault says what has to come of it.
//! - [`proxy`] stands between the manager and the API server, and does to watches what can happen to them; [`cloud`] is the cloud.
//! - [`observer`] sees every write of either side, judges it, and kills at the n-th.
//! - [`run`] is one run, [`plan`] what a seed makes of it, [`soak`] many of them for minutes without a pause.
//!
//! Processes and servers are real, and so is time: a seed gives the same faults again, not the same order of every packet.

#![expect(
    clippy::indexing_slicing,
    reason = "an answer without what is looked for fails the run, as it should"
)]

pub mod cloud;
pub mod cluster;
pub mod disturbance;
pub mod harness;
pub mod invariants;
pub mod observer;
pub mod plan;
pub mod process;
pub mod proxy;
pub mod run;
pub mod scenario;
pub mod snapshot;
pub mod soak;
