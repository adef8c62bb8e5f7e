//! The cloud's database is locked: its services hang, and answer with errors.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bowline_testkit::services::{port, service};
use serde_json::json;

use super::replies::{creations_blocked, impatient, until_blocked};
use crate::conf::Conf;
use crate::faults::DatabaseLock;
use crate::harness::Harness;
use crate::scenario::Stage;

/// Longer than the manager waits for an answer, twice.
const HELD: Duration = Duration::from_secs(12);

pub(super) async fn locked(stage: &Stage<'_>) -> anyhow::Result<()> {
    let site = Harness::start(stage, &impatient(stage)).await?;
    let _manager = site.run(&[])?;
    site.join_all().await?;
    let tables = [
        ("octavia", "load_balancer", "before-lb"),
        ("octavia", "listener", "before-listener"),
        ("neutron", "floatingips", "before-floatingip"),
    ];
    for (database, table, name) in tables {
        let lock = DatabaseLock::hold(site.world, database, &format!("lock tables {table} write;")).await?;
        site.services.create(&service(name, &[], &json!({}))).await?;
        tokio::time::sleep(HELD).await;
        lock.end()?;
        let began = Instant::now();
        site.served_once(name).await.with_context(|| format!("{table} was locked"))?;
        let took = began.elapsed().as_secs_f64();
        stage.note(format!("{database}.{table} locked: served {took:.1} s after it was unlocked"));
        site.nothing_doubled().await?;
    }
    // And amid changes and deletions.
    let lock = DatabaseLock::hold(site.world, "octavia", "lock tables pool write;").await?;
    site.services.edit("before-lb", &json!({"spec": {"ports": [port("https", 443, "TCP")]}})).await?;
    site.services.request_delete("before-listener").await?;
    tokio::time::sleep(HELD).await;
    lock.end()?;
    site.served_once("before-lb").await.context("pools were locked amid a change")?;
    site.services.until_gone("before-listener").await.context("pools were locked amid a deletion")?;
    ensure!(site.nothing_doubled().await? == 2);
    site.services.delete_all().await?;
    site.nothing_left().await
}

pub(super) async fn timed_out(stage: &Stage<'_>) -> anyhow::Result<()> {
    let site = Harness::start(stage, &Conf::new(stage.provider.conf())).await?;
    let _manager = site.run(&[])?;
    site.join_all().await?;
    let lock = creations_blocked(&site).await?;
    site.services.create(&service("web", &[], &json!({}))).await?;
    until_blocked(&site, 1).await?;
    // The database gives up after fifty seconds, and Octavia with it.
    let said = site.until_warned("web", "").await.context("Octavia gives up")?;
    stage.note(format!("said: {said}"));
    lock.end()?;
    let began = Instant::now();
    site.served_once("web").await.context("the database gave up waiting")?;
    stage.note(format!("served {:.1} s after it was unlocked", began.elapsed().as_secs_f64()));
    ensure!(site.nothing_doubled().await? == 1);
    site.services.delete_all().await?;
    site.nothing_left().await
}
