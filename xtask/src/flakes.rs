//! Runs suites again and again, beside busy processes and at idle priority, and reports which fail now and then.
//!
//! A test that fails one time in fifty is a defect, and a single run does not show it.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use crate::programs::Program;
use crate::run::{elapsed, workspace_root};
use crate::{quick_tests, real_tests};

/// How many suites run at once, each as the load of the others: on two cores each gets half a core, as beside two builds.
const AT_ONCE: usize = 4;
/// Busy processes beside a suite that must be alone: as many as the cores of the machines on which the tests have to pass.
const BUSY: usize = 2;
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The runs of one suite.
struct Runs {
    name: String,
    times: Vec<Duration>,
    failed: usize,
}

/// A run that has not started.
struct Job {
    /// The index of its suite.
    suite: usize,
    number: usize,
    is_idle: bool,
}

/// A run that has.
struct Running {
    job: Job,
    child: Child,
    log: PathBuf,
    since: Instant,
    _load: Vec<Busy>,
}

/// Runs the suites with these names, or all, so many times under load and once at idle priority.
pub(crate) fn flakes(runs: usize, names: &[String]) -> anyhow::Result<()> {
    let mut programs = quick_tests::build()?;
    programs.extend(real_tests::build_all()?);
    if let Some(unknown) = names.iter().find(|name| programs.iter().all(|program| program.name != **name)) {
        let known: Vec<&str> = programs.iter().map(|program| program.name.as_str()).collect();
        bail!("no suite is called {unknown}; there are {}", known.join(", "));
    }
    programs.retain(|program| names.is_empty() || names.contains(&program.name));
    let folder = workspace_root().join("target/flakes");
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    let mut all: Vec<Runs> = programs
        .iter()
        .map(|program| Runs { name: program.name.clone(), times: Vec::new(), failed: 0 })
        .collect();
    let mut waiting = VecDeque::from(jobs(&programs, runs));
    let mut running: Vec<Running> = Vec::new();
    while !(waiting.is_empty() && running.is_empty()) {
        while waiting.front().is_some_and(|next| fits(next, &running, &programs))
            && let Some(job) = waiting.pop_front()
        {
            running.push(start(job, &programs, &folder)?);
        }
        std::thread::sleep(POLL_INTERVAL);
        let mut still = Vec::new();
        for mut one in running {
            match one.child.try_wait()? {
                Some(status) => record(&one, status.success(), &mut all, runs)?,
                None => still.push(one),
            }
        }
        running = still;
    }
    print!("{}", table(&all));
    let failed = all.iter().filter(|runs| runs.failed > 0).count();
    ensure!(failed == 0, "{failed} suites failed at least once; the logs are in {}", folder.display());
    Ok(())
}

/// All runs in their order: round by round under load, then those of suites that must be alone, then one of each at idle priority.
fn jobs(programs: &[Program], runs: usize) -> Vec<Job> {
    let suites = |is_alone| move |(_index, program): &(usize, &Program)| program.is_alone == is_alone;
    let round = |number, is_alone| {
        let chosen = programs.iter().enumerate().filter(suites(is_alone));
        chosen.map(move |(suite, _program)| Job { suite, number, is_idle: number == runs })
    };
    let under_load = [false, true]
        .into_iter()
        .flat_map(|is_alone| (0..runs).flat_map(move |number| round(number, is_alone)));
    under_load.chain(round(runs, false)).chain(round(runs, true)).collect()
}

/// Whether a run may start beside those that run. Idle ones start when no other is left, which would keep them from running at all.
fn fits(next: &Job, running: &[Running], programs: &[Program]) -> bool {
    let is_alone = |job: &Job| programs.get(job.suite).is_some_and(|program| program.is_alone);
    let jobs = || running.iter().map(|one| &one.job);
    let limit = if jobs().chain([next]).any(is_alone) { 1 } else { AT_ONCE };
    running.len() < limit && jobs().all(|job| job.is_idle == next.is_idle)
}

fn start(job: Job, programs: &[Program], folder: &Path) -> anyhow::Result<Running> {
    let program = programs.get(job.suite).context("a run of no suite")?;
    let prefix = if job.is_idle { yielding() } else { &[] };
    let load = if program.is_alone && !job.is_idle { load()? } else { Vec::new() };
    let log = folder.join(format!("{}-{}.log", program.name, job.number));
    let child = program.spawn(prefix, &log)?;
    Ok(Running { job, child, log, since: Instant::now(), _load: load })
}

