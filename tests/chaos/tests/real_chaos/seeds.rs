//! Perturbed runs by seed.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Context, ensure};
use chaos_tests::cluster::ChaosCluster;
use chaos_tests::plan::Plan;
use chaos_tests::run::{Baseline, Report, baseline, run};
use chaos_tests::scenario::ALL;
use futures::future::try_join_all;
use tokio::sync::OnceCell;

use crate::{number, story};

/// With those of `kills`, a hundred runs, which take a few minutes on two cores.
const RUNS: u64 = 56;
/// Clusters at once: most of a run is waiting.
const JOBS: u64 = 4;

type Baselines = BTreeMap<&'static str, OnceCell<Baseline>>;

#[derive(Default)]
struct Sum {
    runs: u64,
    kills: usize,
    writes: usize,
    stale_reads: usize,
    /// How often what was seen to go wrong.
    happened: BTreeMap<&'static str, usize>,
    failed: Vec<String>,
}

/// What the story of a run tells, and what that was.
const HAPPENED: [(&str, &str); 8] = [
    ("is of version", "lists from the past"),
    ("breaks", "watches broken"),
    ("refused as too old", "watches refused as too old"),
    ("s late", "watches late"),
    ("its reply is lost", "replies of the cloud lost"),
    ("the cloud refuses", "brown-outs of the cloud"),
    ("the API server refuses", "brown-outs of the API server"),
    ("stands still", "managers that stood still"),
];

impl Sum {
    fn add(&mut self, report: &Report) {
        self.runs += 1;
        self.kills += report.kills;
        self.writes += report.writes;
        self.stale_reads += report.stale_reads;
        for (part, what) in HAPPENED {
            let count = report.story.iter().filter(|line| line.contains(part)).count();
            *self.happened.entry(what).or_default() += count;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn perturbed_runs_end_as_those_that_nothing_disturbs() -> anyhow::Result<()> {
    let began = Instant::now();
    let (runs, jobs) =
        (number("BOWLINE_CHAOS_RUNS")?.unwrap_or(RUNS), number("BOWLINE_CHAOS_JOBS")?.unwrap_or(JOBS));
    let jobs = jobs.clamp(1, runs.max(1));
    let first = number("BOWLINE_SEED")?.unwrap_or(0);
    let baselines: Baselines = ALL.iter().map(|scenario| (scenario.name, OnceCell::new())).collect();
    let sums = try_join_all((0..jobs).map(|job| work(job, jobs, first, runs, &baselines))).await?;
    let mut sum = Sum::default();
    for one in sums {
        (sum.kills, sum.writes) = (sum.kills + one.kills, sum.writes + one.writes);
        sum.stale_reads += one.stale_reads;
        sum.runs += one.runs;
        sum.failed.extend(one.failed);
        for (what, count) in one.happened {
            *sum.happened.entry(what).or_default() += count;
        }
    }
    println!("{:?}", sum.happened);
    println!(
        "{runs} perturbed runs in {:.0} s: {} kills, {} writes, {} reads that may be answered from the past, {} failed",
        began.elapsed().as_secs_f64(),
        sum.kills,
        sum.writes,
        sum.stale_reads,
        sum.failed.len()
    );
    ensure!(sum.runs == runs, "{} of {runs} runs were made", sum.runs);
    ensure!(sum.stale_reads == 0, "lists that an API server may answer from the past");
    ensure!(sum.failed.is_empty(), "{} runs failed:\n{}", sum.failed.len(), sum.failed.join("\n"));
    Ok(())
}

async fn work(job: u64, jobs: u64, first: u64, runs: u64, baselines: &Baselines) -> anyhow::Result<Sum> {
    let cluster = ChaosCluster::start().await?;
    let mut sum = Sum::default();
    for seed in (first..first + runs).filter(|seed| (seed / 2) % jobs == job) {
        let plan = Plan::of_seed(seed);
        let cell = baselines.get(plan.scenario.name).context("no such scenario")?;
        let wanted = cell.get_or_try_init(|| baseline(&cluster, plan.scenario)).await?;
        let report = run(&cluster, &plan, wanted).await?;
        sum.add(&report);
        println!("seed {seed}: {plan}: {:.1} s", report.took.as_secs_f64());
        if !report.problems.is_empty() {
            let replay = format!(
                "BOWLINE_SEED={seed} BOWLINE_CHAOS_RUNS=1 cargo test -p chaos-tests --features real-apiserver \
                 --test real_chaos perturbed -- --nocapture"
            );
            println!("{replay}\n{}", story(&report));
            sum.failed.push(format!("{replay}\n  {}", report.problems.join("\n  ")));
        }
    }
    Ok(sum)
}
