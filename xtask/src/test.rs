//! What has to pass, in order: the cheap and the likely to fail first.
//!
//! One step after the other. What is downloaded or built beforehand, and the simulation, which needs nothing but cores, run in the
//! background with the time that is left: compilers wait for each other, and tests for servers.

use crate::ahead::ourselves;
use crate::steps::{Step, run_all, step};
use crate::{
    deny, docs, dst, e2e, generated, kubernetes, lint, packaging_tools, quick_tests, real_tests, sample,
    shipped, tools,
};

const LINT: &str = "lint";
const SUITES: &str = "suites on a real API server";

/// The parts of `--full` that are not suites of tests.
pub(crate) const SCENARIOS: &str = "scenarios";
pub(crate) const SIMULATION: &str = "simulation";

/// What every change must pass, with all set-up. CI runs this.
pub(crate) fn always() -> anyhow::Result<()> {
    let [documentation, lint, generated, quick] = quick_steps();
    run_all(&[
        documentation,
        lint,
        generated,
        quick,
        step("what is shipped", shipped::check),
        step("dependencies", deny::deny).begun_with(LINT, || ourselves(&["deny"])),
        step("helm and promtool", packaging_tools::ensure)
            .begun_with(LINT, || ourselves(&["packaging-tools"])),
        step("Kubernetes servers", kubernetes::ensure_servers)
            .begun_with(LINT, || ourselves(&["kubernetes", "--servers"])),
        step(SUITES, real_tests::run_always),
        step("the sample", || sample::sample(true)),
        step("simulation of whole systems", dst::always)
            .begun_with(SUITES, || ourselves(&[&["dst"], dst::ALWAYS.as_slice()].concat())),
    ])
}

/// What needs no external binary and no network beyond crates.
pub(crate) fn quick() -> anyhow::Result<()> {
    run_all(&quick_steps())
}

/// Everything, for a release: what every change must pass, and the parts that take longer.
pub(crate) fn full() -> anyhow::Result<()> {
    always()?;
    run_all(&[
        step("tools for the tests", tools::ensure),
        step("Kubernetes and other managers", kubernetes::ensure),
        step("long suites on the real thing", real_tests::run_long),
        step("scenarios on a real OpenStack", e2e::all),
        step("long simulation of whole systems", dst::long),
    ])
}

/// Only the parts with these names: suites on the real thing, scenarios, simulation.
pub(crate) fn parts(names: &[String]) -> anyhow::Result<()> {
    let (others, suites): (Vec<&str>, Vec<&str>) =
        names.iter().map(String::as_str).partition(|name| [SCENARIOS, SIMULATION].contains(name));
    if !suites.is_empty() {
        let programs = real_tests::build_named(&suites)?;
        tools::ensure()?;
        kubernetes::ensure()?;
        real_tests::run(programs)?;
    }
    if others.contains(&SCENARIOS) {
        e2e::all()?;
    }
    if others.contains(&SIMULATION) {
        dst::long()?;
    }
    Ok(())
}

fn quick_steps() -> [Step; 4] {
    [
        step("documentation", docs::check),
        step(LINT, lint::lint),
        step("generated files", generated::check),
        step("quick tests", quick_tests::run_all),
    ]
}
