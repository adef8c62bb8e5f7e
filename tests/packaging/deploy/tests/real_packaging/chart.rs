//! The chart with the real helm, and the rules with the real promtool: what comes of values, what is refused and how, and whether alerts are
//! raised when they should be. No cluster. `INSTA_UPDATE=always` writes what is wanted anew.
//!
//! Needs the programs: `cargo xtask packaging-tools`. Without them nothing is tested, said aloud.

mod operator;
mod refused;
mod rendered;
mod rules;
