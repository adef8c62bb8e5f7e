//! Format and clippy: the lints themselves are in the workspace's Cargo.toml.

use crate::run::{cargo, run};

/// Checks all crates, with all targets and features.
pub(crate) fn lint() -> anyhow::Result<()> {
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    run(&mut cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--all-features",
        "--locked",
        "--",
        "-D",
        "warnings",
    ]))
}
