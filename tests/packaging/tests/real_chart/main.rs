//! The chart with the real helm, and the rules with the real promtool: what comes of values, what is refused and how, and whether alerts are
//! raised when they should be. No cluster. `INSTA_UPDATE=always` writes what is wanted anew.
//!
//! Needs the programs: `cargo xtask packaging-tools`. Without them nothing is tested, said aloud.

#![expect(
    clippy::indexing_slicing,
    reason = "an answer without what is looked for fails the test, as it should"
)]

#[path = "../tools/helm.rs"]
#[allow(dead_code, reason = "it is part of two test targets, which use different parts of it")]
mod helm;
#[path = "../tools/location.rs"]
#[allow(dead_code, unreachable_pub, reason = "the file is part of xtask as well")]
mod location;
mod operator;
mod refused;
mod rendered;
mod rules;
