//! How the workspace is built: always as a whole and always with the same features, so that cargo builds everything once.
//!
//! With `-p`, or without the features, cargo would choose others for the dependencies or for our own crates, and build them again.

use std::process::Command;

use crate::run::cargo;

/// The features behind which the tests on the real thing are. They gate test targets and nothing else.
const FEATURES: &str = "bowline-testkit/real-apiserver,bowline-bench/real-apiserver,bowline-controllers/real-apiserver,\
    bowline-manager/real-apiserver,bowline-openstack/real-apiserver,bowline-operator/real-apiserver,\
    sim-kube/real-apiserver,sim-openstack/real-openstack-cli,chaos-tests/real-apiserver,browser-tests/real-browser,\
    packaging/real-apiserver,docs-tests/real-apiserver,occm-differential/real-apiserver,\
    upstream-differential/real-apiserver,real-kubernetes-tests/real-apiserver";

/// A cargo command over the whole workspace.
pub(crate) fn workspace(command: &str, arguments: &[&str]) -> Command {
    let mut whole = cargo(&[command, "--workspace", "--locked", "--features", FEATURES]);
    whole.args(arguments);
    whole
}
