//! A program under test as a process of its own, with its output in a file.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use tokio::time::{Instant, sleep};

use crate::{Wait, eventually};

mod watchdog;

pub use watchdog::Watchdog;

/// How many lines of the log an error message shows.
const TAIL_LINES: usize = 60;
/// How often a process is seen to run while its test waits for something else.
const WATCH_INTERVAL: Duration = Duration::from_millis(100);
/// The size of a page of memory, as the kernel counts them in `/proc/PID/statm`.
const PAGE_BYTES: u64 = 4096;

/// A running program. It is killed when this is dropped.
pub struct Process {
    child: Child,
    log: PathBuf,
    /// How many bytes of the log [`Process::line`] has read.
    read: usize,
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
    pub fn start(command: Command, log: impl Into<PathBuf>) -> anyhow::Result<Self> {
        let log = log.into();
        Self::start_apart(command, log.clone(), &log)
    }

    /// The same with its standard error appended to another file.
    ///
    /// # Errors
    /// When a file cannot be opened or the program not be started.
    pub fn start_apart(mut command: Command, log: PathBuf, errors: &Path) -> anyhow::Result<Self> {
        let open = |path: &Path| File::options().append(true).create(true).open(path);
        command.stdin(Stdio::null()).stdout(open(&log)?).stderr(open(errors)?);
        let child = command.spawn().with_context(|| format!("start {command:?}"))?;
        Ok(Self { child, log, read: 0, started: Instant::now() })
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

    /// Waits for the next line of its log with this text. The lines before it are skipped, and the next call goes on behind it.
    ///
    /// # Errors
    /// When the line does not come, and at once when the process has ended without it.
    pub async fn line(&mut self, text: &str) -> anyhow::Result<String> {
        let found = eventually(format!("{text:?} in the log"), async || {
            let ended = self.exit_status()?;
            let log = self.log();
            for line in log.get(self.read..).unwrap_or_default().split_inclusive('\n') {
                if !line.ends_with('\n') && ended.is_none() {
                    break; // the rest of it is yet to come
                }
                self.read += line.len();
                if line.contains(text) {
                    return Ok(Some(line.trim_end().to_owned()));
                }
            }
            ended.map_or(Ok(None), |status| bail!("ended with {status}"))
        });
        let found = found.await;
        found.with_context(|| format!("no line with {text:?}\n{}", self.tail()))
    }

    /// Waits for something that happens only while the program runs.
    ///
    /// # Errors
    /// As the wait, and at once when the program ends.
    pub async fn while_running<T>(
        &mut self,
        wait: impl Future<Output = anyhow::Result<T>>,
    ) -> anyhow::Result<T> {
        let ended = async {
            loop {
                self.ensure_running()?;
                sleep(WATCH_INTERVAL).await;
            }
        };
        tokio::select! {
            done = wait => done,
            ended = ended => ended,
        }
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

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test]
    async fn lines_come_in_order_and_a_wait_ends_with_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo two >&2; echo three"]);
        let mut process = Process::start(command, folder.path().join("log")).unwrap();
        assert_eq!(process.line("o").await.unwrap(), "one");
        assert_eq!(process.line("t").await.unwrap(), "two");
        let error = format!("{:#}", process.line("one").await.unwrap_err());
        assert!(error.contains("ended with exit status: 0") && error.contains("three"), "{error}");
        let never = process.while_running(pending::<anyhow::Result<()>>()).await;
        assert!(never.unwrap_err().to_string().contains("ended with exit status: 0"));
    }
}
