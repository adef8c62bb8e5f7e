//! One run: a cloud, a proxy and a process for each manager, the steps of a scenario, what goes wrong, and what has come of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bowline_testkit::manager::Manager;
use bowline_testkit::process::tail;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::cloud::{Cloud, agent};
use crate::cluster::ChaosCluster;
use crate::harness::Harness;
use crate::observer::{Observer, Side};
use crate::plan::{Fault, Pause, Plan, Timed};
use crate::process::Place;
use crate::proxy::Proxy;
use crate::snapshot::Snapshot;

/// Nothing is written for so long at the end of a run without a fault: longer than the pause between two looks at load balancers that
/// are being changed.
const REST: Duration = Duration::from_millis(2700);
/// The same at the end of a run whose end is known.
const CALM: Duration = Duration::from_millis(400);
/// How often a process is looked after.
const CARE: Duration = Duration::from_millis(10);

/// As users run it, but for times that fit a test.
const FLAGS: [&str; 12] = [
    "ccm",
    "--cloud-provider=openstack",
    "--secure-port=0",
    "--controller-start-interval=0s",
    "--kube-api-qps=200",
    "--kube-api-burst=400",
    "--cloud-api-qps=200",
    "--cloud-api-burst=200",
    "--node-monitor-period=500ms",
    "--new-node-grace-period=1s",
    "--second-look-delay=200ms",
    "--v=2",
];

/// One that is started only when the one before it is gone needs no lease, and waits for none.
const ALONE: [&str; 1] = ["--leader-elect=false"];
/// Short, and longer than a busy machine takes to renew it.
const ELECTED: [&str; 3] = [
    "--leader-elect-lease-duration=5s",
    "--leader-elect-renew-deadline=4s",
    "--leader-elect-retry-period=300ms",
];

/// Managers that run, each behind a proxy of its own, and are started again when they end.
pub struct Managers {
    /// Where they run.
    pub places: Vec<Arc<Place>>,
    /// What they talk through.
    pub proxies: Vec<Proxy>,
    /// Their logs.
    pub logs: Vec<PathBuf>,
    _stop: DropGuard,
}

impl Managers {
    /// Starts one for each place of the observer.
    ///
    /// # Errors
    /// When one does not start.
    pub async fn start(
        cluster: &ChaosCluster,
        cloud: &Cloud,
        observer: &Observer,
        places: Vec<Arc<Place>>,
        flags: &[&str],
    ) -> anyhow::Result<Self> {
        let conf = cluster.folder().join(cluster.unique_name("cloud.conf"));
        std::fs::write(&conf, cloud.conf())?;
        let stop = CancellationToken::new();
        let (mut proxies, mut logs) = (Vec::new(), Vec::new());
        for (number, place) in places.iter().enumerate() {
            let proxy =
                Proxy::start(number, cluster.upstream.clone(), cluster.admin.clone(), observer.clone())?;
            let manager = Manager::new(&cluster.bowline)
                .flags(FLAGS)
                .flags(flags.iter().copied())
                .cloud_config(&conf)
                .kubeconfig(&cluster.manager_kubeconfig(&proxy.url)?)
                .flags([format!("--user-agent={}", agent(number))]);
            let log = cluster.folder().join(cluster.unique_name("manager.log"));
            let launch = Launch { manager, log: log.clone() };
            launch.start(place)?;
            let care = care(Arc::clone(place), launch, observer.clone(), number);
            tokio::spawn(stop.clone().run_until_cancelled_owned(care));
            proxies.push(proxy);
            logs.push(log);
        }
        Ok(Self { places, proxies, logs, _stop: stop.drop_guard() })
    }

    /// The last lines of their logs.
    #[must_use]
    pub fn tails(&self) -> String {
        let tails = self.logs.iter().map(|log| format!("--- {}\n{}", log.display(), tail(log)));
        tails.collect::<Vec<_>>().join("\n")
    }
}

struct Launch {
    manager: Manager,
    log: PathBuf,
}

impl Launch {
    fn start(&self, place: &Place) -> anyhow::Result<()> {
        place.start(self.manager.command(), &self.log)
    }
}

