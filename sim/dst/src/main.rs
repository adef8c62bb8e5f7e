//! `cargo xtask dst`: runs whole systems by the thousand, and tells what came of it.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a command for developers: what cannot be is told at once"
)]

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use dst::case::Case;
use dst::fault::{Kind, Place, Script, Source, Spot};
use dst::report::Report;
use dst::shrink::shrink;
use dst::tally::Tally;
use dst::{run, scenarios, swarm};

/// Deterministic simulation of whole systems: everything from one seed
#[derive(Parser)]
#[command(bin_name = "cargo xtask dst")]
struct Arguments {
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
    /// Let the cloud give old answers too: a known gap, see `Swarm::of`
    #[arg(long)]
    stale_cloud: bool,
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
        return replay(&swarm::with(seed, arguments.stale_cloud));
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
    let mut sum = Tally::default();
    let mut failures = Vec::new();
    if !arguments.no_exhaustive {
        let cases = exhaustive(jobs);
        println!("exhaustive: {} scenarios, {} single faults", scenarios::all().len(), cases.len());
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
        .run(arguments.seeds, |number| swarm::with(arguments.from + number, arguments.stale_cloud));
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
    for failure in failures.iter().take(arguments.failures) {
        tell(failure);
    }
    match failures.len() {
        0 => ExitCode::SUCCESS,
        many => {
            println!("{many} runs broke an invariant");
            ExitCode::FAILURE
        }
    }
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

/// Every scenario with every single fault at every effect.
fn exhaustive(jobs: usize) -> Vec<Case> {
    let scenarios = scenarios::all();
    let counts = Mutex::new(vec![(0, 0); scenarios.len()]);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some((place, case)) = Some(next.fetch_add(1, Ordering::Relaxed))
                    .and_then(|at| scenarios.get(at).map(|case| (at, case)))
                {
                    let report = run(case);
                    let count = |place| report.counts.get(&place).copied().unwrap_or_default();
                    counts.lock().unwrap()[place] = (count(Place::KubeEffect), count(Place::CloudEffect));
                    if !report.is_sound() {
                        println!("{}: broken without any fault\n{}", case.name, report.story());
                    }
                }
            });
        }
    });
    let mut cases = Vec::new();
    for (case, (kube, cloud)) in scenarios.iter().zip(counts.into_inner().unwrap()) {
        for (place, count) in [(Place::KubeEffect, kube), (Place::CloudEffect, cloud)] {
            for number in 0..count {
                for kind in Kind::ALL.into_iter().filter(|kind| kind.strikes(place)) {
                    let name = format!("{} + {place:?} {number}: {kind}", case.name);
                    let script = Script::from([(Spot { place, number }, kind)]);
                    cases.push(Case { name, faults: Source::Script(script), ..case.clone() });
                }
            }
        }
    }
    cases
}

/// Two faults at effects of a scenario.
fn pair(scenarios: &[Case], number: u64) -> Case {
    use rand::{RngExt, SeedableRng};
    let mut dice = rand::rngs::Xoshiro256PlusPlus::seed_from_u64(number);
    let case = scenarios[dice.random_range(0..scenarios.len())].clone();
    let mut script = Script::new();
    while script.len() < 2 {
        let place = [Place::KubeEffect, Place::CloudEffect][dice.random_range(0..2)];
        let spot = Spot { place, number: dice.random_range(0..12) };
        let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| kind.strikes(place)).collect();
        script.insert(spot, kinds[dice.random_range(0..kinds.len())]);
    }
    let name = format!("{} + pair {number}", case.name);
    Case { name, faults: Source::Script(script), ..case }
}

/// Many runs on all cores.
struct Level {
    name: &'static str,
    jobs: usize,
    deadline: Option<Instant>,
    most: usize,
}

impl Level {
    fn run(&self, count: u64, case: impl Fn(u64) -> Case + Sync) -> (Tally, Vec<Report>) {
        let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
        let sum = Mutex::new(Tally::default());
        let failures = Mutex::new(Vec::new());
        let began = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..self.jobs {
                scope.spawn(|| {
                    let mut mine = Tally::default();
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
                        if number >= count || late || failures.lock().unwrap().len() >= self.most {
                            break;
                        }
                        let report = run(&case(number));
                        mine.add(&report);
                        if !report.is_sound() {
                            println!("broken: {}", report.case.name);
                            failures.lock().unwrap().push(report);
                        }
                        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                        if done % 1000 == 0 {
                            println!(
                                "{}: {done} of {count}, {:.0} a second",
                                self.name,
                                done as f64 / began.elapsed().as_secs_f64()
                            );
                            std::io::stdout().flush().unwrap();
                        }
                    }
                    sum.lock().unwrap().merge(mine);
                });
            }
        });
        let (sum, failures) = (sum.into_inner().unwrap(), failures.into_inner().unwrap());
        let seconds = began.elapsed().as_secs_f64();
        println!(
            "{}: {} runs in {seconds:.0} s, {:.1} a second; {} broken",
            self.name,
            sum.runs,
            sum.runs as f64 / seconds,
            failures.len()
        );
        (sum, failures)
    }
}
