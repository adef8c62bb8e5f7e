//! The simulation of whole systems, `sim/dst`, and of single plans.

use std::ffi::OsString;

use crate::run::{cargo, run};

/// So many seeds where everything is tested: what they come to is the same on every machine.
const SEEDS: &str = "2000";

/// So many wishes and clouds, made up, for the planner alone.
const PLANS: &str = "200000";

/// Builds the simulation, fast, and runs it. Without arguments, all of it: the planner alone comes first.
pub(crate) fn dst(arguments: &[OsString]) -> anyhow::Result<()> {
    if arguments.is_empty() {
        plans()?;
    }
    systems(arguments)
}

/// The planner alone, every single fault, and a part of the swarm.
pub(crate) fn always() -> anyhow::Result<()> {
    plans()?;
    systems(&["--seeds".into(), SEEDS.into()])
}

fn systems(arguments: &[OsString]) -> anyhow::Result<()> {
    run(cargo(&["run", "--quiet", "--locked", "--profile", "dst", "--package", "dst", "--"]).args(arguments))
}

/// Any wish against any cloud, planned, and performed until nothing is left to do: the property tests of the planner, with many more
/// seeds than among the other tests.
fn plans() -> anyhow::Result<()> {
    let mut tests = cargo(&[
        "test",
        "--quiet",
        "--locked",
        "--profile",
        "dst",
        "--package",
        "bowline-openstack",
        "--lib",
    ]);
    run(tests
        .args(["--", "--nocapture", "every_plan_keeps", "whatever_a_cloud_has"])
        .env("BOWLINE_SEEDS", PLANS))
}
