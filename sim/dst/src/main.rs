//! `cargo xtask dst`: runs whole systems by the thousand, and tells what came of it.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a command for developers: what cannot be is told at once"
)]

mod levels;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use dst::case::Case;
use dst::fault::{Kind, Place, Script, Source, Spot};
use dst::report::Report;
use dst::shrink::shrink;
use dst::tally::Tally;
use dst::{museum, run, scenarios, swarm};
use levels::{Level, exhaustive, pair, plans};

/// Deterministic simulation of whole systems: everything from one seed
#[derive(Parser)]
#[command(bin_name = "cargo xtask dst")]
struct Arguments {
    /// How many made-up wishes and clouds for the planner alone
    #[arg(long, default_value_t = 200_000)]
    plans: u64,
    /// How many seeds of the swarm
    #[arg(long, default_value_t = 20_000)]
    seeds: u64,
    /// The first of them
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// Begin no further seed after so many minutes
    #[arg(long)]
    minutes: Option<f64>,
    /// Leave the exhaustive level out
    #[arg(long)]
    no_exhaustive: bool,
    /// In the exhaustive level only scenarios whose names contain this
    #[arg(long)]
    only: Option<String>,
    /// Leave the museum of bugs out
    #[arg(long)]
    no_museum: bool,
    /// So many pairs of faults, by chance, over the scenarios
    #[arg(long, default_value_t = 0)]
    pairs: u64,
    /// Replay one seed of the swarm and tell its story, short and whole
    #[arg(long)]
    seed: Option<u64>,
    /// Replay one scenario and tell its story
    #[arg(long)]
    scenario: Option<String>,
    /// With these faults: `place:number:kind`, as the report of a failure has them
    #[arg(long)]
    fault: Vec<String>,
    /// Show the scenarios
    #[arg(long)]
    list: bool,
    /// How many threads; as many as there are cores by default
    #[arg(long)]
    jobs: Option<usize>,
    /// How many failures are told before it ends
    #[arg(long, default_value_t = 3)]
    failures: usize,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.list {
        for case in scenarios::all() {
            println!("{}", case.name);
        }
        return ExitCode::SUCCESS;
    }
    if let Some(seed) = arguments.seed {
        return replay(&swarm::case(seed));
    }
    if let Some(name) = &arguments.scenario {
        let Some(mut case) = scenarios::all().into_iter().find(|case| case.name == *name) else {
            eprintln!("error: there is no scenario {name:?}; see --list");
            return ExitCode::FAILURE;
        };
        match arguments.fault.iter().map(|text| read_fault(text)).collect::<Result<Script, String>>() {
            Ok(script) => case.faults = Source::Script(script),
            Err(why) => {
                eprintln!("error: {why}");
                return ExitCode::FAILURE;
            }
        }
        return replay(&case);
    }
    whole(&arguments)
}

/// One case, told.
fn replay(case: &Case) -> ExitCode {
    let (first, second) = (run(case), run(case));
    println!("{}", first.story());
    println!("trace {:016x}, and {:016x} the second time", first.trace.hash(), second.trace.hash());
    if first.is_sound() {
        println!("all held; at rest {:?} after the last fault", first.rested);
        return ExitCode::SUCCESS;
    }
    println!("\nthe same, shortened:\n{}", shrink(first).story());
    ExitCode::FAILURE
}

/// Every level, one after the other.
fn whole(arguments: &Arguments) -> ExitCode {
    let jobs = arguments.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(2, Into::into));
    let plans_hold = plans(arguments.plans, jobs);
    let mut sum = Tally::default();
    let mut failures = Vec::new();
    if !arguments.no_exhaustive {
        let mut scenarios = scenarios::all();
        scenarios.retain(|case| arguments.only.as_ref().is_none_or(|only| case.name.contains(only)));
        let cases = exhaustive(&scenarios, jobs);
        println!("exhaustive: {} scenarios, {} single faults", scenarios.len(), cases.len());
        let outcome = Level { name: "exhaustive", jobs, deadline: None, most: arguments.failures }
            .run(cases.len() as u64, |number| cases[usize::try_from(number).unwrap()].clone());
        sum.merge(outcome.0);
        failures.extend(outcome.1);
    }
    if arguments.pairs > 0 {
        let scenarios = scenarios::all();
        let outcome = Level { name: "pairs", jobs, deadline: None, most: arguments.failures }
            .run(arguments.pairs, |number| pair(&scenarios, number));
        sum.merge(outcome.0);
        failures.extend(outcome.1);
    }
    let deadline = arguments.minutes.map(|minutes| Instant::now() + Duration::from_secs_f64(minutes * 60.0));
    let outcome = Level { name: "swarm", jobs, deadline, most: arguments.failures }
        .run(arguments.seeds, |number| swarm::case(arguments.from + number));
    sum.merge(outcome.0);
    failures.extend(outcome.1);
    println!("{}", sum.tables());
    println!(
        "{} runs, {} requests, {} checks of invariants, {:.0} virtual hours",
        sum.runs,
        sum.requests,
        sum.checks,
        sum.virtual_seconds / 3600.0
    );
    let all_found = arguments.no_museum || visit_museum(jobs);
    for failure in failures.iter().take(arguments.failures) {
        tell(failure);
    }
    if !failures.is_empty() {
        println!("{} runs broke an invariant", failures.len());
    }
    if failures.is_empty() && all_found && plans_hold { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether each bug of the museum is found when it is built in.
fn visit_museum(jobs: usize) -> bool {
    println!(
        "\nmuseum: bugs that others had, built in one at a time, and after how many seeds each is found"
    );
    let findings = museum::score(jobs);
    for finding in &findings {
        println!("  {finding}");
    }
    let found = findings.iter().filter(|finding| finding.is_right()).count();
    println!("museum score: {found} of {}", findings.len());
    found == findings.len()
}

/// A failure, shortened, with the command that repeats it.
fn tell(report: &Report) {
    println!("\n==== {} ====", report.case.name);
    for violation in &report.violations {
        println!("{violation}");
    }
    println!("repeat it with: cargo xtask dst {}", command(report));
    println!("shortened:\n{}", shrink(run(&report.case)).story());
}

fn command(report: &Report) -> String {
    match &report.case.faults {
        Source::Chance(swarm) => format!("--seed {}", swarm.seed),
        Source::Nothing => format!("--scenario '{}'", report.case.name),
        Source::Script(script) => {
            let name = report.case.name.split(" + ").next().unwrap_or_default();
            let faults: Vec<String> = script
                .iter()
                .map(|(spot, kind)| format!("--fault '{:?}:{}:{kind:?}'", spot.place, spot.number))
                .collect();
            format!("--scenario '{name}' {}", faults.join(" "))
        }
    }
}

fn read_fault(text: &str) -> Result<(Spot, Kind), String> {
    let wrong = || format!("{text:?} is not PLACE:NUMBER:KIND, such as CloudEffect:3:CrashAfter");
    let [place, number, kind] = text.split(':').collect::<Vec<_>>()[..] else { return Err(wrong()) };
    let place = Place::ALL.into_iter().find(|one| format!("{one:?}") == place).ok_or_else(wrong)?;
    let kind = Kind::ALL.into_iter().find(|one| format!("{one:?}") == kind).ok_or_else(wrong)?;
    Ok((Spot { place, number: number.parse().map_err(|_| wrong())? }, kind))
}
