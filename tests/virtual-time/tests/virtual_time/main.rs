//! What things cost, and what a crowd and a failing cloud do: the real controllers over the OpenStack provider, on a
//! simulated cluster and a simulated cloud, in virtual time. Requests are counted in the simulators' own logs.
//!
//! `cargo test -p virtual-time-tests -- --nocapture` prints what was measured.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what is not as expected fails the test, as it should"
)]

mod brown_out;
mod draining;
mod fairness;
mod faults;
mod groups;
mod joins;
mod leader;
mod machines;
mod nodes;
mod one;
mod resync;
mod rounds;
mod shadow;
mod stack;
mod surge;
mod tally;
mod together;
mod world;