/// Starts a process again when it has ended, as a kubelet does.
async fn care(place: Arc<Place>, launch: Launch, observer: Observer, number: usize) {
    loop {
        sleep(CARE).await;
        if let Some(status) = place.ended() {
            observer.tell(format!("manager {number} ended ({status}) and is started again"));
            if let Err(error) = launch.start(&place) {
                return observer.problem(format!("manager {number} cannot be started: {error:#}"));
            }
        }
    }
}

/// What comes of a scenario without a fault.
#[derive(Debug, Clone, Default)]
pub struct Baseline {
    /// What is there when the Nodes of the beginning have joined, and after each step.
    pub snapshots: Vec<Snapshot>,
    /// What was made and deleted in the cloud.
    pub made: BTreeMap<String, usize>,
    /// How many writes there were to each side until then, for each of these snapshots.
    pub writes: Vec<BTreeMap<Side, usize>>,
    /// Those writes.
    pub written: Vec<(Side, String)>,
}

/// What came of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// What must not be.
    pub problems: Vec<String>,
    /// What happened.
    pub story: Vec<String>,
    /// Ends of the managers' logs, if there is a problem.
    pub logs: String,
    /// How many processes were killed.
    pub kills: usize,
    /// How many writes there were.
    pub writes: usize,
    /// How long it took.
    pub took: Duration,
    /// Reads that a server could have answered from the past.
    pub stale_reads: usize,
}

struct Scene<'s> {
    site: Harness<'s>,
    managers: Managers,
}

async fn scene<'s>(cluster: &'s ChaosCluster, plan: &Plan) -> anyhow::Result<Scene<'s>> {
    cluster.clear(|_name| false).await.context("clean up after the run before")?;
    let cloud = Cloud::start(plan.operation).await?;
    let places: Vec<Arc<Place>> = (0..plan.replicas).map(|_| Arc::default()).collect();
    let observer = Observer::new(cloud.sim.clone(), places.clone(), plan.kills.clone());
    cloud.show_to(observer.clone());
    let flags: &[&str] = if plan.is_elected { &ELECTED } else { &ALONE };
    let managers = Managers::start(cluster, &cloud, &observer, places, flags).await?;
    let site = Harness::new(cluster, cloud, observer).await?;
    for node in plan.scenario.nodes {
        site.perform(&crate::scenario::Step::Join(node)).await?;
    }
    Ok(Scene { site, managers })
}

/// Runs a scenario without a fault.
///
/// # Errors
/// When it does not come to rest, or something is wrong even so.
pub async fn baseline(
    cluster: &ChaosCluster,
    scenario: crate::scenario::Scenario,
) -> anyhow::Result<Baseline> {
    let Scene { site, managers } = scene(cluster, &Plan::quiet(scenario)).await?;
    let rest = async || site.rest(REST).await.with_context(|| managers.tails());
    let observer = &site.observer;
    let count = || [Side::Kube, Side::Cloud].map(|side| (side, observer.writes(side))).into();
    let mut snapshots = vec![rest().await?];
    let mut writes: Vec<BTreeMap<Side, usize>> = vec![count()];
    for step in scenario.steps {
        site.perform(step).await?;
        snapshots.push(rest().await?);
        writes.push(count());
    }
    anyhow::ensure!(
        observer.problems().is_empty(),
        "without a fault: {:?}\n{}",
        observer.problems(),
        observer.story().join("\n")
    );
    let (made, written) = (observer.made(), observer.written());
    Ok(Baseline { snapshots, made, writes, written })
}

/// Runs a plan, and compares its end with that of the run without a fault.
///
/// # Errors
/// When the run could not be made; what is wrong with its end is in the report.
pub async fn run(cluster: &ChaosCluster, plan: &Plan, wanted: &Baseline) -> anyhow::Result<Report> {
    let began = Instant::now();
    let Scene { site, managers } = scene(cluster, plan).await?;
    let outcome = perform(&site, &managers, plan, wanted).await;
    let observer = &site.observer;
    if let Err(error) = outcome {
        observer.problem(format!("{error:#}"));
    }
    let problems = observer.problems();
    let logs = if problems.is_empty() { String::new() } else { managers.tails() };
    Ok(Report {
        problems,
        story: observer.story(),
        logs,
        kills: observer.killed(),
        writes: observer.writes(Side::Kube) + observer.writes(Side::Cloud),
        took: began.elapsed(),
        stale_reads: observer.stale_reads(),
    })
}

