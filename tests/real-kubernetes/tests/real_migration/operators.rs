//! The operators: the shipped binary, started again whenever it ends.

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_testkit::process::Process;
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::cluster::MigrationCluster;

/// How soon one that ended is started again.
const PAUSE: Duration = Duration::from_millis(200);

/// The flags: as in a cluster, but for times that fit a test.
const FLAGS: [&str; 15] = [
    "operator",
    "run",
    "--namespace=bowline-system",
    "--secure-port=0",
    "--image=example.org/bowline:1.0.0",
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=500ms",
    "--allowed-secrets=new-cloud-config",
    "--resync-period=5s",
    "--look-period=300ms",
    "--rest-period=1s",
    "--phase-timeout=40s",
    "--address-refresh=500ms",
    "--report-age=10s",
];

/// Operators that run.
pub(crate) struct Operators {
    all: Arc<Mutex<Vec<Process>>>,
    _stop: DropGuard,
}

impl Operators {
    /// Starts so many, which take the cluster for one of this version.
    pub(crate) fn start(
        stage: &MigrationCluster,
        count: usize,
        run: &str,
        minor: Option<u32>,
    ) -> anyhow::Result<Self> {
        let commands = || (0..count).map(|each| command(stage, each, run, minor));
        let all = commands().map(|(command, log)| Process::start(command, log));
        let all: Arc<Mutex<Vec<Process>>> = Arc::new(Mutex::new(all.collect::<Result<_, _>>()?));
        let again: Vec<(Command, PathBuf)> = commands().collect();
        let stop = CancellationToken::new();
        tokio::spawn(stop.clone().run_until_cancelled_owned(restart(all.clone(), again)));
        Ok(Self { all, _stop: stop.drop_guard() })
    }

    /// Ends one, the hard way or not.
    pub(crate) fn end(&self, which: usize, hard: bool) -> anyhow::Result<()> {
        let mut all = lock(&self.all);
        let count = all.len().max(1);
        let Some(process) = all.get_mut(which % count) else { return Ok(()) };
        match (hard, process.is_running()) {
            (true, _) => process.kill(),
            (false, true) => process.signal("TERM"),
            (false, false) => Ok(()),
        }
    }
}

fn command(stage: &MigrationCluster, which: usize, run: &str, minor: Option<u32>) -> (Command, PathBuf) {
    let mut command = Command::new(&stage.bowline);
    command.args(FLAGS).arg(format!("--kubeconfig={}", stage.kubeconfig.display()));
    command.args(minor.map(|minor| format!("--assume-minor={minor}")));
    (command, stage.folder().join(format!("{run}-operator-{which}.log")))
}

async fn restart(all: Arc<Mutex<Vec<Process>>>, starts: Vec<(Command, PathBuf)>) {
    let again = |(command, log): &(Command, PathBuf)| {
        let mut new = Command::new(command.get_program());
        new.args(command.get_args());
        Process::start(new, log)
    };
    loop {
        sleep(PAUSE).await;
        for (process, start) in lock(&all).iter_mut().zip(&starts) {
            if !process.is_running()
                && let Ok(new) = again(start)
            {
                *process = new;
            }
        }
    }
}

fn lock(all: &Mutex<Vec<Process>>) -> MutexGuard<'_, Vec<Process>> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}
