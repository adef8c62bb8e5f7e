//! The tests on the real thing, several programs at once: most of their time they wait for servers and processes.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::Value;

use crate::chromium;
use crate::run::{elapsed, line};
use crate::workspace::workspace;

/// The one that needs a browser.
const BROWSER: &str = "real_browser";

/// So many at once: each has tests at once of its own, and deadlines that a machine with nothing left to give would miss.
const AT_ONCE: usize = 2;
/// Those that are first, and alone: several clusters of their own, leases of seconds, or counts that depend on who is late.
const ALONE: [&str; 3] = ["real_perturbed", "real_rbac", "real_bench"];
/// Those that take minutes, the longest first: begun last, each would be waited for alone.
const LONG: [&str; 5] =
    ["real_occm", "real_services", "real_openstack_cli", "real_operator", "real_migration"];
const LOOK: Duration = Duration::from_millis(200);
const HEARTBEAT: Duration = Duration::from_secs(30);

/// A program of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Program {
    name: String,
    file: PathBuf,
    /// Where cargo would run it.
    folder: PathBuf,
}

struct Running {
    program: Program,
    child: Child,
    log: PathBuf,
    since: Instant,
}

/// Builds them and runs them all. Their targets are named `real_*`, so that the quick tests are not run a second time.
pub(crate) fn run() -> anyhow::Result<()> {
    run_these(build()?)
}

/// Only those that must be alone.
pub(crate) fn run_alone() -> anyhow::Result<()> {
    run_these(build()?.into_iter().filter(|program| is_alone(&program.name)).collect())
}

/// Only those that others may run beside.
pub(crate) fn run_together() -> anyhow::Result<()> {
    run_these(build()?.into_iter().filter(|program| !is_alone(&program.name)).collect())
}

fn run_these(programs: Vec<Program>) -> anyhow::Result<()> {
    let mut waiting = VecDeque::from(programs);
    let (mut running, mut failed) = (Vec::new(), Vec::new());
    let mut told = Instant::now();
    while !(waiting.is_empty() && running.is_empty()) {
        while waiting.front().is_some_and(|next| running.len() < at_once(next, &running))
            && let Some(program) = waiting.pop_front()
        {
            running.push(start(program)?);
        }
        std::thread::sleep(LOOK);
        let mut still = Vec::new();
        for mut one in running {
            match one.child.try_wait()? {
                Some(status) => failed.extend(tell(&one, status.success())?),
                None => still.push(one),
            }
        }
        running = still;
        if told.elapsed() >= HEARTBEAT {
            told = Instant::now();
            let names: Vec<&str> = running.iter().map(|one| one.program.name.as_str()).collect();
            println!("      running: {}; {} more to come", names.join(", "), waiting.len());
        }
    }
    if !failed.is_empty() {
        bail!("failed: {}; what they said is above", failed.join(", "));
    }
    Ok(())
}

/// Builds the programs, with cargo's own progress.
fn build() -> anyhow::Result<Vec<Program>> {
    let arguments = ["--test", "real_*", "--no-run", "--message-format", "json-render-diagnostics"];
    let mut command = workspace("test", &arguments);
    println!("      $ {}", line(&command));
    let output = command.stderr(Stdio::inherit()).output().context("run cargo")?;
    if !output.status.success() {
        bail!("the tests on the real thing do not build; what cargo said is above");
    }
    let mut programs = String::from_utf8(output.stdout)?
        .lines()
        .filter_map(|line| program(line).transpose())
        .collect::<anyhow::Result<Vec<_>>>()?;
    if chromium::located().is_none() {
        println!("      NOT TESTED, the status page in a browser: there is no chromium");
        programs.retain(|program| program.name != BROWSER);
    }
    programs.sort_by_key(|program| place(&program.name));
    Ok(programs)
}

/// When a program has its turn.
fn place(name: &str) -> usize {
    let order = || ALONE.iter().chain(&LONG);
    order().position(|first| *first == name).unwrap_or_else(|| order().count())
}

