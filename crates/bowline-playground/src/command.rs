//! `bowline playground`: reads what is wanted, plays it, and ends it in order.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use bowline_manager::CloudControllerManager;
use bowline_manager::logging::{self, LoggingOptions};
use bowline_manager::signals::Signals;

use crate::folder::Folder;
use crate::ports::Listen;
use crate::stage::{House, LOG};
use crate::terminal::Terminal;
use crate::{scenario, show};

/// How much the manager says in its log.
const VERBOSITY: u8 = 2;

/// The most Services: each has a node port.
const SERVICES_MAX: u64 = 2500;

/// The most nodes: the network of the cloud has so many addresses.
const NODES_MAX: u64 = 20_000;

/// A cluster and an OpenStack in memory, on loopback, with the real manager between them.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// How many nodes join
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=NODES_MAX))]
    pub nodes: u64,
    /// How many Services of type LoadBalancer are created
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(0..=SERVICES_MAX))]
    pub services: u64,
    /// Lets things go wrong while it runs: the same seed, the same faults
    #[arg(long, value_name = "SEED")]
    pub chaos: Option<u64>,
    /// Replays an incident, and checks that the rail holds: `list` tells which there are, `all` plays all of them
    #[arg(long, value_name = "NAME", conflicts_with_all = ["nodes", "services", "chaos"])]
    pub scenario: Option<String>,
    /// The address to listen on; its port and those after it are taken, or free ones if it is 0. There is no TLS: keep it on
    /// loopback [default: 127.0.0.1:7440, or free ports]
    #[arg(long, value_name = "IP:PORT")]
    pub listen: Option<SocketAddr>,
    /// Where kubeconfig, clouds.yaml, cloud.conf and the manager's log are written; kept at the end [default: a temporary folder]
    #[arg(long, value_name = "FOLDER")]
    pub dir: Option<PathBuf>,
    /// Ends by itself when everything was seen
    #[arg(long)]
    pub once: bool,
}

/// Plays until Ctrl-C, or until everything was seen. `make` makes the manager.
pub async fn run(arguments: Arguments, make: fn() -> CloudControllerManager) -> ExitCode {
    let terminal = Terminal::of_process();
    if arguments.scenario.as_deref() == Some("list") {
        terminal.write(&scenario::list());
        return ExitCode::SUCCESS;
    }
    let played = play(&arguments, make, &terminal).await;
    match played {
        Ok(last_words) => {
            terminal.end(Some(&last_words));
            ExitCode::SUCCESS
        }
        Err(error) => {
            terminal.end(None);
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn play(
    arguments: &Arguments,
    make: fn() -> CloudControllerManager,
    terminal: &Terminal,
) -> anyhow::Result<String> {
    let scenarios = match &arguments.scenario {
        Some(name) => scenario::named(name)?,
        None => Vec::new(),
    };
    let signals = Signals::listen().context("listen for Ctrl-C")?;
    let folder = Folder::open(arguments.dir.as_deref())?;
    let log = std::sync::Mutex::new(folder.create(LOG)?);
    let options = LoggingOptions { verbosity: VERBOSITY, ..LoggingOptions::default() };
    let log_level = logging::init_with(&options, log).context("set up the log")?;
    let listen = Listen::of(arguments.listen);
    let house = House { terminal: terminal.clone(), make, log_level, listen };
    let played = match scenarios.is_empty() {
        true => show::play(arguments, &house, &folder, &signals).await,
        false => scenario::play(&scenarios, &house, &folder, &signals).await,
    };
    match played {
        Ok(()) => Ok(format!("Ended. {}", folder.end())),
        // Who looks for the reason needs the log.
        Err(error) => {
            let log = keep(folder);
            bail!("{error:#}\nThe manager's log: {}", log.display());
        }
    }
}

/// Keeps the folder although nobody named it.
fn keep(folder: Folder) -> PathBuf {
    match folder {
        Folder::Given(path) => path.join(LOG),
        Folder::Temporary(folder) => folder.keep().join(LOG),
    }
}
