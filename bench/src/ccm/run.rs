//! The lives of clusters: for each size and each CCM a new cloud and an empty cluster, and one scenario after the other.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use bowline_testkit::apiserver::Identity;
use bowline_testkit::process::Process;
use tokio::time::{Instant, sleep};

use super::cloud::Cloud;
use super::cluster::BenchCluster;
use super::harness::{Harness, Wanted, create_others};
use super::measurement::{ApiRequests, CloudCalls, Measurement, Ratios, Seconds, first_write};
use super::minimum::{self, Minimum};
use super::proxy::Proxy;
use super::scenario::{Scenario, Size, Wish};
use super::subject::{self, Subject};
use super::traffic::Class;

/// A CCM is at rest when it has asked the cloud for nothing and written nothing for so long: longer than it takes any to look again at a
/// load balancer that it waits for.
const REST: Duration = Duration::from_secs(5);
/// One that never rests is not waited for longer: what it does until then is its cost, and less than all of it.
const REST_MAX: Duration = Duration::from_secs(120);
/// How often it is looked whether all is as it should be, and how much longer than a look takes one waits until the next: looking must
/// not be most of what the machine does.
const LOOK: Duration = Duration::from_millis(50);
const LOOK_SHARE: u32 = 10;

/// What every CCM is told: a name for the cluster, no routes, and no health port. Everything else is as users have it by default.
const FLAGS: [&str; 4] = [
    "--cloud-provider=openstack",
    "--cluster-name=bench",
    "--configure-cloud-routes=false",
    "--secure-port=0",
];

/// Runs all that is wanted, and tells of each measurement when it is there. What could not be measured to the end, and why.
///
/// # Errors
/// When the cluster or the cloud cannot be set up.
pub async fn run(
    cluster: &BenchCluster,
    wish: &Wish,
    mut tell: impl FnMut(&Measurement) -> anyhow::Result<()>,
) -> anyhow::Result<Vec<String>> {
    create_others(cluster, wish.others).await.context("make the Services that are no CCM's business")?;
    let mut failures = Vec::new();
    for size in &wish.sizes {
        for subject in &wish.subjects {
            cluster.clean().await.context("clean up after the CCM before")?;
            let mut life = Life::new(cluster, wish, subject, *size).await?;
            if let Err(error) = life.live(&mut tell).await {
                let log = life.process.as_ref().map(Process::tail).unwrap_or_default();
                failures.push(format!("{} with {size:?}: {error:#}\n{log}", subject.name));
            }
        }
    }
    cluster.clean().await?;
    Ok(failures)
}

struct Life<'s> {
    wish: &'s Wish,
    subject: &'s Subject,
    size: Size,
    site: Harness<'s>,
    proxy: Proxy,
    flags: Vec<String>,
    folder: PathBuf,
    process: Option<Process>,
    boot: f64,
    /// How the cluster and the cloud should be at the moment.
    wanted: Wanted,
    /// How many Nodes have joined so far.
    joined: usize,
}

/// What was so when a scenario began.
struct Window {
    scenario: Scenario,
    began: Instant,
    cpu_seconds: f64,
    led: Option<f64>,
}

impl<'s> Life<'s> {
    async fn new(
        cluster: &'s BenchCluster,
        wish: &'s Wish,
        subject: &'s Subject,
        size: Size,
    ) -> anyhow::Result<Self> {
        let cloud = Cloud::start(size.nodes, wish.pace)?;
        let token = cluster.token_of(&subject.name).await?;
        let proxy = Proxy::start(&cluster.config(&Identity::Anonymous).await?, &token).await?;
        let folder = cluster.folder().join(cluster.unique_name(&subject.name));
        std::fs::create_dir_all(&folder)?;
        let conf = folder.join("cloud.conf");
        std::fs::write(&conf, cloud.conf())?;
        let kubeconfig = cluster.kubeconfig_of_proxy(&proxy.url, &token)?;
        let mut flags: Vec<String> = FLAGS.iter().map(|flag| (*flag).to_owned()).collect();
        flags.extend(wish.flags.iter().cloned());
        flags.push(format!("--cloud-config={}", conf.display()));
        flags.push(format!("--kubeconfig={}", kubeconfig.display()));
        let site = Harness::new(cluster, cloud, size);
        Ok(Self {
            wish,
            subject,
            size,
            site,
            proxy,
            flags,
            folder,
            process: None,
            boot: wish.boots.first().copied().unwrap_or_default(),
            wanted: Wanted { nodes: size.nodes, services: 0, is_edited: false },
            joined: size.nodes,
        })
    }

    fn start(&self) -> anyhow::Result<Process> {
        self.subject.start(&self.flags, &self.folder)
    }

