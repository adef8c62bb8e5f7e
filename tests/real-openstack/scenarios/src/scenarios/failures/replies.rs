//! Answers that never come, although what was asked for may be done.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bowline_testkit::services::service;
use serde_json::json;

use super::octavia::until_begun;
use crate::conf::Conf;
use crate::faults::{DatabaseLock, Outage};
use crate::harness::Harness;
use crate::scenario::Stage;
use crate::waiting::{holds, until};

/// A manager that waits five seconds for an answer, so that a scenario need not wait a minute.
const IMPATIENT: &str = "[Metadata]\nrequest-timeout = 5s\n";

pub(super) fn impatient(stage: &Stage<'_>) -> Conf {
    Conf { more: IMPATIENT.to_owned(), ..Conf::new(stage.provider.conf()) }
}

/// Octavia counts load balancers under a lock of this row: creations wait for who holds it, and everything else goes on.
pub(super) async fn creations_blocked(site: &Harness<'_>) -> anyhow::Result<DatabaseLock> {
    let project = &site.world.about().estate.project;
    let add = format!("insert ignore into quotas (project_id) values ('{project}')");
    site.world.cloud.sql("octavia", &add)?;
    let lock = format!("begin; select * from quotas where project_id = '{project}' for update;");
    DatabaseLock::hold(site.world, "octavia", &lock).await
}

/// Waits until so many creations wait for the lock.
pub(super) async fn until_blocked(site: &Harness<'_>, number: usize) -> anyhow::Result<()> {
    let question = "select count(*) from information_schema.innodb_trx where trx_state = 'LOCK WAIT'";
    let what = format!("{number} creations wait for the lock");
    let seen = until(&what, async || {
        let rows = site.world.cloud.sql("octavia", question)?;
        let count: usize = rows.first().context("no count")?.parse()?;
        Ok((count >= number).then_some(()))
    });
    seen.await.with_context(|| site.tail())
}

pub(super) async fn no_answer(stage: &Stage<'_>) -> anyhow::Result<()> {
    let site = Harness::start(stage, &impatient(stage)).await?;
    let _manager = site.run(&[])?;
    site.join_all().await?;
    for frozen in ["octavia", "nginx"] {
        let (before, amid) = (format!("before-{frozen}"), format!("amid-{frozen}"));
        let outage = Outage::freeze(site.world, frozen)?;
        site.services.create(&service(&before, &[], &json!({}))).await?;
        // Longer than the manager waits for an answer.
        tokio::time::sleep(Duration::from_secs(7)).await;
        outage.end()?;
        site.served_once(&before).await.with_context(|| format!("{frozen} stood still before a creation"))?;

        site.services.create(&service(&amid, &[], &json!({}))).await?;
        let status = until_begun(&site, &amid).await?;
        let outage = Outage::freeze(site.world, frozen)?;
        tokio::time::sleep(Duration::from_secs(7)).await;
        outage.end()?;
        let began = Instant::now();
        site.served_once(&amid).await.with_context(|| format!("{frozen} stood still amid a creation"))?;
        let took = began.elapsed().as_secs_f64();
        stage.note(format!("{frozen} frozen at {status}: served {took:.1} s after it was thawed"));
        site.nothing_doubled().await?;
    }
    site.services.delete_all().await?;
    site.nothing_left().await
}

pub(super) async fn lost(stage: &Stage<'_>) -> anyhow::Result<()> {
    let site = Harness::start(stage, &impatient(stage)).await?;
    let _manager = site.run(&[])?;
    site.join_all().await?;
    let lock = creations_blocked(&site).await?;
    site.services.create(&service("web", &[], &json!({}))).await?;
    until_blocked(&site, 1).await?;
    // The manager has given up waiting after five seconds, and looks every five: it sees nothing, and does not ask again.
    holds("it is asked for once", Duration::from_secs(14), async || {
        let question = "select count(*) from information_schema.innodb_trx where trx_state = 'LOCK WAIT'";
        Ok(site.world.cloud.sql("octavia", question)? == ["1"] && site.balancers().await?.is_empty())
    })
    .await?;
    lock.end()?;
    let began = Instant::now();
    site.served_once("web").await?;
    stage.note(format!("served {:.1} s after the database was unlocked", began.elapsed().as_secs_f64()));
    ensure!(site.nothing_doubled().await? == 1);
    site.services.delete_all().await?;
    site.nothing_left().await
}

pub(super) async fn manager_lost(stage: &Stage<'_>) -> anyhow::Result<()> {
    let site = Harness::start(stage, &impatient(stage)).await?;
    let mut first = site.run(&[])?;
    site.join_all().await?;
    let lock = creations_blocked(&site).await?;
    site.services.create(&service("web", &[], &json!({}))).await?;
    until_blocked(&site, 1).await?;
    first.kill()?;
    let _second = site.run(&[])?;
    // It knows nothing of the first creation, and cannot see it.
    until_blocked(&site, 2).await.context("the second manager asks as well")?;
    lock.end()?;
    // Both came, and the one that nobody uses goes.
    until("one load balancer is left", async || Ok((site.nothing_doubled().await? == 1).then_some(())))
        .await?;
    site.served_once("web").await?;
    site.services.delete_all().await?;
    site.nothing_left().await
}
