//! Hands its arguments on to the program that manages the real OpenStack: `tests/real-openstack/cloud`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, bail};

use crate::workspace::workspace;

/// Builds the program and becomes it, so that its exit code and a Ctrl-C are its own. Says nothing: `cloud env` is read by shells.
pub(crate) fn cloud(arguments: &[OsString]) -> anyhow::Result<()> {
    Err(program()?.args(arguments).exec()).context("run real-cloud")
}

/// Installs what the cloud consists of. Where that cannot be, says so and goes on: who wants to start the cloud will judge.
pub(crate) fn packages() -> anyhow::Result<()> {
    let status = program()?.arg("install").status().context("run real-cloud")?;
    let outcome = if status.success() { "all there" } else { "not all there, see above" };
    println!("      {outcome}");
    Ok(())
}

fn program() -> anyhow::Result<Command> {
    let mut build = workspace("build", &["--quiet", "--bin", "real-cloud"]);
    if !build.status().context("run cargo")?.success() {
        bail!("the program that manages the cloud could not be built; what cargo said is above");
    }
    let here = std::env::current_exe()?;
    let folder = here.parent().context("the folder of this program")?;
    Ok(Command::new(folder.join("real-cloud")))
}