    async fn live(
        &mut self,
        tell: &mut impl FnMut(&Measurement) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let (n, s) = (count(self.size.nodes), count(self.size.services));
        self.site.join_first(self.size.nodes).await.context("the first Nodes join")?;

        let window = self.begin(Scenario::Initialise)?;
        self.process = Some(self.start()?);
        self.finish(window, minimum::initialise(n), tell).await?;
        if !self.wish.goes_beyond(Scenario::Initialise) {
            return Ok(());
        }
        for (place, boot) in self.wish.boots.iter().enumerate() {
            if place > 0 {
                self.delete(tell).await?;
            }
            self.boot = *boot;
            self.site.cloud.set_boot(Duration::from_secs_f64(*boot));
            let window = self.begin(Scenario::Create)?;
            self.site.create_services().await?;
            self.wanted.services = self.size.services;
            self.finish(window, minimum::create(s, *boot), tell).await?;
        }
        self.change(tell).await?;
        self.start_anew(tell).await?;
        if self.wish.goes_beyond(Scenario::FailOver) {
            self.delete(tell).await?;
        }
        if self.wish.wants(Scenario::BrownOut) {
            let window = self.begin(Scenario::BrownOut)?;
            self.site.cloud.brown_out();
            self.site.create_services().await?;
            self.wanted.services = self.size.services;
            self.finish(window, minimum::create_in_brown_out(s, self.boot), tell).await?;
            self.site.cloud.recover();
        }
        Ok(())
    }

    /// What happens to Services and Nodes that are there.
    async fn change(
        &mut self,
        tell: &mut impl FnMut(&Measurement) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let (s, p) = (count(self.size.services), count(self.size.ports));
        if self.wish.wants(Scenario::Quiet) {
            let window = self.begin(Scenario::Quiet)?;
            sleep(self.wish.quiet).await;
            let seconds = self.wish.quiet.as_secs_f64();
            self.finish(window, minimum::quiet(count(self.wanted.nodes), s, seconds), tell).await?;
        }
        if self.wish.wants(Scenario::Edit) {
            let window = self.begin(Scenario::Edit)?;
            self.site.edit().await?;
            self.wanted.is_edited = true;
            self.finish(window, minimum::edit(p), tell).await?;
        }
        if self.wish.wants(Scenario::JoinOne) {
            self.join(Scenario::JoinOne, 1, Duration::ZERO, tell).await?;
        }
        let (burst, span) = self.wish.burst;
        if self.wish.wants(Scenario::JoinMany) {
            self.join(Scenario::JoinMany, burst, span, tell).await?;
        }
        if self.wish.wants(Scenario::Leave) {
            let window = self.begin(Scenario::Leave)?;
            // One of the first: a CCM may be careful with machines that it has hardly seen.
            self.site.leave(self.size.nodes).await?;
            self.wanted.nodes -= 1;
            self.finish(window, minimum::leave(s, p), tell).await?;
        }
        if self.wish.wants(Scenario::NotReady) {
            let (window, some) = (self.begin(Scenario::NotReady)?, (self.size.nodes / 10).max(1));
            self.site.report_first(some, "False").await?;
            sleep(self.wish.not_ready).await;
            self.site.report_first(some, "True").await?;
            let seconds = self.wish.not_ready.as_secs_f64();
            self.finish(window, minimum::not_ready(count(self.wanted.nodes), seconds), tell).await?;
        }
        Ok(())
    }

    async fn join(
        &mut self,
        scenario: Scenario,
        some: usize,
        span: Duration,
        tell: &mut impl FnMut(&Measurement) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let (s, p) = (count(self.size.services), count(self.size.ports));
        let window = self.begin(scenario)?;
        self.site.join_over(self.joined + 1, some, span).await?;
        self.joined += some;
        self.wanted.nodes += some;
        self.finish(window, minimum::join(count(some), span.as_secs_f64(), s, p), tell).await
    }

    /// The CCM ends, once without and once with another one that stands by.
    async fn start_anew(
        &mut self,
        tell: &mut impl FnMut(&Measurement) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let (s, p) = (count(self.size.services), count(self.size.ports));
        let minimum = minimum::restart(count(self.wanted.nodes), s, p);
        if self.wish.wants(Scenario::Restart) {
            let window = self.begin(Scenario::Restart)?;
            let window = self.restart(Window { cpu_seconds: 0.0, ..window }).await?;
            self.finish(window, minimum, tell).await?;
        }
        if self.wish.wants(Scenario::FailOver) {
            let window = self.fail_over().await?;
            self.finish(window, minimum, tell).await?;
        }
        Ok(())
    }

    async fn delete(
        &mut self,
        tell: &mut impl FnMut(&Measurement) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let minimum = minimum::delete(count(self.size.services), self.wish.pace.delete.as_secs_f64());
        let window = self.begin(Scenario::Delete)?;
        self.site.delete_services().await?;
        (self.wanted.services, self.wanted.is_edited) = (0, false);
        self.finish(window, minimum, tell).await
    }

    /// The CCM is asked to end, and another process is started when it has.
    async fn restart(&mut self, window: Window) -> anyhow::Result<Window> {
        let before = self.site.cluster.leader().await?;
        self.process.take().context("no process")?.terminate().await?;
        self.process = Some(self.start()?);
        self.led(window, before).await
    }

