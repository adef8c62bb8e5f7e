//! What has to pass, in order: the cheap and the likely to fail first.
//!
//! One after the other: the Go build and cargo each use all cores already.

use crate::run::{cargo, run};
use crate::steps::{Step, run_all, step};
use crate::{deny, dst, e2e, generated, kubernetes, lint, openstack_client, sample};

/// The features behind which the tests on a real API server, or with a real client, are. They and `--workspace` keep cargo's choice of features
/// for the dependencies as in the quick tests; with `-p` it would differ, and half the dependencies be built again.
const REAL_TIER: &str = "bowline-testkit/real-apiserver,bowline-controllers/real-apiserver,\
    bowline-manager/real-apiserver,bowline-openstack/real-apiserver,bowline/real-apiserver,\
    bowline-operator/real-apiserver,sample-cloud/real-apiserver,framework-tests/real-apiserver,\
    migration-tests/real-apiserver,perturbed-tests/real-apiserver,upstream-differential/real-apiserver,sim-kube/real-apiserver,\
    sim-openstack/real-openstack-cli,packaging/real-apiserver";

/// Everything, with all set-up.
pub(crate) fn everything() -> anyhow::Result<()> {
    let [lint, generated, quick] = quick_steps();
    run_all(&[
        lint,
        generated,
        step("dependencies", deny::deny),
        quick,
        step("whole systems in simulated worlds", dst::always),
        step("Kubernetes binaries", kubernetes::ensure),
        step("the openstack client", openstack_client::ensure),
        step("tests on the real thing", real_tests),
        step("the sample", || sample::sample(true)),
        step("scenarios on a real OpenStack", e2e::always),
    ])
}

/// What needs no external binary and no network beyond crates.
pub(crate) fn quick() -> anyhow::Result<()> {
    run_all(&quick_steps())
}

fn quick_steps() -> [Step; 3] {
    [
        step("lint", lint::lint),
        step("generated files", generated::check),
        step("quick tests", || run(&mut cargo(&["test", "--workspace", "--locked"]))),
    ]
}

/// Their targets are named `real_*`, so that the quick tests are not run a second time.
fn real_tests() -> anyhow::Result<()> {
    run(&mut cargo(&["test", "--workspace", "--locked", "--features", REAL_TIER, "--test", "real_*"]))
}
