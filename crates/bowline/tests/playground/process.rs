//! The playground as a user starts it: a process whose lines are read as they come.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;
use bowline_testkit::process::{Process, program};
use tempfile::TempDir;

/// A playground that runs. It is killed if it is not ended.
pub(crate) struct Playground {
    process: Process,
    errors: PathBuf,
    _folder: TempDir,
}

impl Playground {
    /// Starts it on free ports.
    pub(crate) fn start(arguments: &[&str]) -> anyhow::Result<Self> {
        let mut command = Command::new(program("bowline")?);
        command.args(["playground", "--listen", "127.0.0.1:0"]).args(arguments);
        let folder = tempfile::tempdir()?;
        let errors = folder.path().join("errors");
        let process = Process::start_apart(command, folder.path().join("output"), &errors)?;
        Ok(Self { process, errors, _folder: folder })
    }

    /// Waits for the next line that has this in it.
    pub(crate) async fn line(&mut self, part: &str) -> anyhow::Result<String> {
        let line = self.process.line(part).await;
        line.with_context(|| std::fs::read_to_string(&self.errors).unwrap_or_default())
    }

    /// Presses Ctrl-C.
    pub(crate) fn interrupt(&self) -> anyhow::Result<()> {
        self.process.signal("INT")
    }

    /// Waits for its end. Answers the exit code and what it said on standard error.
    pub(crate) async fn end(&mut self) -> anyhow::Result<(Option<i32>, String)> {
        let code = self.process.exited().await?.code();
        Ok((code, std::fs::read_to_string(&self.errors)?))
    }

    /// All that it printed so far.
    pub(crate) fn all(&self) -> String {
        self.process.log()
    }
}
