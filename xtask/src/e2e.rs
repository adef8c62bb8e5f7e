//! The end-to-end scenarios: `tests/e2e`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::Context;

use crate::kubernetes;
use crate::run::{cargo, run};

/// Builds what is needed and becomes the runner of scenarios: it is the one to be interrupted, and cleans up.
pub(crate) fn e2e(arguments: &[OsString]) -> anyhow::Result<()> {
    kubernetes::ensure()?;
    let mut runner = runner()?;
    Err(runner.args(arguments).exec()).context("start the end-to-end scenarios")
}

fn runner() -> anyhow::Result<Command> {
    // With `--workspace`, cargo chooses the same features for the dependencies as the tests do, and builds them once.
    run(&mut cargo(&["build", "--workspace", "--locked", "--bin", "bowline", "--bin", "e2e"]))?;
    let here = std::env::current_exe()?;
    let folder = here.parent().context("the folder of this program")?;
    Ok(Command::new(folder.join("e2e")))
}
