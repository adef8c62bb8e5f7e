//! Migrations from the real OpenStack cloud-controller-manager to Bowline and back, on a real API server and a simulated OpenStack
//! over HTTP, with crashes of everybody at random points. The shipped binary is the operator and the manager; what kubelets and the
//! controller of Deployments would do, `agent` does.
//!
//! `BOWLINE_MIGRATION_RUNS` is how many runs there are, `BOWLINE_MIGRATION_JOBS` on how many clusters at once, `BOWLINE_SEED` the
//! seed of the first. Needs `cargo xtask kubernetes`, and `bowline` built.

#![expect(
    clippy::indexing_slicing,
    reason = "an answer without what is looked for fails the test, as it should"
)]

mod agent;
mod cloud;
mod cluster;
mod harness;
mod in_tree;
mod operators;
mod run;
mod watch;

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use futures::future::try_join_all;
use rand::RngExt;
use real_kubernetes_tests::migration::plan::Plan;

use crate::cluster::MigrationCluster;

/// Enough to see that it works; hundreds are for a person who has an hour.
const RUNS: u64 = 4;

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_never_has_two_writers_and_never_a_second_load_balancer() -> anyhow::Result<()> {
    let (runs, jobs) =
        (number("BOWLINE_MIGRATION_RUNS")?.unwrap_or(RUNS), number("BOWLINE_MIGRATION_JOBS")?.unwrap_or(1));
    let first = number("BOWLINE_SEED")?.unwrap_or_else(|| rand::rng().random_range(0..1_000_000_000));
    println!("{runs} runs from seed {first}: repeat with BOWLINE_SEED={first} BOWLINE_MIGRATION_RUNS={runs}");
    let done = try_join_all((0..jobs).map(|job| work(job, jobs, first, runs))).await?;
    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    let mut failed = Vec::new();
    for outcome in done.into_iter().flatten() {
        *ends.entry(outcome.end).or_default() += 1;
        failed.extend(outcome.failed);
    }
    println!("{runs} runs: {ends:?}, {} failed", failed.len());
    ensure!(failed.is_empty(), "{} runs failed:\n{}", failed.len(), failed.join("\n"));
    Ok(())
}

/// What came of a run, in words.
struct Outcome {
    end: String,
    failed: Option<String>,
}

/// The runs of one of several jobs, on a cluster of its own.
async fn work(job: u64, jobs: u64, first: u64, runs: u64) -> anyhow::Result<Vec<Outcome>> {
    let Some(stage) = MigrationCluster::start().await? else {
        println!("no openstack-cloud-controller-manager beside kube-apiserver: nothing is migrated from");
        return Ok(Vec::new());
    };
    let mut outcomes = Vec::new();
    for number in (0..runs).filter(|number| number % jobs == job) {
        let seed = first + number;
        let plan = Plan::of_seed(seed);
        let report = run::run(&stage, &plan, &format!("run-{number}")).await;
        let report = report.with_context(|| format!("seed {seed}: {plan:?}"))?;
        println!("{}", run::line(&plan, &report));
        let failed = (!report.problems.is_empty()).then(|| {
            let problems = report.problems.join("\n  ");
            format!(
                "BOWLINE_SEED={seed} BOWLINE_MIGRATION_RUNS=1 (logs of run-{number} in {}):\n  {problems}",
                stage.folder().display()
            )
        });
        if let Some(failed) = &failed {
            println!("{failed}");
        }
        let end = report.end.map_or_else(|| "no end".to_owned(), |seen| seen.phase);
        outcomes.push(Outcome { end: format!("{} {end}", plan.kind), failed });
    }
    Ok(outcomes)
}

fn number(variable: &str) -> anyhow::Result<Option<u64>> {
    let Ok(text) = std::env::var(variable) else { return Ok(None) };
    text.parse().map(Some).with_context(|| format!("{variable} is no number: {text}"))
}
