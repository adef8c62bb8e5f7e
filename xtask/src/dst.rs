//! The simulation of whole systems: `sim/dst`.

use std::ffi::OsString;

use crate::run::{cargo, run};

/// So many seeds of the swarm where everything is tested: what they come to is the same on every machine.
const SEEDS: &str = "2000";

/// Builds the simulation, fast, and runs it.
pub(crate) fn dst(arguments: &[OsString]) -> anyhow::Result<()> {
    run(cargo(&["run", "--quiet", "--locked", "--profile", "dst", "--package", "dst", "--"]).args(arguments))
}

/// Plans alone, every single fault, and a part of the swarm. The museum is among the other tests.
pub(crate) fn always() -> anyhow::Result<()> {
    dst(&["--no-museum".into(), "--seeds".into(), SEEDS.into()])
}
