//! `kill -9` at every write of a scenario, one in each run.

use std::time::Instant;

use anyhow::ensure;
use futures::future::try_join_all;
use perturbed_tests::observer::{KillAt, Moment, Side};
use perturbed_tests::plan::Plan;
use perturbed_tests::run::{Baseline, baseline, run};
use perturbed_tests::scenario::LIFE;
use perturbed_tests::stage::Stage;

use crate::{number, story};

/// Every write to the API server, right after it; every write to the cloud, right before its reply and right after it.
fn kills(wanted: &Baseline) -> Vec<KillAt> {
    let count = |side| wanted.writes.get(&side).copied().unwrap_or(0);
    let all = |side, moment| (1..=count(side)).map(move |write| KillAt { side, write, moment });
    let mut kills: Vec<KillAt> = all(Side::Kube, Moment::BeforeReply).collect();
    kills.extend(all(Side::Cloud, Moment::BeforeReply));
    kills.extend(all(Side::Cloud, Moment::AfterReply));
    kills
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manager_that_is_killed_at_any_write_ends_where_it_would_have_without() -> anyhow::Result<()> {
    let began = Instant::now();
    let jobs = usize::try_from(number("BOWLINE_PERTURBED_JOBS")?.unwrap_or(1))?;
    let stages = try_join_all((0..jobs).map(|_| Stage::start())).await?;
    let wanted = baseline(&stages[0], LIFE).await?;
    println!("{} writes without a fault: {:?}", wanted.written.len(), wanted.writes);
    for (side, write) in &wanted.written {
        println!("  {side:?} {write}");
    }
    let kills = kills(&wanted);
    let only = number("BOWLINE_PERTURBED_KILL")?;
    let chosen = kills.iter().enumerate().filter(|(index, _)| only.is_none_or(|only| only == *index as u64));
    let chosen: Vec<(usize, KillAt)> = chosen.map(|(index, kill)| (index, *kill)).collect();
    let work = async |job: usize, stage: &Stage| -> anyhow::Result<Vec<String>> {
        let mut failed = Vec::new();
        for (index, kill) in chosen.iter().skip(job).step_by(jobs) {
            let report = run(stage, &Plan::killed(LIFE, *kill), &wanted).await?;
            println!("{index:3} {kill}: {} killed, {:.1} s", report.kills, report.took.as_secs_f64());
            if !report.problems.is_empty() {
                let replay = format!("BOWLINE_PERTURBED_KILL={index}: {kill}");
                println!("{replay}\n{}", story(&report));
                failed.push(format!("{replay}: {}", report.problems.join("; ")));
            }
        }
        Ok(failed)
    };
    let failed = try_join_all(stages.iter().enumerate().map(|(job, stage)| work(job, stage))).await?.concat();
    println!("{} kills in {:.0} s, {} failed", chosen.len(), began.elapsed().as_secs_f64(), failed.len());
    ensure!(failed.is_empty(), "{} of {} runs failed:\n{}", failed.len(), chosen.len(), failed.join("\n"));
    Ok(())
}
