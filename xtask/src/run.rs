//! Runs other programs in the workspace: prints what is run, says plainly what failed, shows that slow ones are alive.

use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Longer words of a command are not shown whole.
const WORD_LENGTH_MAX: usize = 100;

/// The root of the workspace: the one that `cargo xtask` was called in, also when several share a target folder.
pub(crate) fn workspace_root() -> PathBuf {
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    PathBuf::from(manifest).join("..")
}

/// A cargo command in the workspace, with the cargo that runs us.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(arguments).current_dir(workspace_root());
    if std::env::var_os("CI").is_some() {
        command.env("CARGO_INCREMENTAL", "0"); // what helps the next build only costs time and space there
    }
    command
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    println!("      $ {}", line(command));
    let status = command.status().with_context(|| format!("run `{}`", line(command)))?;
    succeeded(command, status)
}

/// Runs a silent, slow command; says every 15 seconds that `what` goes on, and how long it usually takes.
pub(crate) fn run_slowly(command: &mut Command, what: &str, usually: &str) -> anyhow::Result<()> {
    println!("      {what}, {usually}");
    let start = Instant::now();
    let mut heartbeat = HEARTBEAT_INTERVAL;
    let mut child = command.spawn().with_context(|| format!("run `{}`", line(command)))?;
    loop {
        if let Some(status) = child.try_wait()? {
            succeeded(command, status)?;
            println!("      {what}: done in {}", elapsed(start.elapsed()));
            return Ok(());
        }
        if start.elapsed() >= heartbeat {
            println!("      {what}, {} so far, {usually}", elapsed(heartbeat));
            heartbeat += HEARTBEAT_INTERVAL;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Whether a command succeeds within a time limit; it is ended at the limit.
pub(crate) fn succeeds_within(limit: Duration, command: &mut Command) -> anyhow::Result<bool> {
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("run `{}`", line(command)))?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if start.elapsed() >= limit {
            child.kill()?;
            child.wait()?;
            return Ok(false);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// A duration as people say it: `3.2s`, `1m15s`.
pub(crate) fn elapsed(duration: Duration) -> String {
    match duration.as_secs() {
        0..10 => format!("{:.1}s", duration.as_secs_f64()),
        seconds @ 10..60 => format!("{seconds}s"),
        seconds => format!("{}m{:02}s", seconds / 60, seconds % 60),
    }
}

fn succeeded(command: &Command, status: ExitStatus) -> anyhow::Result<()> {
    if !status.success() {
        bail!("`{}` failed ({status}); what it said is above", line(command));
    }
    Ok(())
}

/// A command as a person reads it: the long list of features is cut.
pub(crate) fn line(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let name = program.file_name().unwrap_or(command.get_program());
    let words = std::iter::once(name).chain(command.get_args());
    words.map(|word| cut(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

fn cut(word: &str) -> String {
    let mut letters = word.chars();
    let start: String = letters.by_ref().take(WORD_LENGTH_MAX).collect();
    if letters.next().is_some() { start + "…" } else { start }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short_to_read() {
        let shown =
            [Duration::from_millis(3_240), Duration::from_secs(42), Duration::from_secs(75)].map(elapsed);
        assert_eq!(shown, ["3.2s", "42s", "1m15s"]);
    }

    #[test]
    fn only_very_long_words_of_a_command_are_cut() {
        let mut command = Command::new("/usr/bin/cargo");
        command.args(["test", "--features", &"feature,".repeat(40)]);
        let shown = line(&command);
        assert!(shown.starts_with("cargo test --features feature,feature,"), "{shown}");
        assert!(shown.ends_with('…') && shown.chars().count() < 130, "{shown}");
    }

    #[test]
    fn a_failed_command_is_named_with_its_arguments() {
        let error = run(Command::new("sh").args(["-c", "exit 3"])).unwrap_err().to_string();
        assert!(error.contains("`sh -c exit 3` failed (exit status: 3)"), "{error}");
    }

    #[test]
    fn a_command_that_takes_too_long_is_ended_and_has_not_succeeded() {
        assert!(!succeeds_within(Duration::from_millis(50), Command::new("sleep").arg("1000")).unwrap());
        assert!(succeeds_within(Duration::from_secs(20), &mut Command::new("true")).unwrap());
    }
}
