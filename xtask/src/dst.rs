//! The simulation of whole systems: `sim/dst`.

use std::ffi::OsString;

use crate::run::{cargo, run};

/// So many seeds where everything is tested: what they come to is the same on every machine.
const SEEDS: &str = "2000";

/// Builds the simulation, fast, and runs it.
pub(crate) fn dst(arguments: &[OsString]) -> anyhow::Result<()> {
    run(cargo(&["run", "--quiet", "--locked", "--profile", "dst", "--package", "dst", "--"]).args(arguments))
}

/// A part of the swarm. The exhaustive level is asked for by a person until all of it holds.
pub(crate) fn always() -> anyhow::Result<()> {
    dst(&["--no-exhaustive".into(), "--seeds".into(), SEEDS.into()])
}
