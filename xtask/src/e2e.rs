//! The end-to-end scenarios, and the cloud that they and people at work use.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};

use crate::kubernetes;
use crate::run::{cargo, run};

/// What both programs answer when the cloud cannot run on this machine at all.
const UNSUPPORTED: i32 = 3;

/// Builds what is needed and becomes the runner of scenarios: it is the one to be interrupted, and cleans up.
pub(crate) fn e2e(arguments: &[String]) -> anyhow::Result<()> {
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

/// Becomes the program that manages the cloud.
pub(crate) fn cloud(arguments: &[String]) -> anyhow::Result<()> {
    // Silent: what `env` prints is read by a shell.
    let build = ["build", "--quiet", "--workspace", "--locked", "--bin", "real-cloud"];
    if !cargo(&build).status()?.success() {
        bail!("real-cloud does not build");
    }
    Err(beside_this_program("real-cloud")?.args(arguments).exec()).context("start real-cloud")
}

fn runner() -> anyhow::Result<Command> {
    // With `--workspace`, cargo chooses the same features for the dependencies as the tests do, and builds them once.
    run(&mut cargo(&["build", "--workspace", "--locked", "--bin", "bowline", "--bin", "e2e"]))?;
    beside_this_program("e2e")
}

fn beside_this_program(name: &str) -> anyhow::Result<Command> {
    let here = std::env::current_exe()?;
    let program: PathBuf = here.parent().context("the folder of this program")?.join(name);
    Ok(Command::new(program))
}
