//! A place for one process of the manager, which dies and is started again. It ends with its owner, also when that is killed.

use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use bowline_testkit::process::Process;

/// Where a process runs, or ran.
#[derive(Default)]
pub struct Place(Mutex<Option<Process>>);

impl Place {
    fn process(&self) -> MutexGuard<'_, Option<Process>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a process; what it says is added to the file `log`.
    ///
    /// # Errors
    /// When the log cannot be opened or the program not be started.
    pub fn start(&self, command: Command, log: &Path) -> anyhow::Result<()> {
        *self.process() = Some(Process::start(command, log)?);
        Ok(())
    }

    /// Kills it at once, as `kill -9` does. Whether there was one.
    pub fn kill(&self) -> bool {
        self.process().as_mut().is_some_and(|process| process.kill().is_ok())
    }

    /// How it ended, if it has.
    pub fn ended(&self) -> Option<ExitStatus> {
        self.process().as_mut().and_then(|process| process.exit_status().ok().flatten())
    }

    /// Sends a signal by its name.
    ///
    /// # Errors
    /// When there is no process.
    pub fn signal(&self, name: &str) -> anyhow::Result<()> {
        self.process().as_ref().context("no process")?.signal(name)
    }

    /// Its process id, while it runs.
    pub fn pid(&self) -> Option<u32> {
        let mut process = self.process();
        let process = process.as_mut()?;
        process.is_running().then(|| process.pid())
    }

    /// The bytes of memory that it has at the moment.
    pub fn resident_bytes(&self) -> Option<u64> {
        self.process().as_ref()?.resident_bytes()
    }
}
