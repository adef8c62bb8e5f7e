//! What is shipped, on a real API server: every object is accepted as it is, pods are as safe as we say, and the binary works under the identity,
//! the rights, the flags and the files that chart and manifests give it, on a simulated OpenStack.
//!
//! Needs the programs: `cargo xtask kubernetes` and `cargo xtask packaging-tools`. Without them nothing is tested, said aloud.

#![expect(
    clippy::indexing_slicing,
    reason = "an answer without what is looked for fails the test, as it should"
)]

mod accepted;
mod chart;
mod harness;
#[path = "../tools/helm.rs"]
mod helm;
mod installed;
#[path = "../tools/location.rs"]
#[allow(dead_code, unreachable_pub, reason = "the file is part of xtask as well")]
mod location;
mod measured;
mod pod;
mod safe;
