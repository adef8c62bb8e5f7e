//! The end-to-end scenarios: `tests/e2e`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};

use crate::kubernetes;
use crate::run::run;
use crate::steps::so_far;
use crate::workspace::workspace;

/// No scenario begins later than so many minutes after the cloud is up: a slow machine runs fewer of them.
const MINUTES: u64 = 9;
/// Fewer, where the steps before took so long already that all of it would take longer than people wait for.
const IN_ALL: u64 = 65;
const AT_LEAST: u64 = 2;
/// After so many minutes of other steps not even the cloud is started.
const TOO_LATE: u64 = 70;

/// How the runner says that this machine cannot run the cloud, and that it did not start.
const WITHOUT_CLOUD: [i32; 2] = [3, 4];

/// Builds what is needed and becomes the runner of scenarios: it is the one to be interrupted, and cleans up.
pub(crate) fn e2e(arguments: &[OsString]) -> anyhow::Result<()> {
    kubernetes::ensure()?;
    let mut runner = runner()?;
    Err(runner.args(arguments).exec()).context("start the end-to-end scenarios")
}

/// The part of the scenarios that has to hold always, within the time that it may take.
///
/// Where no such cloud can run (another system, no right to install its packages, a start that fails) they are left out, and that is
/// said: what they judge is Bowline, not the machine. `cargo xtask cloud up` judges the cloud, and fails.
pub(crate) fn always() -> anyhow::Result<()> {
    if so_far() > Duration::from_secs(TOO_LATE * 60) {
        println!(
            "      LEFT OUT: no scenario was run, because the steps before took longer than {TOO_LATE} minutes"
        );
        return Ok(());
    }
    let mut runner = runner()?;
    let minutes = minutes(so_far());
    let status = runner
        .args(["--minutes", &minutes.to_string()])
        .status()
        .context("start the end-to-end scenarios")?;
    match status.code() {
        Some(0) => Ok(()),
        Some(code) if WITHOUT_CLOUD.contains(&code) => {
            println!("      LEFT OUT: no scenario was run, because the cloud does not run here; see above");
            Ok(())
        }
        _ => bail!("scenarios did not hold ({status}); their logs are in target/e2e"),
    }
}

/// For how many minutes scenarios are begun after tests that took so long.
fn minutes(so_far: Duration) -> u64 {
    IN_ALL.saturating_sub(so_far.as_secs() / 60).clamp(AT_LEAST, MINUTES)
}

fn runner() -> anyhow::Result<Command> {
    run(&mut workspace("build", &["--bin", "bowline", "--bin", "e2e"]))?;
    let here = std::env::current_exe()?;
    let folder = here.parent().context("the folder of this program")?;
    Ok(Command::new(folder.join("e2e")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_long_tests_fewer_scenarios_begin_but_never_none() {
        let minutes = [10, 60, 90].map(|passed| minutes(Duration::from_secs(passed * 60)));
        assert_eq!(minutes, [9, 5, 2]);
    }
}
