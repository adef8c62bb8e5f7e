//! Kills the manager at random points and starts it again: after a random time, or at a change in the cloud that is never
//! answered. Some starts are under a lease, some without, which is the harder restart: nothing lies between two lives.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use bowline_testkit::eventually;
use bowline_testkit::process::Process;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use real_kubernetes_tests::framework::server::When;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::harness::Harness;

/// Rails are on, with limits under which what the test wants can happen in a minute.
const FLAGS: [&str; 14] = [
    "--concurrent-node-syncs=16",
    "--node-monitor-period=500ms",
    "--node-status-update-frequency=3s",
    "--new-node-grace-period=1s",
    "--node-deletion-limit-percent=100",
    "--node-deletion-window=1s",
    "--node-deletion-breaker-percent=100",
    "--allocate-node-cidrs",
    "--cluster-cidr=10.128.0.0/12",
    "--node-cidr-mask-size=24",
    "--route-reconciliation-period=2s",
    "--leader-elect-lease-duration=4s",
    "--leader-elect-renew-deadline=3s",
    "--leader-elect-retry-period=300ms",
];

pub(crate) struct Reaper<'a> {
    site: &'a Harness,
    rng: StdRng,
    process: Process,
    pub(crate) kills: usize,
    before_effect: usize,
    after_effect: usize,
    under_lease: usize,
    ended_alone: usize,
}

impl fmt::Display for Reaper<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kills, before_effect, after_effect, under_lease, ended_alone, .. } = self;
        write!(
            f,
            "{kills} kills: {before_effect} as a change arrived, {after_effect} after its effect and before the answer, \
             the others at random; {under_lease} starts under a lease, {ended_alone} processes ended by themselves"
        )
    }
}

impl<'a> Reaper<'a> {
    pub(crate) fn new(site: &'a Harness, seed: u64) -> anyhow::Result<Self> {
        let process = site.start(&with_lease(true))?;
        let rng = StdRng::seed_from_u64(seed);
        Ok(Self {
            site,
            rng,
            process,
            kills: 0,
            before_effect: 0,
            after_effect: 0,
            under_lease: 1,
            ended_alone: 0,
        })
    }

    pub(crate) fn tail(&self) -> String {
        self.process.tail()
    }

    /// Kills as often, and if all is over before, not more often than at least; then keeps it alive until all is over.
    pub(crate) async fn reap(
        &mut self,
        times: Range<usize>,
        over: watch::Receiver<bool>,
    ) -> anyhow::Result<()> {
        let before = self.kills;
        while self.kills < before + times.start || (self.kills < before + times.end && !*over.borrow()) {
            let begins_work = self.rng.random_bool(0.8);
            if begins_work {
                self.hears_from_it().await?;
            }
            if begins_work && self.rng.random_bool(0.6) {
                self.wait_for_a_change().await;
            } else {
                sleep(Duration::from_millis(self.rng.random_range(100..3500))).await;
            }
            self.kill()?;
        }
        eventually("all over", async || {
            self.keep_alive()?;
            Ok(over.borrow().then_some(()))
        })
        .await
    }

    /// The cloud hears from the process, so that it works.
    async fn hears_from_it(&mut self) -> anyhow::Result<()> {
        eventually("a call of the manager", async || {
            self.keep_alive()?;
            let pid = self.process.pid();
            Ok(self.site.cloud.with(|cloud| cloud.record.callers.contains(&pid)).then_some(()))
        })
        .await
    }

    async fn wait_for_a_change(&mut self) {
        let after = self.rng.random_bool(0.7);
        let when = if after { When::AfterTheEffect } else { When::BeforeTheEffect };
        let sprung = self.site.cloud.trap(self.rng.random_range(1..40), when);
        if timeout(Duration::from_secs(3), sprung).await.is_ok() {
            *(if after { &mut self.after_effect } else { &mut self.before_effect }) += 1;
        }
        self.site.cloud.disarm();
    }

    fn kill(&mut self) -> anyhow::Result<()> {
        self.process.kill()?;
        self.kills += 1;
        self.restart()
    }

    fn restart(&mut self) -> anyhow::Result<()> {
        let lease = self.rng.random_bool(0.12);
        self.under_lease += usize::from(lease);
        self.process = self.site.start(&with_lease(lease))?;
        Ok(())
    }

    /// A manager that loses its lease, on a machine that is too busy to renew it, ends by itself: then it is started again.
    pub(crate) fn keep_alive(&mut self) -> anyhow::Result<()> {
        if let Some(status) = self.process.exit_status()? {
            println!("it ended by itself: {status}\n{}", self.process.tail());
            self.ended_alone += 1;
            self.restart()?;
        }
        Ok(())
    }
}

fn with_lease(lease: bool) -> Vec<&'static str> {
    let mut flags = FLAGS.to_vec();
    flags.push(if lease { "--leader-elect=true" } else { "--leader-elect=false" });
    flags
}
