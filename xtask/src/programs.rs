//! Programs of tests: builds them with cargo's own progress, and runs several at once.
//!
//! Cargo itself runs one after the other, and most of them wait for clocks, servers and processes.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::Value;

use crate::real_tests::PREFIX;
use crate::run::{cargo, elapsed, line};
use crate::workspace::workspace;

/// How many run at once: each runs several tests at once itself, with deadlines that an overloaded machine would miss.
const AT_ONCE: usize = 2;
const POLL_INTERVAL: Duration = Duration::from_millis(200);
const HEARTBEAT: Duration = Duration::from_secs(30);

/// A program of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    /// The cargo target.
    pub(crate) name: String,
    pub(crate) file: PathBuf,
    /// Where cargo would run it.
    pub(crate) folder: PathBuf,
    /// Whether nothing else may run beside it.
    pub(crate) is_alone: bool,
    /// The folder of the kube-apiserver and etcd it uses, if not those of the tested release.
    pub(crate) servers: Option<PathBuf>,
}

impl Program {
    /// Starts it, behind a prefix such as `nice`. Its output is in `log`.
    pub(crate) fn spawn(&self, prefix: &[&str], log: &Path) -> anyhow::Result<Child> {
        let output = File::create(log).with_context(|| format!("write {}", log.display()))?;
        let mut command = match prefix.split_first() {
            Some((program, arguments)) => {
                let mut command = Command::new(program);
                command.args(arguments).arg(&self.file);
                command
            }
            None => Command::new(&self.file),
        };
        command
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .envs(self.servers.iter().map(|folder| ("KUBEBUILDER_ASSETS", folder)))
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("start {}", self.name))
    }
}

struct Running {
    program: Program,
    child: Child,
    log: PathBuf,
    since: Instant,
}

/// The test targets of the workspace: those that need nothing beside themselves, and those on the real thing (`real_*`). Not those behind a
/// feature that the tests do not have.
pub(crate) fn test_targets() -> anyhow::Result<Vec<String>> {
    let output = cargo(&["metadata", "--no-deps", "--locked", "--format-version", "1"]).output()?;
    let metadata = serde_json::from_slice(&output.stdout).context("read what `cargo metadata` says")?;
    Ok(targets_in(&metadata))
}

fn targets_in(metadata: &Value) -> Vec<String> {
    let list =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let packages = list(metadata, "packages");
    let targets = packages.iter().flat_map(|package| list(package, "targets"));
    let tests = targets.filter(|target| list(target, "kind") == ["test"]);
    let name =
        |target: Value| Some((target.get("name")?.as_str()?.to_owned(), list(&target, "required-features")));
    let named = tests.filter_map(name);
    named
        .filter(|(name, features)| features.is_empty() || name.starts_with(PREFIX))
        .map(|(name, _features)| name)
        .collect()
}

/// Builds what these arguments of `cargo build` or `cargo test --no-run` choose. Returns the test programs among it.
pub(crate) fn build(command: &str, arguments: &[&str]) -> anyhow::Result<Vec<Program>> {
    let mut command =
        workspace(command, &[arguments, &["--message-format", "json-render-diagnostics"]].concat());
    println!("      $ {}", line(&command));
    let output = command.stderr(Stdio::inherit()).output().context("run cargo")?;
    if !output.status.success() {
        bail!("the tests do not build; what cargo said is above");
    }
    String::from_utf8(output.stdout)?.lines().filter_map(|line| program(line).transpose()).collect()
}

/// Runs programs in this order, and fails with the output of all that failed.
pub(crate) fn run_all(programs: Vec<Program>) -> anyhow::Result<()> {
    let mut waiting = VecDeque::from(programs);
    let (mut running, mut failed, mut passed_tests) = (Vec::new(), Vec::new(), 0);
    let mut heartbeat = Instant::now();
    while !(waiting.is_empty() && running.is_empty()) {
        while waiting.front().is_some_and(|next| running.len() < at_once(next, &running))
            && let Some(program) = waiting.pop_front()
        {
            running.push(start(program)?);
        }
        std::thread::sleep(POLL_INTERVAL);
        let mut still = Vec::new();
        for mut one in running {
            match one.child.try_wait()? {
                Some(status) => {
                    let output = output(&one)?;
                    match outcome(status.success(), &output) {
                        Ok(passed) => passed_tests += report_success(&one, passed),
                        Err(problem) => failed.push(report_failure(&one, problem, &output)),
                    }
                }
                None => still.push(one),
            }
        }
        running = still;
        if heartbeat.elapsed() >= HEARTBEAT {
            heartbeat = Instant::now();
            let names: Vec<&str> = running.iter().map(|one| one.program.name.as_str()).collect();
            println!("      running: {}; {} more to come", names.join(", "), waiting.len());
        }
    }
    if !failed.is_empty() {
        bail!("failed: {}; their output is above", failed.join(", "));
    }
    println!("{passed_tests} passed, 0 failed");
    Ok(())
}

