//! The levels of the programme: which cases each of them has, and how many are run on all cores.

use std::io::Write as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use bowline_openstack::fuzzing;
use dst::case::Case;
use dst::fault::{Kind, Place, Script, Source, Spot};
use dst::report::Report;
use dst::run;
use dst::tally::Tally;
use parking_lot::Mutex;

/// The planner alone: plans for made-up wishes and clouds are judged, and performed until nothing is left to do.
pub(crate) fn plans(count: u64, jobs: usize) -> bool {
    let (next, broken) = (AtomicU64::new(0), AtomicU64::new(0));
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some(seed) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|seed| *seed < count)
                {
                    if let Err(why) = plan(seed) {
                        broken.fetch_add(1, Ordering::Relaxed);
                        println!("broken: BOWLINE_SEED={seed} cargo test -p bowline-openstack plan: {why}");
                    }
                }
            });
        }
    });
    let (seconds, broken) = (began.elapsed().as_secs_f64(), broken.into_inner());
    println!(
        "planner: {count} seeds in {seconds:.0} s, {:.0} a second; {broken} broken",
        count as f64 / seconds
    );
    broken == 0
}

fn plan(seed: u64) -> Result<(), String> {
    let held = std::panic::catch_unwind(|| {
        let bytes = fuzzing::bytes(seed);
        fuzzing::plan(&bytes).and_then(|()| fuzzing::performed(&bytes))
    });
    held.unwrap_or_else(|_panic| Err("it panics".to_owned()))
}

/// Every one of these scenarios with every single fault at every effect.
pub(crate) fn exhaustive(scenarios: &[Case], jobs: usize) -> Vec<Case> {
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
                    counts.lock()[place] = (count(Place::KubeEffect), count(Place::CloudEffect));
                    if !report.is_sound() {
                        println!("{}: broken without any fault\n{}", case.name, report.story());
                    }
                }
            });
        }
    });
    let mut cases = Vec::new();
    for (case, (kube, cloud)) in scenarios.iter().zip(counts.into_inner()) {
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
pub(crate) fn pair(scenarios: &[Case], number: u64) -> Case {
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
pub(crate) struct Level {
    /// What it is called.
    pub(crate) name: &'static str,
    /// How many threads.
    pub(crate) jobs: usize,
    /// No run begins later.
    pub(crate) deadline: Option<Instant>,
    /// With so many failures it ends.
    pub(crate) most: usize,
}

impl Level {
    /// Runs so many cases; gives what they came to and what failed.
    pub(crate) fn run(&self, count: u64, case: impl Fn(u64) -> Case + Sync) -> (Tally, Vec<Report>) {
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
                        if number >= count || late || failures.lock().len() >= self.most {
                            break;
                        }
                        let report = run(&case(number));
                        mine.add(&report);
                        if !report.is_sound() {
                            let first = report.violations.first();
                            let what = first.map_or_else(String::new, |first| {
                                format!("{:?}: {}", first.rule, first.what)
                            });
                            println!("broken: {}: {what}", report.case.name);
                            failures.lock().push(report);
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
                    sum.lock().merge(mine);
                });
            }
        });
        let (sum, failures) = (sum.into_inner(), failures.into_inner());
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
