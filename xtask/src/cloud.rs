//! Hands its arguments on to the program that manages the real OpenStack: `tests/cloud`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, bail};

use crate::run::cargo;

/// Builds the program and becomes it, so that its exit code and a Ctrl-C are its own. Says nothing: `cloud env` is read by shells.
pub(crate) fn cloud(arguments: &[OsString]) -> anyhow::Result<()> {
    // With `--workspace`, cargo chooses the same features for the dependencies as the tests do, and builds them once.
    let mut build = cargo(&["build", "--quiet", "--workspace", "--locked", "--bin", "real-cloud"]);
    if !build.status().context("run cargo")?.success() {
        bail!("the program that manages the cloud could not be built; what cargo said is above");
    }
    let here = std::env::current_exe()?;
    let folder = here.parent().context("the folder of this program")?;
    Err(Command::new(folder.join("real-cloud")).args(arguments).exec()).context("run real-cloud")
}
