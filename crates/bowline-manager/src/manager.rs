//! The entry point: builds a cloud-controller-manager from one or more cloud providers and runs it.

use std::collections::BTreeMap;
use std::future::{Future, ready};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{Cloud, CloudConfig, CloudError, CloudFactory};
use futures::FutureExt;
use tracing::{debug, warn};

use crate::exit::Exit;
use crate::flags::{Flag, FlagTable, Parsed, help, parse};
use crate::logging::{self, LogLevel};
use crate::open_files;
use crate::options::Options;
use crate::process::{self, Setup};
use crate::signals::Signals;

/// How long threads that are still blocked may delay the exit, after everything else has ended.
const RUNTIME_END: Duration = Duration::from_millis(200);

/// The maximum number of tokio worker threads. The work is mostly waiting for I/O, and the allocator keeps one heap for each thread, so one
/// thread for each CPU of a large machine would only cost memory.
const THREADS_MAX: usize = 4;

/// A cloud-controller-manager with its cloud providers.
pub struct CloudControllerManager {
    name: String,
    command: String,
    version: String,
    clouds: BTreeMap<String, CloudFactory>,
    flags: Vec<Flag>,
    node_ipam: bool,
    open_status_page: Option<SocketAddr>,
}

impl CloudControllerManager {
    /// Creates a manager without cloud providers. `name` is the name of the binary.
    #[must_use]
    pub fn new(name: &str, version: &str) -> Self {
        Self {
            name: name.to_owned(),
            command: name.to_owned(),
            version: version.to_owned(),
            clouds: BTreeMap::new(),
            flags: Vec::new(),
            node_ipam: false,
            open_status_page: None,
        }
    }

    /// Sets the command that the usage line of `--help` shows, if it is not the name of the binary.
    #[must_use]
    pub fn command(mut self, words: &str) -> Self {
        words.clone_into(&mut self.command);
        self
    }

    /// Adds a cloud provider. `name` is the value of `--cloud-provider` that selects it.
    #[must_use]
    pub fn cloud<F>(mut self, name: &str, factory: F) -> Self
    where
        F: Fn(&CloudConfig) -> Result<Arc<dyn Cloud>, CloudError> + Send + Sync + 'static,
    {
        self.clouds.insert(name.to_owned(), Box::new(move |config| ready(factory(&config)).boxed()));
        self
    }

    /// Like [`cloud`](Self::cloud), for a provider whose creation awaits something, such as reading a Secret from the cluster.
    #[must_use]
    pub fn async_cloud<F, M>(mut self, name: &str, factory: F) -> Self
    where
        F: Fn(CloudConfig) -> M + Send + Sync + 'static,
        M: Future<Output = Result<Arc<dyn Cloud>, CloudError>> + Send + 'static,
    {
        self.clouds.insert(name.to_owned(), Box::new(move |config| factory(config).boxed()));
        self
    }

    /// Adds provider-specific flags.
    #[must_use]
    pub fn flags(mut self, flags: impl IntoIterator<Item = Flag>) -> Self {
        self.flags.extend(flags);
        self
    }

    /// Enables node IPAM with `--allocate-node-cidrs`. This is opt-in because many managers accept that flag and ignore it: a binary that
    /// replaces one of them must not start to obey the flag unexpectedly.
    #[must_use]
    pub fn node_ipam(mut self) -> Self {
        self.node_ipam = true;
        self
    }

    /// Serves only the status page at `http://ADDRESS/bowline`, over plain HTTP and without authentication or authorization. The address
    /// must be a loopback address; with any other, [`run`](Self::run) refuses to start. Port 0 selects a free port; the log shows which.
    #[must_use]
    pub fn open_status_page(mut self, address: SocketAddr) -> Self {
        self.open_status_page = Some(address);
        self
    }

    /// Runs with the command line of this process until the process should exit.
    #[must_use]
    pub fn run(self) -> ExitCode {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        self.run_with(&arguments).into()
    }

    /// Like [`run`](Self::run), with the given command line, without the name of the program.
    #[must_use]
    pub fn run_with(self, arguments: &[String]) -> Exit {
        let ready = match self.read(arguments) {
            Ok(ready) => ready,
            Err(exit) => return exit,
        };
        let log_level = match logging::init(&ready.options.logging) {
            Ok(log_level) => log_level,
            Err(error) => return complain(&error),
        };
        match open_files::raise_limit() {
            Ok(limit) => debug!(limit, "the limit of open files is as high as the system permits"),
            Err(error) => warn!(%error, "cannot raise the limit of open files"),
        }
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(threads()).enable_all().build();
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(error) => return complain(&error),
        };
        let exit = runtime.block_on(async {
            match Signals::listen() {
                Ok(signals) => ready.run(Surroundings { signals, log_level }).await,
                Err(error) => complain(&format!("cannot listen for signals: {error}")),
            }
        });
        runtime.shutdown_timeout(RUNTIME_END);
        exit
    }

    /// Runs inside another program, on that program's tokio runtime, signals and log. The logging flags of the command line have no effect.
    pub async fn run_inside(self, arguments: &[String], around: Surroundings) -> Exit {
        match self.read(arguments) {
            Ok(ready) => ready.run(around).await,
            Err(exit) => exit,
        }
    }

    /// Parses the command line. `Err` is the exit after `--help`, `--version` or an error, when there is nothing to run.
    fn read(mut self, arguments: &[String]) -> Result<Ready, Exit> {
        let table = FlagTable::common().with(&self.flags).map_err(|error| complain(&error))?;
        let parsed = parse(&table, arguments).map_err(|error| complain(&error))?;
        if parsed.bool("help") {
            print!("Usage: {} [flags]\n\n{}", self.command, help(&table));
            return Err(Exit::Success);
        }
        if let Some(answer) = parsed.version().answer(&self.name, &self.version) {
            println!("{answer}");
            return Err(Exit::Success);
        }
        self.version = parsed.version().reported(&self.version).to_owned();
        let options = Options::from_parsed(&parsed).map_err(|error| complain(&error))?;
        Ok(Ready { manager: self, flags: parsed, options })
    }
}

/// What the program that embeds a manager provides to it.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// Tells the manager when to shut down.
    pub signals: Signals,
    /// The log level of the program, which the debug endpoints change.
    pub log_level: LogLevel,
}

/// A manager with a valid command line, ready to run.
struct Ready {
    manager: CloudControllerManager,
    flags: Parsed,
    options: Options,
}

impl Ready {
    async fn run(self, around: Surroundings) -> Exit {
        let Self { manager, flags, options } = self;
        let CloudControllerManager {
            name,
            command: _,
            version,
            clouds,
            flags: own_flags,
            node_ipam,
            open_status_page,
        } = manager;
        let own_flags = own_flags.iter().map(|flag| flag.name).collect();
        let Surroundings { signals, log_level } = around;
        let setup = Setup {
            name,
            version,
            flags,
            own_flags,
            options,
            clouds,
            node_ipam,
            log_level,
            signals,
            open_status_page,
        };
        process::run(setup).await
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX)
}

/// Prints to stderr, because logging may not be set up yet.
fn complain(error: &dyn std::fmt::Display) -> Exit {
    eprintln!("error: {error}");
    Exit::Failed
}
