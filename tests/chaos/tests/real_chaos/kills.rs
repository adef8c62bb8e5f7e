//! `kill -9` at every write: one in each run, and all of them in one run.

use std::time::Instant;

use anyhow::{Context, ensure};
use chaos_tests::cluster::ChaosCluster;
use chaos_tests::observer::{KillAt, Moment, Side};
use chaos_tests::plan::Plan;
use chaos_tests::run::{Baseline, baseline, run};
use chaos_tests::scenario::{LIFE, PARTS, Scenario};
use futures::future::try_join_all;
use tokio::sync::{Mutex, OnceCell};

use crate::{number, story};

/// Clusters at once: most of a run is waiting.
const JOBS: u64 = 4;

/// So many writes may not come again.
const UNREACHED_MAX: usize = 5;

/// Every write to the API server, right after it; every write to the cloud, right before its reply and right after it. Those of the
/// steps before `from` are another part's.
fn kills(wanted: &Baseline, from: usize) -> Vec<KillAt> {
    let count = |place: usize, side| {
        wanted.writes.get(place).and_then(|writes| writes.get(&side)).copied().unwrap_or(0)
    };
    let last = wanted.writes.len() - 1;
    let all = |side, moment| {
        (count(from, side) + 1..=count(last, side)).map(move |write| KillAt { side, write, moment })
    };
    let mut kills: Vec<KillAt> = all(Side::Kube, Moment::BeforeReply).collect();
    kills.extend(all(Side::Cloud, Moment::BeforeReply));
    kills.extend(all(Side::Cloud, Moment::AfterReply));
    kills
}

/// Something to run: one kill in a part, or all of them in the whole life.
struct Task {
    name: String,
    plan: Plan,
    wanted: usize,
}

/// The tasks of a scenario, once it is known how much it writes.
fn tasks(index: usize, scenario: Scenario, from: usize, wanted: &Baseline) -> Vec<Task> {
    let one = |kill: KillAt| Task {
        name: format!("{}: {kill}", scenario.name),
        plan: Plan::killed(scenario, kill),
        wanted: index,
    };
    kills(wanted, from).into_iter().map(one).collect()
}

/// A process dies with each of its first writes: none makes two.
fn all_at_once() -> Plan {
    let every = |side| (1..=200).map(move |write| KillAt { side, write, moment: Moment::BeforeReply });
    let kills = every(Side::Kube).chain(every(Side::Cloud)).collect();
    Plan { kills, ..Plan::quiet(LIFE) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manager_that_is_killed_at_any_write_ends_where_it_would_have_without() -> anyhow::Result<()> {
    let began = Instant::now();
    let jobs = usize::try_from(number("BOWLINE_CHAOS_JOBS")?.unwrap_or(JOBS))?;
    let only = number("BOWLINE_CHAOS_KILL")?;
    let clusters = try_join_all((0..jobs).map(|_| ChaosCluster::start())).await?;
    let scenarios: Vec<(Scenario, usize)> = PARTS.into_iter().chain([(LIFE, 0)]).collect();
    let baselines: Vec<OnceCell<Baseline>> = scenarios.iter().map(|_| OnceCell::new()).collect();
    let first: Mutex<Vec<usize>> = Mutex::new((0..scenarios.len()).collect());
    let prepare = async |cluster: &ChaosCluster| {
        while let Some(index) = { first.lock().await.pop() } {
            baselines[index].get_or_try_init(|| baseline(cluster, scenarios[index].0)).await?;
        }
        anyhow::Ok(())
    };
    try_join_all(clusters.iter().map(prepare)).await?;
    let wanted = |index: usize| baselines[index].get().context("no run without a fault");
    let mut list = vec![Task {
        name: "life: killed at every write".to_owned(),
        plan: all_at_once(),
        wanted: PARTS.len(),
    }];
    for (index, (scenario, from)) in PARTS.into_iter().enumerate() {
        println!("{}: {} writes without a fault", scenario.name, wanted(index)?.written.len());
        list.extend(tasks(index, scenario, from, wanted(index)?));
    }
    let total = list.len();
    // The longest one first.
    let list = list
        .into_iter()
        .enumerate()
        .filter(|(index, _)| only.is_none_or(|only| usize::try_from(only) == Ok(*index)));
    let queue = Mutex::new(list.rev().collect::<Vec<_>>());
    let work = async |cluster: &ChaosCluster| -> anyhow::Result<(usize, usize, Vec<String>)> {
        let (mut killed, mut unreached, mut failed) = (0, 0, Vec::new());
        while let Some((index, task)) = { queue.lock().await.pop() } {
            let report = run(cluster, &task.plan, wanted(task.wanted)?).await?;
            killed += report.kills;
            println!("{index:3} {}: {} kills, {:.1} s", task.name, report.kills, report.took.as_secs_f64());
            unreached += usize::from(report.kills == 0);
            if !report.problems.is_empty() {
                let replay = format!("BOWLINE_CHAOS_KILL={index} BOWLINE_CHAOS_JOBS=1: {}", task.name);
                println!("{replay}\n{}", story(&report));
                failed.push(format!("{replay}: {}", report.problems.join("; ")));
            }
        }
        Ok((killed, unreached, failed))
    };
    let done = try_join_all(clusters.iter().map(work)).await?;
    let killed: usize = done.iter().map(|(killed, ..)| killed).sum();
    // Some writes only come when something takes long, and so not in every run.
    let unreached: usize = done.iter().map(|(_, unreached, _)| unreached).sum();
    let failed: Vec<String> = done.into_iter().flat_map(|(.., failed)| failed).collect();
    let (took, count) = (began.elapsed().as_secs_f64(), failed.len());
    println!(
        "{total} runs in {took:.0} s: {killed} kills, {unreached} writes that did not come, {count} failed"
    );
    ensure!(unreached <= UNREACHED_MAX, "{unreached} writes did not come: is anybody killed?");
    ensure!(failed.is_empty(), "{} of {total} runs failed:\n{}", failed.len(), failed.join("\n"));
    Ok(())
}
