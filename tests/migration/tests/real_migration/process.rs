//! A process with its log in a file. It ends with its owner.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::Context;
use tokio::time::Instant;

/// A process.
pub(crate) struct Process {
    child: Child,
    pub(crate) since: Instant,
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Process {
    /// Starts it; what it says is added to the file `log`.
    pub(crate) fn start(mut command: Command, log: &Path) -> anyhow::Result<Self> {
        let output = File::options().append(true).create(true).open(log)?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let child = command.spawn().with_context(|| format!("start {command:?}"))?;
        Ok(Self { child, since: Instant::now() })
    }

    /// Whether it runs.
    pub(crate) fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends it at once, as a crash would.
    pub(crate) fn kill(&mut self) {
        // It may have ended by itself.
        self.child.kill().ok();
        self.child.wait().ok();
    }

    /// Asks it to end.
    pub(crate) fn ask_to_end(&mut self) -> anyhow::Result<()> {
        if self.runs() {
            Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status()?;
        }
        Ok(())
    }
}