    /// A second process stands by, and the leader is asked to end.
    async fn fail_over(&mut self) -> anyhow::Result<Window> {
        let before = self.site.cluster.leader().await?;
        let standby = self.start()?;
        let leader = self.process.replace(standby).context("no process")?;
        self.rest(Instant::now()).await;
        let window = self.begin(Scenario::FailOver)?;
        leader.terminate().await?;
        self.led(window, before).await
    }

    /// Waits until somebody else than before leads.
    async fn led(&mut self, window: Window, before: Option<String>) -> anyhow::Result<Window> {
        let deadline = window.began + self.wish.patience;
        loop {
            let leader = self.site.cluster.leader().await?;
            if leader.is_some() && leader != before {
                let led = Some(window.began.elapsed().as_secs_f64());
                return Ok(Window { led, ..window });
            }
            self.still_runs()?;
            if Instant::now() > deadline {
                bail!("{}: nobody leads after {:?}", window.scenario, self.wish.patience);
            }
            sleep(LOOK).await;
        }
    }

    fn still_runs(&mut self) -> anyhow::Result<()> {
        self.process.as_mut().map_or(Ok(()), Process::ensure_running)
    }

    /// A scenario begins: what passed before is not part of it.
    fn begin(&mut self, scenario: Scenario) -> anyhow::Result<Window> {
        let mut cpu_seconds = 0.0;
        if let Some(process) = &mut self.process {
            subject::forget_peak(process)?;
            cpu_seconds = subject::usage(process)?.cpu_seconds;
        }
        drop(self.site.cloud.traffic.take());
        drop(self.proxy.traffic.take());
        Ok(Window { scenario, began: Instant::now(), cpu_seconds, led: None })
    }

    /// Waits until all is as wanted and the CCM rests, and notes what it cost.
    async fn finish(
        &mut self,
        window: Window,
        minimum: Minimum,
        tell: &mut impl FnMut(&Measurement) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let missing = self.until(&window).await?;
        let mut converged = window.began.elapsed();
        if window.scenario != Scenario::Quiet {
            self.rest(Instant::now()).await;
        }
        // Nothing had to change: it is done when it has looked.
        if window.led.is_some()
            && let Some(last) = self.last_deed()
        {
            converged = converged.max(last.saturating_duration_since(window.began));
        }
        let measurement = self.measurement(&window, converged, minimum, missing)?;
        let missing = measurement.missing.join("; ");
        if self.wish.wants(window.scenario) {
            tell(&measurement)?;
        }
        if !missing.is_empty() {
            bail!("{}: not done within {:?}: {missing}", window.scenario, self.wish.patience);
        }
        Ok(())
    }

    fn measurement(
        &mut self,
        window: &Window,
        converged: Duration,
        minimum: Minimum,
        missing: Vec<String>,
    ) -> anyhow::Result<Measurement> {
        let usage = subject::usage(self.process.as_mut().context("no process")?)?;
        let (cloud, api) = (self.site.cloud.traffic.take(), self.proxy.traffic.take());
        let since = |at: Instant| at.saturating_duration_since(window.began).as_secs_f64();
        let seconds = Seconds {
            converged: converged.as_secs_f64(),
            first_write: first_write(window.began, &cloud, &api),
            first_request: api.first_look.map(since),
            led: window.led,
        };
        let (cloud, api) = (CloudCalls::of(&cloud), ApiRequests::of(&api));
        let ratio = Ratios::of(&cloud, &api, minimum.into());
        Ok(Measurement {
            ccm: self.subject.name.clone(),
            scenario: window.scenario.to_string(),
            nodes: self.size.nodes,
            services: self.size.services,
            ports: self.size.ports,
            others: self.wish.others,
            boot_seconds: self.boot,
            missing,
            cloud,
            api,
            seconds,
            cpu_seconds: usage.cpu_seconds - window.cpu_seconds,
            rss_peak_bytes: usage.peak_bytes,
            rss_steady_bytes: usage.resident_bytes,
            minimum: minimum.into(),
            ratio,
        })
    }

    /// Waits until all is as wanted; what is missing when patience ends.
    async fn until(&mut self, window: &Window) -> anyhow::Result<Vec<String>> {
        let deadline = window.began + self.wish.patience;
        loop {
            let look = Instant::now();
            let missing = self.site.missing(self.wanted);
            if missing.is_empty() || look > deadline {
                return Ok(missing);
            }
            self.still_runs()?;
            sleep(LOOK.max(look.elapsed() * LOOK_SHARE)).await;
        }
    }

    /// When the CCM last did something.
    fn last_deed(&self) -> Option<Instant> {
        let cloud = self.site.cloud.traffic.last(&[Class::Write, Class::Read, Class::Login]);
        cloud.max(self.proxy.traffic.last(&[Class::Write, Class::Event]))
    }

    /// Waits until the CCM rests.
    async fn rest(&self, since: Instant) {
        while since.elapsed() < REST_MAX {
            let last = self.last_deed().map_or(since, |last| last.max(since));
            if last.elapsed() >= REST {
                return;
            }
            sleep(LOOK).await;
        }
    }
}

/// A number of things, to reckon with.
fn count(things: usize) -> u64 {
    u64::try_from(things).unwrap_or(u64::MAX)
}
