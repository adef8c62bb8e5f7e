//! Says what is being done and how long it took, and that a slow command is alive.

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::interrupt::Interrupt;

const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
const TAIL_LINES: usize = 25;

/// Where the lines go, and since when the time is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    start: Instant,
    is_silent: bool,
}

impl Progress {
    /// Says everything, with the time from now on.
    pub(crate) fn spoken() -> Self {
        Self { start: Instant::now(), is_silent: false }
    }

    /// Says nothing.
    pub(crate) fn silent() -> Self {
        Self { start: Instant::now(), is_silent: true }
    }

    /// Says a line.
    pub(crate) fn say(&self, text: &str) {
        if !self.is_silent {
            println!("[{:6.1}s] {text}", self.start.elapsed().as_secs_f64());
        }
    }
}

/// Runs a slow command with its output in a log file; the log's end is part of the error.
pub(crate) fn run_logged(
    command: &mut Command,
    what: &str,
    log: &Path,
    interrupt: &Interrupt,
) -> anyhow::Result<()> {
    let output = File::options()
        .create(true)
        .append(true)
        .open(log)
        .with_context(|| format!("open {}", log.display()))?;
    command.stdout(output.try_clone()?).stderr(output);
    let mut child = command.spawn().with_context(|| format!("run {:?}", command.get_program()))?;
    let start = Instant::now();
    let mut heartbeat = HEARTBEAT_INTERVAL;
    loop {
        if let Some(status) = child.try_wait()? {
            if !status.success() {
                bail!("{what} failed ({status}); the end of {}:\n{}", log.display(), tail(log));
            }
            return Ok(());
        }
        if interrupt.is_requested() {
            child.kill()?;
            child.wait()?;
            return Err(interrupt.error());
        }
        if start.elapsed() >= heartbeat {
            println!("          {what}, {} s so far", heartbeat.as_secs());
            heartbeat += HEARTBEAT_INTERVAL;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// The last lines of a log file, indented; or that there is none.
pub(crate) fn tail(log: &Path) -> String {
    let Ok(bytes) = std::fs::read(log) else {
        return "    (there is no log)".into();
    };
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let last = lines.iter().skip(lines.len().saturating_sub(TAIL_LINES));
    last.map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}
