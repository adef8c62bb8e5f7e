//! Runs suites again and again, beside busy processes and at idle priority, and reports which fail now and then.
//!
//! A test that fails one time in fifty is a defect, and a single run does not show it.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use crate::programs::Program;
use crate::run::{elapsed, workspace_root};
use crate::{quick_tests, real_tests};

/// Busy processes beside the suite: as many as the cores of the machines on which the tests have to pass.
const BUSY: usize = 2;

/// The runs of one suite.
struct Runs {
    name: String,
    times: Vec<Duration>,
    failed: usize,
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
    let all = programs.iter().map(|program| repeat(program, runs, &folder)).collect::<Result<Vec<_>, _>>()?;
    print!("{}", table(&all));
    let failed = all.iter().filter(|runs| runs.failed > 0).count();
    ensure!(failed == 0, "{failed} suites failed at least once; the logs are in {}", folder.display());
    Ok(())
}

fn repeat(program: &Program, runs: usize, folder: &Path) -> anyhow::Result<Runs> {
    let mut done = Runs { name: program.name.clone(), times: Vec::new(), failed: 0 };
    for run in 0..=runs {
        // The last one alone, at idle priority.
        let is_idle = run == runs;
        let prefix = if is_idle { yielding() } else { &[] };
        let _load = if is_idle { Vec::new() } else { load()? };
        let log = folder.join(format!("{}-{run}.log", program.name));
        let start = Instant::now();
        let passes = program.passes(prefix, &log)?;
        let took = start.elapsed();
        done.times.push(took);
        println!(
            "      {} {}/{}: {} in {}",
            program.name,
            run + 1,
            runs + 1,
            if passes { "passed" } else { "FAILED" },
            elapsed(took)
        );
        if passes {
            fs::remove_file(&log)?;
        } else {
            done.failed += 1;
        }
    }
    Ok(done)
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
    fn the_load_ends_with_its_owner() {
        let busy = load().unwrap();
        let pids: Vec<u32> = busy.iter().map(|busy| busy.0.id()).collect();
        assert_eq!(pids.len(), BUSY);
        drop(busy);
        assert!(pids.iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists()));
    }
}
