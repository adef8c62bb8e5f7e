//! Runs the sample cloud's manager on a real API server: the first thing a newcomer sees.

use std::process::Command;

use anyhow::Context;

use crate::kubernetes;
use crate::run::run;
use crate::workspace::workspace;

/// Builds what is missing, then runs the show.
pub(crate) fn sample(once: bool) -> anyhow::Result<()> {
    kubernetes::ensure_servers()?;
    run(&mut workspace("build", &["--bin", "sample-cloud", "--example", "demo"]))?;
    let here = std::env::current_exe()?;
    let folder = here.parent().context("the folder of this program")?;
    run(Command::new(folder.join("examples/demo")).args(once.then_some("--once")))
}
