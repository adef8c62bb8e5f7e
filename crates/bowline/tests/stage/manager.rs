//! A manager as a process with its log in a file. Part of several test targets.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use tokio::time::{Instant, sleep};

/// How long it may take to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(30);

/// A manager that runs; it ends when this is dropped.
pub(crate) struct Manager {
    child: Child,
    log: PathBuf,
}

impl Drop for Manager {
    fn drop(&mut self) {
        // It may have ended by itself.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Manager {
    /// Starts it; what it says is added to the file `log`.
    pub(crate) fn start(mut command: Command, log: PathBuf) -> anyhow::Result<Self> {
        let output = File::options().append(true).create(true).open(&log)?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let child = command.spawn().with_context(|| format!("start {command:?}"))?;
        Ok(Self { child, log })
    }

    /// Fails if it has ended.
    pub(crate) fn still_runs(&mut self) -> anyhow::Result<()> {
        match self.ended()? {
            None => Ok(()),
            Some(status) => bail!("ended with {status}\n{}", self.tail()),
        }
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Asks it to end and waits for that: it gives its Lease back.
    pub(crate) async fn end(mut self) -> anyhow::Result<()> {
        let asked = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status()?;
        ensure!(asked.success(), "it could not be asked to end");
        let deadline = Instant::now() + PATIENCE;
        while self.child.try_wait()?.is_none() {
            ensure!(Instant::now() < deadline, "it does not end\n{}", self.tail());
            sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// All that it said.
    pub(crate) fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The last lines of its log.
    pub(crate) fn tail(&self) -> String {
        let log = self.said();
        let lines: Vec<_> = log.lines().rev().take(40).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}
