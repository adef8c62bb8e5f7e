//! What has to pass, in order: the cheap and the likely to fail first.
//!
//! One after the other: the Go build and cargo each use all cores already. Only the tests on the real thing, which mostly wait, share them.

use crate::run::{cargo, run};
use crate::steps::{Step, run_all, step};
use crate::{
    chromium, deny, docs, dst, e2e, generated, kubernetes, lint, openstack_client, packaging_tools,
    real_tests, sample,
};

/// Everything, with all set-up.
pub(crate) fn everything() -> anyhow::Result<()> {
    let [documentation, lint, generated, quick] = quick_steps();
    run_all(&[
        documentation,
        lint,
        generated,
        step("dependencies", deny::deny),
        quick,
        step("whole systems in simulated worlds", dst::always),
        step("Kubernetes binaries", kubernetes::ensure),
        step("the openstack client", openstack_client::ensure),
        step("helm and promtool", packaging_tools::ensure),
        step("a browser", chromium::ensure),
        step("tests on the real thing", real_tests::run),
        step("the sample", || sample::sample(true)),
        step("scenarios on a real OpenStack", e2e::always),
    ])
}

/// What needs no external binary and no network beyond crates.
pub(crate) fn quick() -> anyhow::Result<()> {
    run_all(&quick_steps())
}

fn quick_steps() -> [Step; 4] {
    [
        step("documentation", docs::check),
        step("lint", lint::lint),
        step("generated files", generated::check),
        step("quick tests", || run(&mut cargo(&["test", "--workspace", "--locked"]))),
    ]
}
