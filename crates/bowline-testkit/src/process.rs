//! A program under test as a process of its own, with its output in a file.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use tokio::time::Instant;

use crate::{Wait, eventually};

mod watchdog;

pub use watchdog::Watchdog;

/// How many lines of the log an error message shows.
const TAIL_LINES: usize = 60;
/// The size of a page of memory, as the kernel counts them in `/proc/PID/statm`.
const PAGE_BYTES: u64 = 4096;

/// A running program. It is killed when this is dropped.
pub struct Process {
    child: Child,
    log: PathBuf,
    started: Instant,
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Process {
    /// Starts a program; both of its outputs are appended to the file `log`.
    ///
    /// # Errors
    /// When the log cannot be opened or the program not be started.
    pub fn start(mut command: Command, log: impl Into<PathBuf>) -> anyhow::Result<Self> {
        let log = log.into();
        let output = File::options().append(true).create(true).open(&log)?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let child = command.spawn().with_context(|| format!("start {command:?}"))?;
        Ok(Self { child, log, started: Instant::now() })
    }

    /// The process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// When it was started.
    #[must_use]
    pub fn started(&self) -> Instant {
        self.started
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// When the operating system does not answer.
    pub fn exit_status(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Whether it runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Fails if it has ended.
    ///
    /// # Errors
    /// With how it ended and the last lines of its log.
    pub fn ensure_running(&mut self) -> anyhow::Result<()> {
        match self.exit_status()? {
            None => Ok(()),
            Some(status) => bail!("ended with {status}\n{}", self.tail()),
        }
    }

    /// Sends a signal by its name: `TERM`, `STOP`, …
    ///
    /// # Errors
    /// When the process has ended.
    pub fn signal(&self, name: &str) -> anyhow::Result<()> {
        let pid = self.pid().to_string();
        let status = Command::new("kill").args([&format!("-{name}"), &pid]).status()?;
        ensure!(status.success(), "kill -{name} {pid}: {status}");
        Ok(())
    }

    /// Kills it, as a crash would: it releases nothing. Returns when it is gone.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Waits until it ends by itself.
    ///
    /// # Errors
    /// When it does not end.
    pub async fn exited(&mut self) -> anyhow::Result<ExitStatus> {
        let child = &mut self.child;
        let wait = Wait::default().every(Duration::from_millis(5));
        let exited = wait.until("the end of the process", async || Ok(child.try_wait()?)).await;
        exited.with_context(|| self.tail())
    }

    /// Asks it to end (SIGTERM), and waits for that. A manager releases its Lease.
    ///
    /// # Errors
    /// When it has ended before, or does not end.
    pub async fn terminate(mut self) -> anyhow::Result<ExitStatus> {
        self.ensure_running()?;
        self.signal("TERM")?;
        self.exited().await
    }

    /// The file of its output.
    #[must_use]
    pub fn log_file(&self) -> &Path {
        &self.log
    }

    /// Its output so far.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The last lines of its output, for an error message.
    #[must_use]
    pub fn tail(&self) -> String {
        tail(&self.log)
    }

    /// Waits for a text in its output.
    ///
    /// # Errors
    /// When the text does not come.
    pub async fn logs(&self, text: &str) -> anyhow::Result<()> {
        let logged =
            eventually(format!("{text:?} in the log"), async || Ok(self.log().contains(text).then_some(())));
        logged.await.with_context(|| self.tail())
    }

    /// The bytes of memory that it has at the moment; `None` when it has ended.
    #[must_use]
    pub fn resident_bytes(&self) -> Option<u64> {
        let statm = std::fs::read_to_string(format!("/proc/{}/statm", self.pid())).ok()?;
        let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
        Some(pages * PAGE_BYTES)
    }
}

/// The last lines of a log, for an error message; empty if there is no such file.
#[must_use]
pub fn tail(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(TAIL_LINES)..).unwrap_or_default().join("\n")
}

/// A program of this workspace, which cargo builds beside the tests (`target/debug`).
///
/// Cargo tells the path of a program only to the tests of its own package.
///
/// # Errors
/// When it was not built.
pub fn program(name: &str) -> anyhow::Result<PathBuf> {
    let this = std::env::current_exe()?;
    let mut folder = this.parent().context("this program is in no folder")?;
    if folder.ends_with("deps") {
        folder = folder.parent().context("this program is in no folder")?;
    }
    let program = folder.join(name);
    ensure!(program.is_file(), "no program at {}: run `cargo build --bin {name}`", program.display());
    Ok(program)
}
