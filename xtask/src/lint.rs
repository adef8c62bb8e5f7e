//! Format, clippy (the lints themselves are in the workspace's Cargo.toml) and the table of upstream's cases.

use crate::run::{cargo, run};
use crate::upstream_cases;

/// Checks all crates, with all targets and features.
pub(crate) fn lint() -> anyhow::Result<()> {
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    upstream_cases::check()?;
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