/// How many may run with `next` among them.
fn at_once(next: &Program, running: &[Running]) -> usize {
    let mut programs = running.iter().map(|one| &one.program).chain([next]);
    if programs.any(|program| program.is_alone) { 1 } else { AT_ONCE }
}

/// The program of tests that a message of cargo is about, if it is.
fn program(message: &str) -> anyhow::Result<Option<Program>> {
    let message: Value = serde_json::from_str(message).context("a message of cargo")?;
    let is_test = message.pointer("/profile/test") == Some(&Value::Bool(true));
    let text = |place: &str| message.pointer(place).and_then(Value::as_str);
    let Some(file) = text("/executable").filter(|_file| is_test) else { return Ok(None) };
    let manifest = Path::new(text("/manifest_path").context("a target without a manifest")?);
    Ok(Some(Program {
        name: text("/target/name").context("a target without a name")?.to_owned(),
        file: file.into(),
        folder: manifest.parent().context("a manifest in no folder")?.to_owned(),
        is_alone: false,
        servers: None,
    }))
}

fn start(program: Program) -> anyhow::Result<Running> {
    let log = program.file.with_extension("log");
    let child = program.spawn(&[], &log)?;
    Ok(Running { program, child, log, since: Instant::now() })
}

/// Prints a line for a program whose tests passed; returns how many there were.
fn report_success(one: &Running, passed: usize) -> usize {
    println!("      {}: {passed} passed in {}", one.program.name, elapsed(one.since.elapsed()));
    passed
}

/// Prints the whole output of a program that failed; returns its name.
fn report_failure(one: &Running, problem: &str, output: &str) -> String {
    let name = &one.program.name;
    println!("{output}\n      {name}: {problem} after {}", elapsed(one.since.elapsed()));
    name.clone()
}

fn output(one: &Running) -> anyhow::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(&one.log)?).into_owned())
}

/// How many tests of a program passed, or what went wrong. A program without tests prints a result line, too.
fn outcome(is_success: bool, output: &str) -> Result<usize, &'static str> {
    if !is_success {
        return Err("FAILED");
    }
    passed(output).ok_or("FAILED: no result line")
}

/// The number of passed tests in the last result line.
fn passed(output: &str) -> Option<usize> {
    let last = output.lines().rev().find_map(|line| line.strip_prefix("test result: ok. "))?;
    last.split(" passed").next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(is_test: bool, executable: &str) -> String {
        format!(
            r#"{{"reason":"compiler-artifact","manifest_path":"/w/a/Cargo.toml","target":{{"kind":["test"],"name":"real_a"}},
            "profile":{{"test":{is_test}}},"executable":{executable}}}"#
        )
        .replace('\n', "")
    }

    #[test]
    fn targets_behind_a_feature_count_only_if_they_are_on_the_real_thing() {
        let metadata = serde_json::json!({"packages": [
            {"targets": [{"kind": ["lib"], "name": "a"}, {"kind": ["test"], "name": "service"}]},
            {"targets": [
                {"kind": ["test"], "name": "real_leases", "required-features": ["real-apiserver"]},
                {"kind": ["test"], "name": "live_faults", "required-features": ["real-openstack"]},
                {"kind": ["test"], "name": "recorded"},
            ]},
        ]});
        assert_eq!(targets_in(&metadata), ["service", "real_leases", "recorded"]);
    }

    #[test]
    fn programs_are_the_executables_that_cargo_built_as_tests() {
        let found = program(&message(true, r#""/t/real_a-1""#)).unwrap();
        let wanted = Program {
            name: "real_a".into(),
            file: "/t/real_a-1".into(),
            folder: "/w/a".into(),
            is_alone: false,
            servers: None,
        };
        assert_eq!(found, Some(wanted));
        assert_eq!(program(&message(false, r#""/t/bowline""#)).unwrap(), None);
        assert_eq!(program(&message(true, "null")).unwrap(), None);
        assert_eq!(program(r#"{"reason":"build-finished","success":true}"#).unwrap(), None);
    }

    #[test]
    fn nothing_runs_beside_a_program_that_must_be_alone() {
        let program = |is_alone| Program {
            name: String::new(),
            file: PathBuf::new(),
            folder: PathBuf::new(),
            is_alone,
            servers: None,
        };
        assert_eq!((at_once(&program(true), &[]), at_once(&program(false), &[])), (1, AT_ONCE));
    }

    #[test]
    fn the_last_result_line_says_how_many_tests_passed() {
        let output =
            "running 2 tests\n\ntest result: ok. 2 passed; 0 failed; 0 ignored; finished in 1.00s\n\n";
        assert_eq!((outcome(true, output), outcome(true, &format!("{output}bye\n"))), (Ok(2), Ok(2)));
        assert_eq!(outcome(false, output), Err("FAILED"));
    }

    #[test]
    fn a_program_that_ends_with_success_and_without_a_result_line_has_failed() {
        let none = "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored\n";
        assert_eq!(outcome(true, none), Ok(0));
        assert_eq!(outcome(true, "running 2 tests\n"), Err("FAILED: no result line"));
    }
}
