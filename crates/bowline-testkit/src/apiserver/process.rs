//! One server process that cannot outlive us: a small shell supervisor runs it and ends it at the end of our pipe.
//!
//! The supervisor is needed because nothing in this process runs when it is killed; the kernel still closes its pipes.
//! Uses `std` only and no runtime: a shared cluster outlives the runtime of the test that started it.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;

use super::janitor::Janitor;

#[cfg(test)]
mod tests;

/// The supervisor; POSIX sh, so that it runs on any Unix.
const SUPERVISOR: &str = include_str!("supervise.sh");

/// How long the server may take to end itself once our process is gone.
const GRACE_SECONDS: &str = "2";

/// The signals that tests send to a server.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Signal {
    /// Hang: the connections stay open and nothing answers.
    Stop,
    /// Go on after [`Signal::Stop`].
    Continue,
    /// End now, without a chance to say good-bye.
    Kill,
}

impl Signal {
    fn name(self) -> &'static str {
        match self {
            Self::Stop => "STOP",
            Self::Continue => "CONT",
            Self::Kill => "KILL",
        }
    }
}

/// A running server. Dropping it kills the server and waits until it is gone.
pub(crate) struct Process {
    pid: u32,
    supervisor: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
    log: PathBuf,
    /// Waits for our supervisor, so it must not be dropped, which would wait for the end, before we have ended that.
    _janitor: Arc<Janitor>,
}

impl Process {
    /// Starts `binary`; what it prints is appended to `log`. The janitor will wait for it.
    pub(crate) fn spawn(
        binary: &Path,
        arguments: &[String],
        log: &Path,
        janitor: &Arc<Janitor>,
    ) -> io::Result<Self> {
        let mut supervisor = Command::new("sh")
            .args(["-c", SUPERVISOR, "supervise"])
            .args([log.as_os_str(), GRACE_SECONDS.as_ref(), binary.as_os_str()])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(janitor.wait_for_me()?)
            // A Ctrl-C at the terminal is for the test process; the supervisor must live to clean up.
            .process_group(0)
            .spawn()?;
        let (Some(orders), Some(answers)) = (supervisor.stdin.take(), supervisor.stdout.take()) else {
            return Err(io::Error::other("the supervisor has no pipes"));
        };
        let mut answers = BufReader::new(answers);
        let pid = read_answer(&mut answers)?.parse().map_err(io::Error::other)?;
        Ok(Self { pid, supervisor, orders, answers, log: log.to_path_buf(), _janitor: Arc::clone(janitor) })
    }

    /// The process id of the server itself.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends a signal; when this returns, it has been sent.
    pub(crate) fn signal(&mut self, signal: Signal) -> io::Result<()> {
        writeln!(self.orders, "{}", signal.name())?;
        match read_answer(&mut self.answers)?.as_str() {
            "sent" => Ok(()),
            _ => Err(io::Error::other(format!("process {} is gone; see {}", self.pid, self.log.display()))),
        }
    }

    /// Whether the server has come to a halt after [`Signal::Stop`]. The signal only reaches one of its threads, and on a
    /// busy machine the others go on serving until that one has had its turn.
    pub(crate) fn is_stopped(&self) -> io::Result<bool> {
        let threads = format!("/proc/{}/task", self.pid);
        if !Path::new(&threads).exists() {
            let ps = Command::new("ps").args(["-o", "state=", "-p", &self.pid.to_string()]).output()?;
            return Ok(ps.stdout.trim_ascii().starts_with(b"T"));
        }
        for thread in fs::read_dir(threads)? {
            match fs::read_to_string(thread?.path().join("stat")) {
                Ok(stat) if is_stopped_thread(&stat) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {} // the thread has ended
                Ok(_) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// How the server ended, if it did.
    pub(crate) fn exit_status(&mut self) -> io::Result<Option<ExitStatus>> {
        self.supervisor.try_wait()
    }

    /// Whether the server wrote `text` into its log.
    pub(crate) fn has_logged(&self, text: &str) -> bool {
        fs::read(&self.log).is_ok_and(|log| String::from_utf8_lossy(&log).contains(text))
    }

    /// The last lines of the log, for an error message.
    pub(crate) fn log_tail(&self) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        format!("--- {}\n{}", self.log.display(), last_lines(&String::from_utf8_lossy(&log), 20))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Its data is thrown away, so there is nothing to end in order. An error means that it is gone already.
        self.signal(Signal::Kill).ok();
        self.supervisor.wait().ok();
    }
}

fn read_answer(answers: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    match answers.read_line(&mut line)? {
        0 => Err(io::Error::other("the supervisor has ended, and the server with it")),
        _ => Ok(line.trim_end().to_owned()),
    }
}

/// Linux: the state is the word after the name, which stands in parentheses and may itself hold some.
fn is_stopped_thread(stat: &str) -> bool {
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(count);
    lines.into_iter().skip(from).collect::<Vec<_>>().join("\n")
}