/// Counts a run that has ended; the log of one that passed is removed.
fn record(one: &Running, passed: bool, all: &mut [Runs], runs: usize) -> anyhow::Result<()> {
    let took = one.since.elapsed();
    let suite = all.get_mut(one.job.suite).context("a run of no suite")?;
    suite.times.push(took);
    let result = if passed { "passed" } else { "FAILED" };
    println!("      {} {}/{}: {result} in {}", suite.name, one.job.number + 1, runs + 1, elapsed(took));
    if passed {
        fs::remove_file(&one.log)?;
    } else {
        suite.failed += 1;
    }
    Ok(())
}

/// What a command is put behind so that it runs only while nobody else wants to.
fn yielding() -> &'static [&'static str] {
    let idle: &[&str] = &["chrt", "--idle", "0"];
    if works(idle) { idle } else { &["nice", "-n", "19"] }
}

fn works(prefix: &[&str]) -> bool {
    let Some((program, arguments)) = prefix.split_first() else { return false };
    let mut command = Command::new(program);
    command.args(arguments).arg("true").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// A process that keeps a core busy until it is dropped.
struct Busy(Child);

impl Drop for Busy {
    fn drop(&mut self) {
        // It may have been killed by somebody else.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn load() -> anyhow::Result<Vec<Busy>> {
    let busy = |_number| {
        let mut command = Command::new("sh");
        // It ends by itself as well, should this program be killed.
        let script = "while kill -0 $PPID; do i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done; done";
        command.args(["-c", script]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Busy(command.spawn().context("start a busy process")?))
    };
    (0..BUSY).map(busy).collect()
}

/// A row for each suite, as Markdown.
fn table(all: &[Runs]) -> String {
    let row = |runs: &Runs| {
        let (shortest, longest) = (runs.times.iter().min(), runs.times.iter().max());
        let shown = |time: Option<&Duration>| time.map_or_else(String::new, |time| elapsed(*time));
        format!(
            "| {} | {} | {} | {} | {} |\n",
            runs.name,
            runs.times.len(),
            runs.failed,
            shown(shortest),
            shown(longest)
        )
    };
    let rows: String = all.iter().map(row).collect();
    format!("| suite | runs | failed | shortest | longest |\n|---|---|---|---|---|\n{rows}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_row_for_each_suite() {
        let runs = Runs {
            name: "virtual_time".to_owned(),
            times: [70, 65].map(Duration::from_secs).to_vec(),
            failed: 1,
        };
        let table = table(&[runs]);
        assert!(table.ends_with("| virtual_time | 2 | 1 | 1m05s | 1m10s |\n"), "{table}");
    }

    #[test]
    fn runs_under_load_come_first_and_nothing_runs_beside_a_suite_that_must_be_alone() {
        let program = |name: &str, is_alone| Program {
            name: name.to_owned(),
            file: PathBuf::new(),
            folder: PathBuf::new(),
            is_alone,
            servers: None,
        };
        let programs = [program("real_rbac", true), program("people", false)];
        let order = jobs(&programs, 2);
        let order: Vec<_> = order.iter().map(|job| (job.suite, job.number, job.is_idle)).collect();
        let under_load = [(1, 0, false), (1, 1, false), (0, 0, false), (0, 1, false)];
        assert_eq!(order, [&under_load[..], &[(1, 2, true), (0, 2, true)]].concat());

        let running = |suite, is_idle| Running {
            job: Job { suite, number: 0, is_idle },
            child: Command::new("true").spawn().unwrap(),
            log: PathBuf::new(),
            since: Instant::now(),
            _load: Vec::new(),
        };
        let next = |suite, is_idle| Job { suite, number: 1, is_idle };
        assert!(fits(&next(1, false), &[running(1, false)], &programs));
        assert!(!fits(&next(0, false), &[running(1, false)], &programs), "one that must be alone");
        assert!(!fits(&next(1, true), &[running(1, false)], &programs), "an idle one beside others");
        assert!(fits(&next(0, false), &[], &programs));
    }

    #[test]
    fn the_load_ends_with_its_owner() {
        let busy = load().unwrap();
        let pids: Vec<u32> = busy.iter().map(|busy| busy.0.id()).collect();
        assert_eq!(pids.len(), BUSY);
        drop(busy);
        assert!(pids.iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists()));
    }
}
