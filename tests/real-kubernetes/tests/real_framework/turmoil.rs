//! 200 nodes join, change, shut down and vanish, 100 Services are made, edited, switched and deleted, while the manager is
//! killed again and again. At the end everything is as wanted, nothing is left over, and nothing was ever doubled.
//!
//! `nodes` and `services` say what happens, `kills` when the manager dies, `checks` what must be so in the end. The plan of
//! everything follows from one seed: `BOWLINE_SEED` repeats a run as far as the machine's timing allows.

mod checks;
mod edits;
mod kills;
mod nodes;
mod services;

use std::time::{Duration, Instant};

use anyhow::ensure;
use bowline_testkit::eventually;
use futures::future::try_join_all;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::harness::Harness;
use crate::world::World;
use checks::Problems;
use kills::Reaper;

const NODES: usize = 200;
const SERVICES: usize = 100;
const KILLS: std::ops::Range<usize> = 16..18;

fn seed() -> u64 {
    std::env::var("BOWLINE_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| rand::rng().random())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turmoil_with_kills_leaves_nothing_over_and_doubles_nothing() -> anyhow::Result<()> {
    let seed = seed();
    println!("seed {seed}: repeat with BOWLINE_SEED={seed}");
    let site = Harness::new().await?;
    let world = World::watch(&site);
    let began = Instant::now();
    let mut rng = StdRng::seed_from_u64(seed);
    site.cloud.lose_replies(40);

    let (over, is_over) = watch::channel(false);
    let mut reaper = Reaper::new(&site, rng.random())?;
    let lives = async {
        let nodes =
            try_join_all((0..NODES).map(|n| nodes::live(&world, n, StdRng::seed_from_u64(rng.random()))));
        let mut tally = edits::Tally::default();
        let services = services::live_all(&world, SERVICES, seed, &mut tally);
        let (nodes, services) = tokio::try_join!(nodes, services)?;
        anyhow::Ok((nodes, services, tally))
    };
    let turmoil = async {
        let lived = lives.await;
        over.send_replace(true);
        lived
    };
    let (lived, reaped) = tokio::join!(turmoil, reaper.reap(KILLS, is_over));
    let (nodes, services, tally) = lived.inspect_err(|error| println!("{error:#}\n{}", reaper.tail()))?;
    reaped?;
    let turmoil_took = began.elapsed();

    // Everything that is still there is exactly as wanted.
    site.cloud.lose_replies(0);
    settle(&mut reaper, &world, async || checks::all(&world, &nodes).await).await?;
    let converged_took = began.elapsed();
    let (over, is_over) = watch::channel(false);
    let deletion = async {
        let deleted = services::delete_all(&world).await;
        over.send_replace(true);
        deleted
    };
    let (deleted, reaped) = tokio::join!(deletion, reaper.reap(2..3, is_over));
    deleted.and(reaped)?;
    settle(&mut reaper, &world, async || checks::nothing_left(&world).await).await?;
    // The nodes are what they were.
    settle(&mut reaper, &world, async || checks::nodes(&world, &nodes).await).await?;

    world.look_away();
    println!("{}", report(&world, &reaper, &services, &tally));
    println!("turmoil {turmoil_took:?}, as wanted after {converged_took:?}, all {:?}", began.elapsed());
    let wrongs = (world.wrongs(), world.cloud.with(|cloud| cloud.record.wrongs.clone()));
    ensure!(wrongs.0.is_empty() && wrongs.1.is_empty(), "seen, and never to be seen: {wrongs:#?}");
    ensure!(reaper.kills >= KILLS.start, "only {} kills", reaper.kills);
    tally.every_edit_happened()?;
    checks::calls(&world, &services)
}

/// Waits until no problem is left; if that never happens, tells which ones are.
async fn settle(
    reaper: &mut Reaper<'_>,
    world: &World,
    mut look: impl AsyncFnMut() -> anyhow::Result<Problems>,
) -> anyhow::Result<()> {
    let mut last = Problems::new();
    let settled = eventually("everything as wanted", async || {
        reaper.keep_alive()?;
        last = look().await?;
        if !last.is_empty() {
            // Each look reads everything: often enough is enough.
            sleep(Duration::from_millis(700)).await;
        }
        Ok(last.is_empty().then_some(()))
    });
    settled.await.map_err(|error| {
        // At once: the servers' end may take a while.
        println!("{last:#?}");
        let (some, wrongs) = (last.iter().take(20).collect::<Vec<_>>(), world.wrongs());
        error
            .context(format!("{} problems, such as {some:#?}; never to be seen: {wrongs:#?}", last.len()))
            .context(reaper.tail())
    })
}

fn report(world: &World, reaper: &Reaper<'_>, services: &services::Lived, tally: &edits::Tally) -> String {
    let (node_versions, node_deletions, service_versions) = world.figures();
    world.cloud.with(|cloud| {
        let record = &cloud.record;
        format!(
            "{NODES} nodes ({node_versions} versions, {node_deletions} deleted), {SERVICES} Services ({service_versions} versions)\n\
             {reaper}\n{tally}\nchanges in the cloud {}: {:?}\nthe least possible {}: {} load balancers, wanted {} times\nreads {:?}",
            record.total_changes(),
            record.changes,
            checks::least_changes(cloud),
            record.served.len(),
            services.wanted,
            record.reads,
        )
    })
}
