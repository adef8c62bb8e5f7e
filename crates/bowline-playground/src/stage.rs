//! Everything together: a cloud, a cluster with its kubelets, the manager between them, and who tells of it. What is played on it
//! is elsewhere.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use bowline_manager::logging::LogLevel;
use sim_openstack::MEMBER;
use tokio::time::{Instant, sleep, timeout};

use crate::cloud::Cloud;
use crate::cluster::Cluster;
use crate::folder::Folder;
use crate::kubelet::Kubelets;
use crate::manager::{Make, Manager, Recipe};
use crate::news::News;
use crate::ports::Listen;
use crate::terminal::{Terminal, Tone};

/// The name of the manager's log.
pub(crate) const LOG: &str = "ccm.log";

/// How often something is looked for that is waited for.
const LOOK: Duration = Duration::from_millis(20);

/// How long something is waited for that takes seconds.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// What all stages of a process share.
#[derive(Clone)]
pub(crate) struct House {
    /// Where things are told.
    pub(crate) terminal: Terminal,
    /// Makes a manager.
    pub(crate) make: Make,
    /// The log of the process.
    pub(crate) log_level: LogLevel,
    /// Where to listen.
    pub(crate) listen: Listen,
}

/// What is built on a stage.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setting {
    /// How many servers there are at first.
    pub(crate) nodes: usize,
    /// Only a few Nodes take traffic.
    pub(crate) few_take_traffic: bool,
    /// More flags for the manager.
    pub(crate) flags: Vec<String>,
    /// The manager's status page is served.
    pub(crate) has_page: bool,
}

/// A playground.
pub(crate) struct Stage {
    /// What it shares with others.
    pub(crate) house: House,
    /// The cloud.
    pub(crate) cloud: Arc<Cloud>,
    /// The cluster.
    pub(crate) cluster: Cluster,
    /// The kubelets of its servers.
    pub(crate) kubelets: Kubelets,
    /// What is told of it.
    pub(crate) news: News,
    /// Where the status page is.
    pub(crate) page: Option<SocketAddr>,
    recipe: Recipe,
    manager: Option<Manager>,
}

impl Stage {
    /// Builds it, with the files in a folder. The manager runs when it is there.
    pub(crate) async fn build(house: &House, folder: &Folder, setting: &Setting) -> anyhow::Result<Self> {
        let (listener, told_kube) = house.listen.bind(0).await?;
        let cluster = Cluster::start(listener)?;
        let (listener, told_cloud) = house.listen.bind(1).await?;
        let cloud = Arc::new(Cloud::start(listener, setting.nodes)?);
        let (page, told_page) = match setting.has_page && house.listen.is_loopback() {
            // Free now, and for the moment until the manager takes it.
            true => {
                let (listener, told) = house.listen.bind(2).await?;
                (Some(listener.local_addr()?), told)
            }
            false => (None, None),
        };
        for told in told_kube.into_iter().chain(told_cloud).chain(told_page) {
            house.terminal.tell(Tone::Stage, "stage", &told);
        }
        let kubeconfig = folder.write("kubeconfig", &cluster.kubeconfig())?;
        let conf = folder.write("cloud.conf", &cloud.conf(MEMBER.password))?;
        folder.write("clouds.yaml", &cloud.clouds_yaml())?;
        let recipe = Recipe::new(house.make, &kubeconfig, &conf, &setting.flags, house.log_level.clone())
            .with_page(page);
        let news = News::start(cluster.kube.clone(), Some(Arc::clone(&cloud)), house.terminal.clone(), "");
        let kubelets =
            Kubelets::start(cluster.kube.clone(), Arc::clone(&cloud), "", setting.few_take_traffic);
        let manager = Some(recipe.start()?);
        Ok(Self { house: house.clone(), cloud, cluster, kubelets, news, page, recipe, manager })
    }

    /// Where things are told.
    pub(crate) fn terminal(&self) -> &Terminal {
        &self.house.terminal
    }

    /// The manager's command line.
    pub(crate) fn command(&self) -> String {
        self.recipe.words()
    }

    /// Tells what the playground does.
    pub(crate) fn tell(&self, text: &str) {
        self.terminal().tell(Tone::Stage, "stage", text);
    }

    /// Ends the manager as a kubelet would, and starts another one.
    pub(crate) async fn restart_manager(&mut self) -> anyhow::Result<()> {
        if let Some(manager) = self.manager.take() {
            manager.end().await;
        }
        self.manager = Some(self.recipe.start()?);
        Ok(())
    }

    /// Takes the manager away in the middle of what it does, and starts another one, which has to wait for the Lease.
    pub(crate) async fn crash_manager(&mut self) -> anyhow::Result<()> {
        if let Some(manager) = self.manager.take() {
            manager.crash().await;
        }
        self.manager = Some(self.recipe.start()?);
        Ok(())
    }

    /// Waits until the manager ends although nobody asked.
    pub(crate) async fn manager_ended(&mut self) -> String {
        match &mut self.manager {
            Some(manager) => manager.ended().await,
            None => std::future::pending().await,
        }
    }

    /// Waits until the manager ends by itself, which is what is wanted of it. Answers how it ended; no other one is started.
    pub(crate) async fn manager_gives_up(&mut self) -> anyhow::Result<String> {
        let ended = timeout(PATIENCE, self.manager_ended()).await;
        let ended = ended.context("waited in vain: the manager ends by itself")?;
        self.manager = None;
        Ok(ended)
    }

    /// Waits for something. Answers how long it took.
    pub(crate) async fn until(&self, what: &str, is_so: impl FnMut() -> bool) -> anyhow::Result<Duration> {
        self.until_within(PATIENCE, what, is_so).await
    }

    /// The same with another patience.
    pub(crate) async fn until_within(
        &self,
        patience: Duration,
        what: &str,
        mut is_so: impl FnMut() -> bool,
    ) -> anyhow::Result<Duration> {
        let began = Instant::now();
        while !is_so() {
            ensure!(
                !self.manager.as_ref().is_some_and(Manager::has_ended),
                "the manager ended by itself, before: {what}"
            );
            ensure!(began.elapsed() < patience, "waited {} s in vain: {what}", patience.as_secs());
            sleep(LOOK).await;
        }
        Ok(began.elapsed())
    }

    /// Looks for a while whether something stays so.
    pub(crate) async fn stays(
        &self,
        length: Duration,
        what: &str,
        mut is_so: impl FnMut() -> bool,
    ) -> anyhow::Result<()> {
        let began = Instant::now();
        while began.elapsed() < length {
            if !is_so() {
                bail!("no longer so after {:.1} s: {what}", began.elapsed().as_secs_f64());
            }
            sleep(LOOK).await;
        }
        Ok(())
    }

    /// One line of how things stand.
    pub(crate) fn standing(&self) -> String {
        let (now, asked, writes) = (self.news.now(), self.cloud.asked(), self.cluster.gate.writes());
        format!(
            "nodes {}/{} · Services {}/{} · cloud calls {} ({} reads, {} writes) · API writes {}",
            now.initialised,
            now.nodes,
            now.addressed,
            now.services,
            asked.reads + asked.writes,
            asked.reads,
            asked.writes,
            writes.objects
        )
    }

    /// Ends the manager, then the news of it: what is written after this is the last. All else goes with this value.
    pub(crate) async fn end(mut self) {
        if let Some(manager) = self.manager.take() {
            manager.end().await;
        }
        self.news.end().await;
    }
}
