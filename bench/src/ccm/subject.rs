//! A CCM under test: what program it is, and a process of it, read from outside through `/proc`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use anyhow::{Context, ensure};
use bowline_testkit::process::Process;

/// The name that the program is started by: one that can be several programs takes it for what it is to be.
const PROGRAM: &str = "openstack-cloud-controller-manager";
/// How many ticks of `/proc/PID/stat` a second has: `USER_HZ`, which is 100 on every Linux that is in use.
const TICKS_PER_SECOND: f64 = 100.0;

/// A program, and what it is told besides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// What it is called in tables.
    pub name: String,
    /// Where it is.
    pub program: PathBuf,
    /// Flags of its own.
    pub flags: Vec<String>,
}

impl FromStr for Subject {
    type Err = anyhow::Error;

    /// Reads `[NAME=]PATH[ FLAG…]`.
    fn from_str(text: &str) -> anyhow::Result<Self> {
        let mut words = text.split_whitespace();
        let first = words.next().context("wanted [NAME=]PATH[ FLAG…], found nothing")?;
        let flags = words.map(ToOwned::to_owned).collect();
        let (name, path) = match first.split_once('=') {
            Some((name, path)) => (name.to_owned(), path),
            None => (Path::new(first).file_name().unwrap_or_default().to_string_lossy().into_owned(), first),
        };
        Ok(Self { name, program: path.into(), flags })
    }
}

/// What a process has used.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    /// Time on a processor, in seconds, since it began.
    pub cpu_seconds: f64,
    /// Memory that it has now.
    pub resident_bytes: u64,
    /// The most memory that it had since the peak was forgotten.
    pub peak_bytes: u64,
}

impl Subject {
    /// Starts a process in a folder of its own; its log is a file there.
    ///
    /// # Errors
    /// When the program is not there or cannot be started.
    pub fn start(&self, flags: &[String], folder: &Path) -> anyhow::Result<Process> {
        std::fs::create_dir_all(folder)?;
        let program = std::path::absolute(&self.program)?;
        ensure!(program.is_file(), "no program at {}", program.display());
        let link = folder.join(PROGRAM);
        if !link.exists() {
            std::os::unix::fs::symlink(&program, &link)?;
        }
        let mut command = Command::new(link);
        command.args(flags).args(&self.flags);
        Process::start(command, folder.join("log"))
    }
}

/// What a process has used so far.
///
/// # Errors
/// When it has ended.
pub fn usage(process: &mut Process) -> anyhow::Result<Usage> {
    process.ensure_running()?;
    let read = |file: &str| std::fs::read_to_string(format!("/proc/{}/{file}", process.pid()));
    let cpu_seconds = cpu_seconds(&read("stat")?).context("what /proc/PID/stat says is not understood")?;
    let status = read("status")?;
    let bytes = |field| kilobytes(&status, field).map(|kilobytes| kilobytes * 1024);
    let (resident, peak) = (bytes("VmRSS:"), bytes("VmHWM:"));
    Ok(Usage {
        cpu_seconds,
        resident_bytes: resident.context("no VmRSS in /proc/PID/status")?,
        peak_bytes: peak.context("no VmHWM in /proc/PID/status")?,
    })
}

/// The peak of a process's memory is counted from here.
///
/// # Errors
/// When the kernel refuses.
pub fn forget_peak(process: &Process) -> anyhow::Result<()> {
    Ok(std::fs::write(format!("/proc/{}/clear_refs", process.pid()), "5")?)
}

/// User and system time of `/proc/PID/stat`. The name of the program, in brackets, may hold anything.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / TICKS_PER_SECOND)
}

fn kilobytes(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_has_a_name_a_path_and_flags() {
        let subject: Subject = "occm=/bin/occm --concurrent-service-syncs=10 --v=2".parse().unwrap();
        assert_eq!((subject.name.as_str(), subject.flags.len()), ("occm", 2));
        let subject: Subject = "target/release/bowline".parse().unwrap();
        assert_eq!(subject.name, "bowline");
        assert!("".parse::<Subject>().is_err());
    }

    #[test]
    fn processor_time_is_read_whatever_the_program_is_called() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 4 0 100 1000 10";
        assert_eq!(cpu_seconds(stat), Some(2.0));
        assert_eq!(kilobytes("VmPeak:\t  9 kB\nVmHWM:\t  812 kB\n", "VmHWM:"), Some(812));
    }
}
