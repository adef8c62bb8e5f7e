//! A step that starts before its turn: another command of ours in the background, which gets little more than the time that others leave.
//!
//! In its turn it gets the priority of everything else: nothing may wait for a step that other work on a busy machine keeps from running.
//!
//! It cannot outlive us: the end of a pipe, which comes even if we are killed, ends it and all that it started.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// What a line has that only says that something goes on.
const HEARTBEAT: &str = " so far";

/// The lowest priority that can be raised again for a whole process group (`chrt --idle` cannot).
const LOW_PRIORITY: [&str; 3] = ["nice", "-n", "19"];

/// Runs a command and ends it, with all of its process group, when the owner of our standard input is gone.
const SUPERVISOR: &str = r#"
exec 3<&0 # a background job would read /dev/null instead
"$@" </dev/null 3<&- &
command=$!
{ read -r _ <&3; kill -s TERM 0; } &
listener=$!
exec 3<&-
wait "$command"
code=$?
kill "$listener"
exit "$code"
"#;

/// A command that runs in the background. Dropped, it is ended.
pub(crate) struct Ahead {
    supervisor: Child,
    log: PathBuf,
    since: Instant,
}

impl Ahead {
    /// Begins a command; what it says is kept in `log`.
    pub(crate) fn begin(command: &Command, log: PathBuf) -> anyhow::Result<Self> {
        if let Some(folder) = log.parent() {
            fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
        }
        let output = File::create(&log).with_context(|| format!("write {}", log.display()))?;
        let supervisor = Command::new("sh")
            .args(["-c", SUPERVISOR, "supervise"])
            .args(LOW_PRIORITY)
            .arg(command.get_program())
            .args(command.get_args())
            .stdin(Stdio::piped())
            .stdout(output.try_clone()?)
            .stderr(output)
            .process_group(0)
            .spawn()
            .context("run sh")?;
        Ok(Self { supervisor, log, since: Instant::now() })
    }

    /// How long it has been there.
    pub(crate) fn age(&self) -> Duration {
        self.since.elapsed()
    }

    /// Whether it came to a bad end already.
    pub(crate) fn has_failed(&mut self) -> anyhow::Result<bool> {
        Ok(self.supervisor.try_wait()?.is_some_and(|status| !status.success()))
    }

    /// Shows what it says, from its beginning and as it goes on, until it ends; fails if it does.
    pub(crate) fn join(mut self) -> anyhow::Result<()> {
        let mut log = File::open(&self.log).with_context(|| format!("read {}", self.log.display()))?;
        print!("{}", without_heartbeats(&news(&mut log)?));
        self.raise_priority();
        loop {
            let end = self.supervisor.try_wait()?;
            print!("{}", news(&mut log)?);
            match end {
                Some(status) if status.success() => return Ok(()),
                Some(status) => bail!("{status}; what it said is above, and in {}", self.log.display()),
                None => std::thread::sleep(POLL_INTERVAL),
            }
        }
    }
}

impl Ahead {
    /// Only root may raise a priority; for anybody else the step stays slow on a busy machine.
    fn raise_priority(&self) {
        let group = self.supervisor.id().to_string();
        let mut renice = Command::new("renice");
        renice.args(["-n", "0", "-g", &group]).stdout(Stdio::null()).stderr(Stdio::null());
        renice.status().ok();
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        drop(self.supervisor.stdin.take()); // which is what tells the supervisor
        if let Err(error) = self.supervisor.wait() {
            eprintln!("      what was begun in the background cannot be waited for: {error}");
        }
    }
}

/// A command of ours, as another process.
pub(crate) fn ourselves(arguments: &[&str]) -> anyhow::Result<Command> {
    let mut command = Command::new(folder()?.join(env!("CARGO_PKG_NAME")));
    command.args(arguments);
    Ok(command)
}

/// Where the log of a step is kept.
pub(crate) fn log_of(step: &str) -> anyhow::Result<PathBuf> {
    Ok(folder()?.join("ahead").join(step.replace(' ', "-")).with_extension("log"))
}

