//! What has to pass, in order: the cheap and the likely to fail first.
//!
//! One step after the other. What is downloaded or built beforehand, and the simulation, which needs nothing but cores, run in the
//! background with the time that is left: compilers wait for each other, and tests for servers.

use crate::ahead::ourselves;
use crate::steps::{Step, run_all, step};
use crate::{
    deny, docs, dst, e2e, generated, kubernetes, lint, openstack_client, packaging_tools, quick_tests,
    real_tests, sample, shipped, tools,
};

const LINT: &str = "lint";
const SUITES: &str = "suites on a real API server";

/// A part of `--full` that is not a suite of tests.
pub(crate) struct Part {
    pub(crate) name: &'static str,
    what: &'static str,
    action: fn() -> anyhow::Result<()>,
}

pub(crate) const OTHER_PARTS: [Part; 3] = [
    Part {
        name: "releases",
        what: "older releases of Kubernetes",
        action: real_tests::run_on_older_releases,
    },
    Part { name: "scenarios", what: "scenarios on a real OpenStack", action: e2e::all },
    Part { name: "simulation", what: "long simulation of whole systems", action: dst::long },
];

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
        step("openstack client", openstack_client::ensure)
            .begun_with(LINT, || ourselves(&["openstack-client"])),
        step("Kubernetes servers", kubernetes::ensure_servers)
            .begun_with(LINT, || ourselves(&["kubernetes", "--servers"])),
        // Before the simulation is built in the background: it would wait for that build.
        step("the sample", || sample::sample(true)),
        step(SUITES, real_tests::run_always),
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
    let suites = [
        step("tools for the tests", tools::ensure),
        step("Kubernetes and other managers", kubernetes::ensure),
        step("long suites on the real thing", real_tests::run_long),
    ];
    let others = OTHER_PARTS.map(|part| step(part.what, part.action));
    run_all(&suites.into_iter().chain(others).collect::<Vec<_>>())
}

/// Only the parts with these names: suites on the real thing, and others.
pub(crate) fn parts(names: &[String]) -> anyhow::Result<()> {
    let is_other = |name: &&str| OTHER_PARTS.iter().any(|part| part.name == *name);
    let (others, suites): (Vec<&str>, Vec<&str>) = names.iter().map(String::as_str).partition(is_other);
    if !suites.is_empty() {
        let programs = real_tests::build_named(&suites)?;
        tools::ensure()?;
        kubernetes::ensure()?;
        real_tests::run(programs)?;
    }
    OTHER_PARTS.iter().filter(|part| others.contains(&part.name)).try_for_each(|part| (part.action)())
}

fn quick_steps() -> [Step; 4] {
    [
        step("documentation", docs::check),
        step(LINT, lint::lint),
        step("generated files", generated::check),
        step("quick tests", quick_tests::run_all),
    ]
}
