//! A manager as a process, with its log in a file.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use tokio::time::{Instant, sleep};

/// How long it may take to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(30);

/// A manager that runs; it ends when this is dropped.
pub struct Manager {
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
    ///
    /// # Errors
    /// When the log cannot be opened or the program not be started.
    pub fn start(mut command: Command, log: PathBuf) -> anyhow::Result<Self> {
        let output = File::options().append(true).create(true).open(&log)?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let child = command.spawn().with_context(|| format!("start {command:?}"))?;
        Ok(Self { child, log })
    }

    /// Fails if it has ended.
    ///
    /// # Errors
    /// With how it ended and the last lines of its log.
    pub fn still_runs(&mut self) -> anyhow::Result<()> {
        match self.ended()? {
            None => Ok(()),
            Some(status) => bail!("ended with {status}\n{}", self.tail()),
        }
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Kills it at once, as a crash would: it gives nothing back.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn crash(mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Asks it to end and waits for that: it gives its Lease back.
    ///
    /// # Errors
    /// When it does not end.
    pub async fn end(mut self) -> anyhow::Result<()> {
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
    #[must_use]
    pub fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The last lines of its log.
    #[must_use]
    pub fn tail(&self) -> String {
        let log = self.said();
        let lines: Vec<_> = log.lines().rev().take(40).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}
