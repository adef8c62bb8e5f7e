//! The playground as a user starts it: a process whose lines are read as they come.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use bowline_testkit::process::program;

/// Longer than anything takes on a busy machine; a test that gets here has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(240);

/// A playground that runs. It is killed if it is not ended.
pub(crate) struct Playground {
    child: Child,
    lines: Receiver<String>,
    complaints: ChildStderr,
    /// All lines so far.
    pub(crate) said: Vec<String>,
}

impl Drop for Playground {
    fn drop(&mut self) {
        // It may have ended by itself.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Playground {
    /// Starts it on free ports.
    pub(crate) fn start(arguments: &[&str]) -> anyhow::Result<Self> {
        let mut child = Command::new(program("bowline")?)
            .args(["playground", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("start the playground")?;
        let (stdout, complaints) = (child.stdout.take(), child.stderr.take().context("its errors")?);
        let stdout = BufReader::new(stdout.context("its output")?);
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let told = stdout.lines().map_while(Result::ok);
            told.take_while(|line| sender.send(line.clone()).is_ok()).for_each(drop);
        });
        Ok(Self { child, lines, complaints, said: Vec::new() })
    }

    /// Waits for a line that has this in it.
    pub(crate) fn line(&mut self, part: &str) -> anyhow::Result<String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.said.push(line.clone());
                    if line.contains(part) {
                        return Ok(line);
                    }
                }
                Err(RecvTimeoutError::Timeout) => bail!("no line with {part:?} in time\n{}", self.all()),
                Err(RecvTimeoutError::Disconnected) => {
                    let mut complaints = String::new();
                    self.complaints.read_to_string(&mut complaints)?;
                    bail!("it ended without a line with {part:?}\n{}\n{complaints}", self.all());
                }
            }
        }
    }

    /// Presses Ctrl-C.
    pub(crate) fn interrupt(&self) -> anyhow::Result<()> {
        Command::new("kill").args(["-INT", &self.child.id().to_string()]).status()?;
        Ok(())
    }

    /// Waits for its end. Answers the exit code and what it said on standard error.
    pub(crate) fn end(&mut self) -> anyhow::Result<(Option<i32>, String)> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => self.said.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => bail!("it does not end\n{}", self.all()),
            }
        }
        let mut complaints = String::new();
        self.complaints.read_to_string(&mut complaints)?;
        Ok((self.child.wait()?.code(), complaints))
    }

    /// All lines so far, as one text.
    pub(crate) fn all(&self) -> String {
        self.said.join("\n")
    }
}
