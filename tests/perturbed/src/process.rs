//! A place for one process of the manager, which dies and is started again. It ends with its owner, also when that is killed.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, ensure};

/// The pages of a process's memory, as the kernel counts them.
const PAGE_BYTES: u64 = 4096;

/// Where a process runs, or ran.
#[derive(Default)]
pub struct Place(Mutex<Option<Child>>);

impl Place {
    fn child(&self) -> MutexGuard<'_, Option<Child>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a process; what it says is added to the file `log`.
    ///
    /// # Errors
    /// When the log cannot be opened or the program not be started.
    pub fn start(&self, mut command: Command, log: &Path) -> anyhow::Result<()> {
        let output = File::options().append(true).create(true).open(log)?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let child = command.spawn().with_context(|| format!("start {command:?}"))?;
        *self.child() = Some(child);
        Ok(())
    }

    /// Kills it at once, as `kill -9` does. Whether there was one.
    pub fn kill(&self) -> bool {
        let mut child = self.child();
        let Some(child) = child.as_mut() else { return false };
        child.kill().is_ok()
    }

    /// How it ended, if it has.
    pub fn ended(&self) -> Option<ExitStatus> {
        self.child().as_mut().and_then(|child| child.try_wait().ok().flatten())
    }

    /// Sends a signal by its name.
    ///
    /// # Errors
    /// When there is no process.
    pub fn signal(&self, name: &str) -> anyhow::Result<()> {
        let pid = self.pid().context("no process")?;
        let status = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status()?;
        ensure!(status.success(), "kill -{name} {pid}: {status}");
        Ok(())
    }

    /// Its process id, while it runs.
    pub fn pid(&self) -> Option<u32> {
        let mut child = self.child();
        let child = child.as_mut()?;
        matches!(child.try_wait(), Ok(None)).then(|| child.id())
    }

    /// The bytes of memory that it has at the moment.
    pub fn resident_bytes(&self) -> Option<u64> {
        let statm = std::fs::read_to_string(format!("/proc/{}/statm", self.pid()?)).ok()?;
        let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
        Some(pages * PAGE_BYTES)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(mut child) = self.child().take() {
            // It may have ended by itself.
            child.kill().ok();
            child.wait().ok();
        }
    }
}

/// Waits until its owner is gone, and then ends every process that was told a kubeconfig in the folder `$1`.
const SCRIPT: &str = r#"
cat >/dev/null
for process in /proc/[0-9]*; do
    if tr '\0' '\n' <"$process/cmdline" 2>/dev/null | grep -qF -e "--kubeconfig=$1/"; then
        kill -9 "${process#/proc/}" 2>/dev/null
    fi
done
"#;

/// Ends what is left of a folder's processes when this is dropped, or this program is killed.
pub struct Watchdog(Child);

impl Watchdog {
    /// One for the processes of a cluster.
    ///
    /// # Errors
    /// When there is no shell.
    pub fn of(folder: &Path) -> anyhow::Result<Self> {
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "watchdog"]).arg(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self(command.spawn().context("start the watchdog")?))
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().ok();
    }
}