async fn perform(
    site: &Harness<'_>,
    managers: &Managers,
    plan: &Plan,
    wanted: &Baseline,
) -> anyhow::Result<()> {
    settle(site, &wanted.snapshots[0]).await?;
    let mut versions = vec![site.cluster.version().await?];
    let mut faults = JoinSet::new();
    for (number, step) in plan.scenario.steps.iter().enumerate() {
        site.perform(step).await?;
        for timed in plan.faults.iter().filter(|timed| timed.step == number) {
            faults.spawn(Wrong::new(site, managers, *timed, &versions).happen());
        }
        versions.push(site.cluster.version().await?);
        match plan.pauses[number] {
            Pause::Settled => settle(site, &wanted.snapshots[number + 1]).await?,
            Pause::For(time) => sleep(time).await,
        }
    }
    faults.join_all().await;
    site.observer.tell("nothing goes wrong any more");
    for proxy in &managers.proxies {
        proxy.disturbance.end();
    }
    site.cloud.recover();
    settle(site, wanted.snapshots.last().context("no snapshot")?).await?;
    let in_step = plan.pauses.iter().all(|pause| *pause == Pause::Settled);
    let made = site.observer.made();
    if in_step && made != wanted.made {
        site.observer.problem(format!("made and deleted: {made:?}, without a fault {:?}", wanted.made));
    }
    Ok(())
}

async fn settle(site: &Harness<'_>, wanted: &Snapshot) -> anyhow::Result<()> {
    let different = site.equals(wanted, CALM).await?;
    anyhow::ensure!(
        different.is_empty(),
        "it does not become as without a fault:\n  {}",
        different.join("\n  ")
    );
    Ok(())
}

/// A fault with all that it needs, to happen beside the steps.
struct Wrong {
    timed: Timed,
    observer: Observer,
    cloud: Cloud,
    disturbances: Vec<Arc<crate::disturbance::Disturbance>>,
    places: Vec<Arc<Place>>,
    versions: Vec<String>,
}

impl Wrong {
    fn new(site: &Harness<'_>, managers: &Managers, timed: Timed, versions: &[String]) -> Self {
        let disturbances = managers.proxies.iter().map(|proxy| Arc::clone(&proxy.disturbance)).collect();
        Self {
            timed,
            observer: site.observer.clone(),
            cloud: site.cloud.clone(),
            disturbances,
            places: managers.places.clone(),
            versions: versions.to_vec(),
        }
    }

    async fn happen(self) {
        sleep(self.timed.after).await;
        self.observer.tell(self.timed.fault);
        match self.timed.fault {
            Fault::Kill(place) => self.observer.kill(place, "killed"),
            Fault::Travel(place, back) => {
                let index = self.versions.len().saturating_sub(back);
                if let Some(version) = self.versions.get(index) {
                    self.disturbances[place].travel(version);
                }
                self.observer.kill(place, "killed");
            }
            Fault::Late(place, kind, time) => {
                self.disturbances[place].hold(kind, time);
                sleep(time).await;
            }
            Fault::Unseen(place, kind, time) => {
                self.disturbances[place].hold(kind, time + Duration::from_secs(1));
                sleep(time).await;
                self.disturbances[place].forget(kind);
            }
            Fault::Cut(place, kind) => self.disturbances[place].cut(kind),
            Fault::TooOld(place, kind) => self.disturbances[place].forget(kind),
            Fault::BrownOut(place, time) => {
                self.disturbances[place].brown_out(time);
                sleep(time).await;
            }
            Fault::CloudBrownOut(time) => {
                self.cloud.brown_out(time);
                sleep(time).await;
            }
            Fault::LostReplies(count) => self.cloud.lose_replies(count),
            Fault::Freeze(place, time) => {
                let place = &self.places[place];
                // It may be dead at this moment; then there is nothing to stop.
                if place.signal("STOP").is_ok() {
                    sleep(time).await;
                    place.signal("CONT").ok();
                }
            }
        }
    }
}