/// Where this program is, also when a newer one has been put in its place.
fn folder() -> anyhow::Result<PathBuf> {
    let here = std::env::current_exe()?;
    Ok(here.parent().context("the folder of this program")?.to_owned())
}

/// What is new in a log.
fn news(log: &mut File) -> anyhow::Result<String> {
    let mut said = Vec::new();
    log.read_to_end(&mut said)?;
    Ok(String::from_utf8_lossy(&said).into_owned())
}

/// That something went on matters while it does: of the past, only what came of it is shown.
fn without_heartbeats(said: &str) -> String {
    said.split_inclusive('\n').filter(|line| !line.contains(HEARTBEAT)).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn log(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("bowline-ahead-{name}-{}.log", std::process::id()))
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_ends_well_has_said_everything_to_its_log_and_what_does_not_is_told_with_its_status() {
        let place = log("ends");
        Ahead::begin(&shell("echo one; echo two >&2"), place.clone()).unwrap().join().unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), "one\ntwo\n");
        let error = Ahead::begin(&shell("exit 7"), place.clone()).unwrap().join().unwrap_err().to_string();
        assert!(error.starts_with("exit status: 7; what it said is above"), "{error}");
        fs::remove_file(place).unwrap();
    }

    #[test]
    fn of_the_past_only_what_came_of_it_is_shown() {
        let said = "building etcd, a minute\nbuilding etcd, 15s so far, a minute\nbuilding etcd: done in 20s\nhalf a li";
        assert_eq!(
            without_heartbeats(said),
            "building etcd, a minute\nbuilding etcd: done in 20s\nhalf a li"
        );
    }

    #[test]
    fn the_priority_is_low_before_its_turn_and_normal_in_it() {
        let (place, trigger) = (log("priority"), log("trigger"));
        let script = format!("nice; while ! test -e {}; do sleep 0.1; done; nice", trigger.display());
        let ahead = Ahead::begin(&shell(&script), place.clone()).unwrap();
        while fs::read_to_string(&place).unwrap() != "19\n" {
            std::thread::sleep(POLL_INTERVAL);
        }
        ahead.raise_priority();
        fs::write(&trigger, "").unwrap();
        ahead.join().unwrap();
        let raised = if is_root() { "0" } else { "19" };
        assert_eq!(fs::read_to_string(&place).unwrap(), format!("19\n{raised}\n"));
        fs::remove_file(place).unwrap();
        fs::remove_file(trigger).unwrap();
    }

    fn is_root() -> bool {
        let output = Command::new("id").arg("-u").output().unwrap();
        output.stdout == b"0\n"
    }

    #[test]
    fn a_failure_is_seen_before_its_turn() {
        let place = log("fails");
        let mut ahead = Ahead::begin(&shell("exit 1"), place.clone()).unwrap();
        ahead.supervisor.wait().unwrap();
        assert!(ahead.has_failed().unwrap());
        fs::remove_file(place).unwrap();
    }

    #[test]
    fn what_is_dropped_ends_with_all_that_it_started() {
        let place = log("dropped");
        let ahead = Ahead::begin(&shell("sleep 1000 & echo $!; wait"), place.clone()).unwrap();
        let grandchild = loop {
            let said = fs::read_to_string(&place).unwrap();
            match said.trim().parse::<u32>() {
                Ok(number) if said.ends_with('\n') => break number,
                _ => std::thread::sleep(POLL_INTERVAL),
            }
        };
        drop(ahead);
        let stat = Path::new("/proc").join(grandchild.to_string()).join("stat");
        // It has been told to end, and may be left to be reaped, but it must not run on.
        let runs = || fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
        let told = Instant::now();
        while runs() {
            assert!(told.elapsed() < Duration::from_secs(20), "process {grandchild} still runs");
            std::thread::sleep(POLL_INTERVAL);
        }
        fs::remove_file(place).unwrap();
    }
}