/// How many may run with `next` among them.
fn at_once(next: &Program, running: &[Running]) -> usize {
    let mut names = running.iter().map(|one| &one.program.name).chain([&next.name]);
    if names.any(|name| is_alone(name)) { 1 } else { AT_ONCE }
}

fn is_alone(name: &str) -> bool {
    ALONE.contains(&name)
}

/// The program of tests that a message of cargo is about, if it is.
fn program(message: &str) -> anyhow::Result<Option<Program>> {
    let message: Value = serde_json::from_str(message).context("a message of cargo")?;
    let is_test = message.pointer("/target/kind") == Some(&serde_json::json!(["test"]));
    let text = |place: &str| message.pointer(place).and_then(Value::as_str);
    let Some(file) = text("/executable").filter(|_file| is_test) else { return Ok(None) };
    let manifest = Path::new(text("/manifest_path").context("a target without a manifest")?);
    Ok(Some(Program {
        name: text("/target/name").context("a target without a name")?.to_owned(),
        file: file.into(),
        folder: manifest.parent().context("a manifest in no folder")?.to_owned(),
    }))
}

fn start(program: Program) -> anyhow::Result<Running> {
    let log = program.file.with_extension("log");
    let output = File::create(&log).with_context(|| format!("write {}", log.display()))?;
    let child = Command::new(&program.file)
        .current_dir(&program.folder)
        .env("CARGO_MANIFEST_DIR", &program.folder)
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .spawn()
        .with_context(|| format!("start {}", program.name))?;
    Ok(Running { program, child, log, since: Instant::now() })
}

/// What came of one: its last word, and if it failed everything; its name in that case.
fn tell(one: &Running, passed: bool) -> anyhow::Result<Option<String>> {
    let (name, took) = (&one.program.name, elapsed(one.since.elapsed()));
    let said = String::from_utf8_lossy(&fs::read(&one.log)?).into_owned();
    if passed {
        println!("      {name}: {} in {took}", verdict(&said));
        return Ok(None);
    }
    println!("{said}\n      {name}: FAILED after {took}");
    Ok(Some(name.clone()))
}

/// The counts of the last line about results.
fn verdict(said: &str) -> &str {
    let last = said.lines().rev().find_map(|line| line.strip_prefix("test result: ok. "));
    last.and_then(|counts| counts.split(';').next()).unwrap_or("no result")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_read_from_what_cargo_says_of_tests_and_of_nothing_else() {
        let message = |kind: &str, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/w/a/Cargo.toml","target":{{"kind":["{kind}"],"name":"real_a"}},
                "executable":{executable}}}"#
            )
            .replace('\n', "")
        };
        let found = program(&message("test", r#""/t/real_a-1""#)).unwrap();
        let wanted = Program { name: "real_a".into(), file: "/t/real_a-1".into(), folder: "/w/a".into() };
        assert_eq!(found, Some(wanted));
        assert_eq!(program(&message("bin", r#""/t/bowline""#)).unwrap(), None);
        assert_eq!(program(&message("test", "null")).unwrap(), None);
        assert_eq!(program(r#"{"reason":"build-finished","success":true}"#).unwrap(), None);
    }

    #[test]
    fn those_that_must_be_alone_are_first_and_the_longest_follow() {
        let mut names = ["real_ccm", "real_operator", "real_bench", "real_occm", "real_perturbed"];
        names.sort_by_key(|name| place(name));
        assert_eq!(names, ["real_perturbed", "real_bench", "real_occm", "real_operator", "real_ccm"]);
        let program =
            |name: &str| Program { name: name.to_owned(), file: PathBuf::new(), folder: PathBuf::new() };
        assert_eq!((at_once(&program("real_rbac"), &[]), at_once(&program("real_ccm"), &[])), (1, 2));
    }

    #[test]
    fn the_verdict_is_how_many_passed() {
        let said = "running 2 tests\n\ntest result: ok. 2 passed; 0 failed; 0 ignored; finished in 1.00s\n\n";
        assert_eq!((verdict(said), verdict("killed")), ("2 passed", "no result"));
    }
}
