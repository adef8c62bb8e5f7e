//! Starts programs that outlive us, records them, and ends exactly those.
//!
//! Each gets a session of its own: a Ctrl-C does not reach it, and its session names all its children. A record holds the pid
//! and the time of its start, so that a number that the system gave to someone else is never taken for ours.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};

use crate::fingerprint::fingerprint;
use crate::procfs;
use crate::settings::Settings;

const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A program with its arguments and what it finds in its environment beyond the base that all have.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(String, OsString)>,
}

impl Launch {
    pub(crate) fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), arguments: Vec::new(), environment: Vec::new() }
    }

    /// Adds one argument.
    pub(crate) fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds the words of a line; for arguments that hold no spaces.
    pub(crate) fn words(mut self, line: &str) -> Self {
        self.arguments.extend(line.split_whitespace().map(OsString::from));
        self
    }

    /// Adds a variable of the environment.
    pub(crate) fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// All arguments.
    #[cfg(test)]
    pub(crate) fn arguments(&self) -> &[OsString] {
        &self.arguments
    }

    /// Changes when anything of it does, or one of the given files.
    pub(crate) fn fingerprint(&self, files: &[PathBuf]) -> u64 {
        let contents = files.iter().map(|file| fs::read_to_string(file).unwrap_or_default());
        fingerprint(std::iter::once(format!("{self:?}")).chain(contents))
    }

    /// The command in a session of its own, with a clean environment: nothing of the caller's reaches a service.
    fn command(&self, settings: &Settings) -> Command {
        let venv = settings.venv().join("bin").display().to_string();
        let mut command = Command::new("setsid");
        command.arg(&self.program).args(&self.arguments).env_clear();
        command.env("PATH", format!("{venv}:/usr/sbin:/usr/bin:/sbin:/bin"));
        command.env("HOME", settings.data()).env("LANG", "C.UTF-8").env("PYTHONUNBUFFERED", "1");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.current_dir(settings.data()).stdin(Stdio::null());
        command
    }
}

/// A process that was started and written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) pid: u32,
    /// See [`procfs::Stat::started`].
    pub(crate) started: u64,
    /// Of its [`Launch`] and configuration.
    pub(crate) fingerprint: u64,
}

impl Record {
    /// What was recorded under a name, if anything.
    pub(crate) fn read(settings: &Settings, name: &str) -> Option<Self> {
        Self::parse(&fs::read_to_string(record_file(settings, name)).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let mut number = || words.next()?.parse::<u64>().ok();
        Some(Self { pid: number()?.try_into().ok()?, started: number()?, fingerprint: number()? })
    }

    fn write(&self, settings: &Settings, name: &str) -> anyhow::Result<()> {
        let file = record_file(settings, name);
        let text = format!("{} {} {}\n", self.pid, self.started, self.fingerprint);
        fs::write(&file, text).with_context(|| format!("write {}", file.display()))
    }

    /// Whether the very process that was recorded is alive.
    pub(crate) fn is_running(&self) -> bool {
        procfs::stat(self.pid).is_some_and(|stat| stat.started == self.started && stat.is_alive())
    }

    /// Whether all its members were stopped by a signal and can go on.
    pub(crate) fn is_frozen(&self) -> bool {
        self.is_running() && self.members().into_iter().all(procfs::is_stopped)
    }

    /// The recorded process and all that it started, as far as they are alive.
    pub(crate) fn members(&self) -> Vec<u32> {
        if procfs::stat(self.pid).is_some_and(|stat| stat.started != self.started) {
            return Vec::new(); // the number belongs to someone else by now
        }
        let mut members = procfs::session_members(self.pid);
        if self.is_running() && !members.contains(&self.pid) {
            members.push(self.pid); // started a moment ago: its session is not its own yet
        }
        members
    }

    /// The memory of all members.
    pub(crate) fn memory_kib(&self) -> u64 {
        self.members().into_iter().map(procfs::memory_kib).sum()
    }

    /// Sends a signal to all members.
    pub(crate) fn signal_all(&self, signal: &str) -> anyhow::Result<()> {
        signal_to(signal, &self.members())
    }

    /// Asks the process to end; a frozen one is woken for it.
    pub(crate) fn ask_to_end(&self) -> anyhow::Result<()> {
        if self.is_running() {
            signal_to("TERM", &[self.pid])?;
            self.signal_all("CONT")?;
        }
        Ok(())
    }
}

/// Starts a program under a name; its output is appended to the log of that name.
pub(crate) fn spawn(
    settings: &Settings,
    name: &str,
    launch: &Launch,
    fingerprint: u64,
) -> anyhow::Result<Child> {
    let path = settings.log(name);
    let log = File::options().create(true).append(true).open(&path);
    let log = log.with_context(|| format!("open {}", path.display()))?;
    let mut command = launch.command(settings);
    command.stdout(log.try_clone()?).stderr(log);
    let child =
        command.spawn().with_context(|| format!("start {name}: run setsid {}", launch.program.display()))?;
    let pid = child.id();
    let stat = procfs::stat(pid).ok_or_else(|| anyhow!("{name} has no entry in /proc"))?;
    Record { pid, started: stat.started, fingerprint }.write(settings, name)?;
    Ok(child)
}

/// Waits for a child in the background, so that it leaves no entry in the process table when it ends before us.
pub(crate) fn let_go(mut child: Child) {
    std::thread::spawn(move || child.wait());
}

/// Everything that is recorded, by name.
pub(crate) fn records(settings: &Settings) -> Vec<(String, Record)> {
    let entries = fs::read_dir(settings.run()).into_iter().flatten().flatten();
    let names =
        entries.filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".pid")?.to_owned()));
    let mut records: Vec<_> =
        names.filter_map(|name| Some((name.clone(), Record::read(settings, &name)?))).collect();
    records.sort_by(|one, other| one.0.cmp(&other.0));
    records
}

/// Ends the named processes with all that they started: asks, waits up to `grace`, then kills.
pub(crate) fn end(settings: &Settings, records: &[(String, Record)], grace: Duration) -> anyhow::Result<()> {
    for (_, record) in records {
        record.ask_to_end()?;
    }
    let deadline = Instant::now() + grace;
    while Instant::now() < deadline && records.iter().any(|(_, record)| record.is_running()) {
        std::thread::sleep(POLL_INTERVAL);
    }
    for (name, record) in records {
        // Also what a program left behind that ended by itself.
        record.signal_all("KILL")?;
        forget(settings, name)?;
    }
    Ok(())
}

/// Removes a record.
pub(crate) fn forget(settings: &Settings, name: &str) -> anyhow::Result<()> {
    let file = record_file(settings, name);
    match fs::remove_file(&file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("remove {}", file.display()))
        }
        _ => Ok(()),
    }
}

fn record_file(settings: &Settings, name: &str) -> PathBuf {
    settings.run().join(format!("{name}.pid"))
}

/// A process that is gone meanwhile is no error: that is what the signal was to bring about.
fn signal_to(signal: &str, pids: &[u32]) -> anyhow::Result<()> {
    if pids.is_empty() {
        return Ok(());
    }
    let mut command = Command::new("kill");
    command.arg(format!("-{signal}")).args(pids.iter().map(u32::to_string)).stderr(Stdio::null());
    command.status().context("run `kill`")?;
    Ok(())
}

#[cfg(test)]
mod tests;
