//! Minutes without a pause: two managers, people who never stop, kills, changes of the leader and brown-outs. At the end everything is
//! deleted, and nothing may be left.
//!
//! In the last third nobody is killed, so that there is one process that has led for long: only of such a one does a slope of memory
//! say something. A process that lives thirty seconds is still filling its caches.

mod memory;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::time::{Instant, sleep};

use self::memory::Memory;
use crate::cloud::Cloud;
use crate::cluster::ChaosCluster;
use crate::disturbance::Kind;
use crate::harness::Harness;
use crate::observer::{Observer, Side};
use crate::process::Place;
use crate::run::Managers;
use crate::scenario::{SERVERS, Step};

/// Two, one of which leads.
const REPLICAS: usize = 2;
/// How long an operation on a load balancer takes.
const OPERATION: Duration = Duration::from_millis(300);
/// Nothing is written for so long: longer than the pause between two looks at load balancers.
const REST: Duration = Duration::from_secs(3);

/// Services that come and go.
const NAMES: [&str; 12] =
    ["a-0", "a-1", "a-2", "a-3", "b-0", "b-1", "b-2", "b-3", "c-0", "c-1", "c-2", "c-3"];
const PORTS: [&[u16]; 4] = [&[80], &[80, 443], &[443], &[80, 8080, 9090]];

/// What differs from a perturbed run: nodes that may go as often as people want.
const FLAGS: [&str; 7] = [
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=500ms",
    "--create-limit=1000",
    "--node-deletion-limit-percent=100",
    "--node-deletion-breaker-percent=100",
    "--v=0",
];

/// What is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Wish {
    /// For how long.
    pub duration: Duration,
    /// What decides by chance.
    pub seed: u64,
    /// Nobody is killed at all: one process leads all the time, and the slope of its memory says the most.
    pub is_calm: bool,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Report {
    /// What is left in the cloud when every Service is gone.
    pub leaks: Vec<String>,
    /// Everything else that must not be; doubled objects are told with S1.
    pub problems: Vec<String>,
    /// Processes that were killed with `kill -9`.
    pub kills: usize,
    /// Leaders that were asked to end, or stood still for longer than their lease.
    pub flips: usize,
    /// Times in which the cloud or the API server refused everything, and watches that broke.
    pub brown_outs: usize,
    /// Things that people did.
    pub deeds: usize,
    /// Writes to the API server and to the cloud.
    pub writes: (usize, usize),
    /// How long it took at the end until all was at rest.
    pub convergence: Duration,
    /// What memory did, in words.
    pub memory: String,
    /// How long all of it took.
    pub took: Duration,
}

impl Report {
    /// Whether all is well.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.leaks.is_empty() && self.problems.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let doubled = self.problems.iter().filter(|problem| problem.starts_with("S1")).count();
        writeln!(f, "{:>8} minutes", format!("{:.1}", self.took.as_secs_f64() / 60.0))?;
        writeln!(f, "{:>8} leaks", self.leaks.len())?;
        writeln!(f, "{doubled:>8} doubled objects")?;
        writeln!(f, "{:>8} other problems", self.problems.len() - doubled)?;
        writeln!(f, "{:>8} kills", self.kills)?;
        writeln!(f, "{:>8} changes of the leader without a kill", self.flips)?;
        writeln!(f, "{:>8} brown-outs and broken watches", self.brown_outs)?;
        writeln!(f, "{:>8} deeds of people", self.deeds)?;
        writeln!(f, "{:>8} writes to the API server, {} to the cloud", self.writes.0, self.writes.1)?;
        writeln!(f, "{:>8} s until all was at rest", format!("{:.1}", self.convergence.as_secs_f64()))?;
        write!(f, "{}", self.memory)?;
        for line in self.leaks.iter().map(|leak| format!("LEAK {leak}")).chain(self.problems.iter().cloned())
        {
            write!(f, "\n{line}")?;
        }
        Ok(())
    }
}

struct Soak<'s> {
    site: Harness<'s>,
    managers: Managers,
    random: StdRng,
    memory: Memory,
    report: Report,
    began: Instant,
    duration: Duration,
    is_calm: bool,
}

