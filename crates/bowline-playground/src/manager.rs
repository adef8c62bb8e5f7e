//! The cloud-controller-manager inside of the playground: the same as `bowline ccm` runs, with its command line. It has a runtime of
//! its own, so that it can crash as a process does: everything of it is gone at once, and nothing is put in order before.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use bowline_manager::exit::{Exit, StopSignal};
use bowline_manager::logging::LogLevel;
use bowline_manager::signals::Signals;
use bowline_manager::{CloudControllerManager, Surroundings};
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinHandle, spawn_blocking};

/// The program that the manager calls itself in requests.
pub(crate) const AGENT: &str = "openstack-cloud-controller-manager";

/// Makes the manager.
pub(crate) type Make = fn() -> CloudControllerManager;

/// What every manager of a playground is told. Its servers are in memory: they need no sparing. And nobody waits for minutes until a
/// Node may go that has just joined. On a machine that has much else to do, a lease of fifteen seconds could be lost.
const FLAGS: [&str; 11] = [
    "--cloud-provider=openstack",
    "--secure-port=0",
    "--configure-cloud-routes=false",
    "--kube-api-qps=2000",
    "--kube-api-burst=4000",
    "--cloud-api-qps=500",
    "--cloud-api-burst=1000",
    "--load-balancer-poll-period=300ms",
    "--new-node-grace-period=5s",
    "--leader-elect-lease-duration=2m",
    "--leader-elect-renew-deadline=90s",
];

/// So long its threads may take to stop where they are; none of them blocks.
const CRASH: Duration = Duration::from_secs(5);

/// How a manager is started.
#[derive(Clone)]
pub(crate) struct Recipe {
    make: Make,
    flags: Vec<String>,
    log_level: LogLevel,
    page: Option<SocketAddr>,
}

impl Recipe {
    /// A manager between these two, with more flags.
    pub(crate) fn new(
        make: Make,
        kubeconfig: &Path,
        conf: &Path,
        more: &[String],
        log_level: LogLevel,
    ) -> Self {
        let places =
            [format!("--kubeconfig={}", kubeconfig.display()), format!("--cloud-config={}", conf.display())];
        let flags =
            FLAGS.iter().map(|&flag| flag.to_owned()).chain(places).chain(more.iter().cloned()).collect();
        Self { make, flags, log_level, page: None }
    }

    /// The same with its status page for whoever looks.
    pub(crate) fn with_page(self, page: Option<SocketAddr>) -> Self {
        Self { page, ..self }
    }

    /// The command line.
    pub(crate) fn words(&self) -> String {
        format!("bowline ccm {}", self.flags.join(" "))
    }

    /// Starts it.
    pub(crate) fn start(&self) -> anyhow::Result<Manager> {
        let manager = match self.page {
            Some(page) => (self.make)().open_status_page(page),
            None => (self.make)(),
        };
        let flags = self.flags.clone();
        let signals = Signals::default();
        let around = Surroundings { signals: signals.clone(), log_level: self.log_level.clone() };
        let runtime = Builder::new_multi_thread().thread_name("manager").enable_all().build();
        let runtime = runtime.context("make a runtime for the manager")?;
        let task = runtime.spawn(async move { manager.run_inside(&flags, around).await });
        Ok(Manager { signals, task, runtime: Some(runtime) })
    }
}

/// A manager that runs.
pub(crate) struct Manager {
    signals: Signals,
    task: JoinHandle<Exit>,
    /// All that it runs on; gone when it has crashed.
    runtime: Option<Runtime>,
}

impl Drop for Manager {
    fn drop(&mut self) {
        // Waiting for its threads is not allowed here.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Manager {
    /// Asks it to end, as a kubelet would, and waits for that.
    pub(crate) async fn end(mut self) {
        self.signals.note(StopSignal::Terminate);
        // One that panicked has ended too; its log says why.
        (&mut self.task).await.ok();
    }

    /// Takes it away in the middle of what it does, as a kernel does with a process. Its connections and its port are closed then.
    pub(crate) async fn crash(mut self) {
        if let Some(runtime) = self.runtime.take() {
            // A thread that panicked has ended too.
            spawn_blocking(move || runtime.shutdown_timeout(CRASH)).await.ok();
        }
    }

    /// Whether it has ended although nobody asked.
    pub(crate) fn has_ended(&self) -> bool {
        self.task.is_finished()
    }

    /// Waits until it ends although nobody asked.
    pub(crate) async fn ended(&mut self) -> String {
        match (&mut self.task).await {
            Ok(exit) => format!("{exit:?}"),
            Err(error) => error.to_string(),
        }
    }
}
