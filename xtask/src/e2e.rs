//! The end-to-end scenarios: `tests/e2e`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, bail};

use crate::kubernetes;
use crate::run::{cargo, run};

/// What it answers when the cloud cannot run on this machine at all.
const UNSUPPORTED: i32 = 3;

/// Builds what is needed and becomes the runner of scenarios: it is the one to be interrupted, and cleans up.
pub(crate) fn e2e(arguments: &[OsString]) -> anyhow::Result<()> {
    kubernetes::ensure()?;
    let mut runner = runner()?;
    Err(runner.args(arguments).exec()).context("start the end-to-end scenarios")
}

/// The scenarios that always run, as a step of CI.
pub(crate) fn step() -> anyhow::Result<()> {
    let mut runner = runner()?;
    let status = runner.status().context("start the end-to-end scenarios")?;
    match status.code() {
        Some(0) => Ok(()),
        Some(UNSUPPORTED) => {
            println!("      left out: this machine cannot run the cloud, for the reason above");
            Ok(())
        }
        _ => bail!("the end-to-end scenarios failed ({status}); what they said is above"),
    }
}

fn runner() -> anyhow::Result<Command> {
    // With `--workspace`, cargo chooses the same features for the dependencies as the tests do, and builds them once.
    run(&mut cargo(&["build", "--workspace", "--locked", "--bin", "bowline", "--bin", "e2e"]))?;
    let here = std::env::current_exe()?;
    let folder = here.parent().context("the folder of this program")?;
    Ok(Command::new(folder.join("e2e")))
}