/// Runs it.
///
/// # Errors
/// When it could not be run; what is wrong with what came of it is in the report.
pub async fn soak(cluster: &ChaosCluster, wish: Wish) -> anyhow::Result<Report> {
    let cloud = Cloud::start(OPERATION).await?;
    let places: Vec<Arc<Place>> = (0..REPLICAS).map(|_| Arc::default()).collect();
    let observer = Observer::new(cloud.sim.clone(), places.clone(), Vec::new());
    cloud.show_to(observer.clone());
    let managers = Managers::start(cluster, &cloud, &observer, places, &FLAGS).await?;
    let site = Harness::new(cluster, cloud, observer).await?;
    let mut soak = Soak {
        site,
        managers,
        random: StdRng::seed_from_u64(wish.seed),
        memory: Memory::default(),
        report: Report::default(),
        began: Instant::now(),
        duration: wish.duration,
        is_calm: wish.is_calm,
    };
    for server in SERVERS {
        soak.site.perform(&Step::Join(server)).await?;
    }
    soak.site.rest(REST).await.with_context(|| soak.managers.tails())?;
    soak.trouble().await?;
    soak.end().await?;
    Ok(soak.finish())
}

impl Soak<'_> {
    fn between(&mut self, range: std::ops::Range<u64>) -> Duration {
        Duration::from_millis(self.random.random_range(range))
    }

    /// Nobody is killed in the last third.
    fn may_kill(&self) -> bool {
        !self.is_calm && self.began.elapsed() < self.duration * 2 / 3
    }

    async fn trouble(&mut self) -> anyhow::Result<()> {
        let mut deed = self.began;
        let mut blow = self.began + self.between(5_000..10_000);
        let mut cloudy = self.began + self.between(10_000..15_000);
        let mut exchange = self.began + self.between(30_000..40_000);
        let mut minute = self.began + Duration::from_secs(60);
        while self.began.elapsed() < self.duration {
            let now = Instant::now();
            if now >= deed {
                self.deed().await?;
                deed = now + self.between(300..1_500);
            }
            if now >= blow {
                self.blow();
                blow = now + self.between(20_000..40_000);
            }
            if now >= cloudy {
                self.disturb();
                cloudy = now + self.between(10_000..20_000);
            }
            if now >= exchange {
                self.exchange().await?;
                exchange = now + self.between(40_000..70_000);
            }
            if now >= minute {
                println!("{}", self.line());
                minute = now + Duration::from_secs(60);
            }
            self.memory.sample(&self.managers.places, self.began.elapsed());
            sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }

    fn line(&self) -> String {
        let (report, minutes) = (&self.report, self.began.elapsed().as_secs() / 60);
        let (kills, problems) = (self.site.observer.killed(), self.site.observer.problems().len());
        let (deeds, flips, brown_outs) = (report.deeds, report.flips, report.brown_outs);
        format!(
            "minute {minutes}: {deeds} deeds, {kills} kills, {flips} flips, {brown_outs} brown-outs, {problems} problems"
        )
    }

    /// Something that a person does with a Service.
    async fn deed(&mut self) -> anyhow::Result<()> {
        let name = NAMES[self.random.random_range(0..NAMES.len())];
        let ports = PORTS[self.random.random_range(0..PORTS.len())];
        let choice = self.random.random_range(0..10);
        let found = self.site.cluster.services().get_opt(name).await?;
        let step = match found {
            None => Step::Create(name, ports),
            Some(service) if service.metadata.deletion_timestamp.is_some() => return Ok(()),
            Some(_) => match choice {
                0..=3 => Step::Delete(name),
                4 => Step::Internal(name, true),
                5 => Step::Internal(name, false),
                6 => Step::Ranges(name, &["10.0.0.0/8"]),
                _ => Step::Ports(name, ports),
            },
        };
        self.site.perform(&step).await?;
        self.report.deeds += 1;
        Ok(())
    }

    /// A server is rebuilt, unless its node has not come up since the last time.
    async fn exchange(&mut self) -> anyhow::Result<()> {
        let name = SERVERS[self.random.random_range(1..SERVERS.len())];
        let node = self.site.cluster.nodes().get_opt(name).await?;
        let spec = node.and_then(|node| node.spec).unwrap_or_default();
        if spec.provider_id.is_some() {
            self.site.perform(&Step::Exchange(name)).await?;
            self.report.deeds += 1;
        }
        Ok(())
    }

    fn leader(&self) -> usize {
        self.site.observer.last_writer().unwrap_or(0)
    }

    /// A manager dies, or the leader changes without that.
    fn blow(&mut self) {
        if !self.may_kill() {
            return;
        }
        let leader = self.leader();
        match self.random.random_range(0..10) {
            0..=4 => self.site.observer.kill(leader, "killed, the leader"),
            5 | 6 => self.site.observer.kill(1 - leader, "killed, the standby"),
            7 => {
                self.site.observer.kill(leader, "killed, the leader, with the standby");
                self.site.observer.kill(1 - leader, "killed, the standby, with the leader");
            }
            8 => {
                // It may be dead at this moment.
                self.managers.places[leader].signal("TERM").ok();
                self.report.flips += 1;
                self.site.observer.tell("the leader is asked to end");
            }
            _ => self.freeze(leader),
        }
    }

    /// The leader stands still for longer than its lease.
    fn freeze(&mut self, leader: usize) {
        let place = Arc::clone(&self.managers.places[leader]);
        let time = self.between(4_000..6_000);
        self.report.flips += 1;
        self.site.observer.tell(format!("the leader stands still for {time:?}"));
        tokio::spawn(async move {
            if place.signal("STOP").is_ok() {
                sleep(time).await;
                // It may have been killed meanwhile.
                place.signal("CONT").ok();
            }
        });
    }

    /// The cloud or the API server refuses, or a watch breaks. When nobody is killed any more, the API server refuses for less than the
    /// time in which a leader has to renew.
    fn disturb(&mut self) {
        let place = self.random.random_range(0..REPLICAS);
        let kind = if self.random.random_bool(0.5) { Kind::Nodes } else { Kind::Services };
        let long = if self.may_kill() { 1_000..6_000 } else { 200..1_000 };
        let (long, cloudy) = (self.between(long), self.between(1_000..6_000));
        let disturbance = &self.managers.proxies[place].disturbance;
        match self.random.random_range(0..6) {
            0 | 1 => self.site.cloud.brown_out(cloudy),
            2 => disturbance.brown_out(long),
            3 => disturbance.forget(kind),
            4 => disturbance.hold(kind, cloudy),
            _ => self.site.cloud.lose_replies(2),
        }
        self.report.brown_outs += 1;
    }

    /// Nothing goes wrong any more; all comes to rest; everything is deleted.
    async fn end(&mut self) -> anyhow::Result<()> {
        for proxy in &self.managers.proxies {
            proxy.disturbance.end();
        }
        self.site.cloud.recover();
        let began = Instant::now();
        if let Err(error) = self.site.rest(REST).await {
            self.site.observer.problem(format!("{error:#}\n{}", self.managers.tails()));
        }
        self.report.convergence = began.elapsed().saturating_sub(REST);
        for name in NAMES {
            if self.site.cluster.services().get_opt(name).await?.is_some() {
                self.site.delete(name).await.context("delete a Service at the end")?;
            }
        }
        if let Err(error) = self.site.rest(REST).await {
            self.site.observer.problem(format!("after everything was deleted: {error:#}"));
        }
        Ok(())
    }

    fn finish(mut self) -> Report {
        let observer = &self.site.observer;
        self.report.leaks = self.site.cloud.look(|state| observer.foreign().besides(state));
        self.report.problems = observer.problems();
        self.report.kills = observer.killed();
        self.report.writes = (observer.writes(Side::Kube), observer.writes(Side::Cloud));
        self.report.memory = self.memory.words();
        self.report.took = self.began.elapsed();
        self.report
    }
}
