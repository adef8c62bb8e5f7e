//! What has to pass, in order: the cheap and the likely to fail first.
//!
//! One after the other. What is fetched or built beforehand, and the simulation, which needs nothing but cores, are done in the background
//! with the time that is left: compilers wait for each other, and tests for servers.

use crate::ahead::ourselves;
use crate::steps::{Step, run_all, step};
use crate::{
    cloud, deny, docs, dst, e2e, generated, kubernetes, lint, quick_tests, real_tests, sample, shipped, tools,
};

const LINT: &str = "lint";
const KUBERNETES: &str = "Kubernetes binaries";
const REAL: &str = "tests on the real thing";

/// Everything, with all set-up.
pub(crate) fn everything() -> anyhow::Result<()> {
    let [documentation, lint, generated, quick] = quick_steps();
    run_all(&[
        documentation,
        lint,
        generated,
        quick,
        step("what is shipped", shipped::check),
        step("dependencies", deny::deny).begun_with(LINT, || ourselves(&["deny"])),
        step("tools for the tests", tools::ensure).begun_with(LINT, || ourselves(&["tools"])),
        step(KUBERNETES, kubernetes::ensure).begun_with(LINT, || ourselves(&["kubernetes"])),
        step("packages of a real OpenStack", cloud::packages)
            .begun_with(KUBERNETES, || ourselves(&["cloud-packages"])),
        step("tests on the real thing that must be alone", real_tests::run_alone),
        step(REAL, real_tests::run_together),
        step("the sample", || sample::sample(true)),
        step("scenarios on a real OpenStack", e2e::always),
        step("whole systems in simulated worlds", dst::always)
            .begun_with(REAL, || ourselves(&[&["dst"], dst::ALWAYS.as_slice()].concat())),
    ])
}

/// What needs no external binary and no network beyond crates.
pub(crate) fn quick() -> anyhow::Result<()> {
    run_all(&quick_steps())
}

fn quick_steps() -> [Step; 4] {
    [
        step("documentation", docs::check),
        step(LINT, lint::lint),
        step("generated files", generated::check),
        step("quick tests", quick_tests::run_all),
    ]
}
