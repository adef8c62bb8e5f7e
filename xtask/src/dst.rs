//! The simulation of whole systems: `sim/dst`.

use std::ffi::OsString;
use std::process::Command;

use anyhow::Context;

use crate::run::{run, workspace_root};
use crate::workspace::workspace;

/// Where everything is tested: so many seeds of the swarm come to the same on every machine.
pub(crate) const ALWAYS: [&str; 3] = ["--no-museum", "--seeds", "2000"];

/// Our own crates are built fast, but with every check that a test has: the simulation runs tens of thousands of whole systems. The
/// dependencies are those of the tests: the workspace's Cargo.toml sets how they are built, whatever is said here.
const FAST: [(&str, &str); 3] =
    [("CARGO_PROFILE_DEV_OPT_LEVEL", "2"), ("CARGO_PROFILE_DEV_DEBUG", "false"), ("CARGO_INCREMENTAL", "0")];

/// Builds the simulation, fast, and runs it.
pub(crate) fn dst(arguments: &[OsString]) -> anyhow::Result<()> {
    run(workspace("build", &["--quiet", "--bin", "dst"]).envs(FAST))?;
    let here = std::env::current_exe()?;
    let folder = here.parent().context("the folder of this program")?;
    run(Command::new(folder.join("dst")).args(arguments).current_dir(workspace_root()))
}

/// Plans alone, every single fault, and a part of the swarm. The museum is among the other tests.
pub(crate) fn always() -> anyhow::Result<()> {
    dst(&ALWAYS.map(Into::into))
}

/// All of it, with 20,000 seeds of the swarm.
pub(crate) fn long() -> anyhow::Result<()> {
    dst(&[])
}
