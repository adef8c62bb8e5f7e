//! The simulation of whole systems: `sim/dst`.

use std::ffi::OsString;

use crate::run::{cargo, run};

/// Swarm seeds are begun for so many minutes where everything is tested.
const MINUTES: &str = "4";

/// Builds the simulation, fast, and runs it.
pub(crate) fn dst(arguments: &[OsString]) -> anyhow::Result<()> {
    run(cargo(&["run", "--quiet", "--locked", "--profile", "dst", "--package", "dst", "--"]).args(arguments))
}

/// All single faults, and as many seeds as there is time for.
pub(crate) fn always() -> anyhow::Result<()> {
    dst(&["--minutes".into(), MINUTES.into(), "--seeds".into(), "1000000".into()])
}
