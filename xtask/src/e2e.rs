//! The end-to-end scenarios: `tests/real-openstack/scenarios`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, bail};

use crate::run::run;
use crate::workspace::workspace;
use crate::{cloud, kubernetes};

/// How the runner says that this machine cannot run the cloud, and that it did not start.
const WITHOUT_CLOUD: [i32; 2] = [3, 4];

/// Builds what is needed and becomes the runner of scenarios: it is the one to be interrupted, and cleans up.
pub(crate) fn e2e(arguments: &[OsString]) -> anyhow::Result<()> {
    kubernetes::ensure()?;
    let mut runner = runner()?;
    Err(runner.args(arguments).exec()).context("start the end-to-end scenarios")
}

/// All scenarios.
///
/// Where no such cloud can run (another system, no right to install its packages, a start that fails) they are left out, and that is
/// said: they judge Bowline, not the machine. `cargo xtask cloud up` judges the cloud, and fails.
pub(crate) fn all() -> anyhow::Result<()> {
    kubernetes::ensure()?;
    cloud::packages()?;
    let status = runner()?.arg("--all").status().context("start the end-to-end scenarios")?;
    match status.code() {
        Some(0) => Ok(()),
        Some(code) if WITHOUT_CLOUD.contains(&code) => {
            println!("      LEFT OUT: no scenario was run, because the cloud does not run here; see above");
            Ok(())
        }
        _ => bail!("scenarios did not hold ({status}); their logs are in target/e2e"),
    }
}

fn runner() -> anyhow::Result<Command> {
    run(&mut workspace("build", &["--bin", "bowline", "--bin", "e2e"]))?;
    let here = std::env::current_exe()?;
    let folder = here.parent().context("the folder of this program")?;
    Ok(Command::new(folder.join("e2e")))
}
