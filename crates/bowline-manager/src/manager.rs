//! The one call that makes a cloud a cloud-controller-manager.

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

/// How long threads that block may take at the very end.
const RUNTIME_END: Duration = Duration::from_millis(200);

/// The most threads that work. Most of the work is waiting, and the allocator keeps a heap for each thread: as many as a large machine has
/// processors would cost memory.
const THREADS_MAX: usize = 4;

/// A cloud-controller-manager: the clouds it knows, and everything around them.
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
    /// A manager that knows no cloud yet. `name` is the name of the binary.
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

    /// The words that start it, for its help, where they are not the name of the binary.
    #[must_use]
    pub fn command(mut self, words: &str) -> Self {
        words.clone_into(&mut self.command);
        self
    }

    /// Adds a cloud under the name that `--cloud-provider` gives it.
    #[must_use]
    pub fn cloud<F>(mut self, name: &str, factory: F) -> Self
    where
        F: Fn(&CloudConfig) -> Result<Arc<dyn Cloud>, CloudError> + Send + Sync + 'static,
    {
        self.clouds.insert(name.to_owned(), Box::new(move |config| ready(factory(&config)).boxed()));
        self
    }

    /// The same for a cloud whose configuration takes time to read, such as a Secret of the cluster.
    #[must_use]
    pub fn async_cloud<F, M>(mut self, name: &str, factory: F) -> Self
    where
        F: Fn(CloudConfig) -> M + Send + Sync + 'static,
        M: Future<Output = Result<Arc<dyn Cloud>, CloudError>> + Send + 'static,
    {
        self.clouds.insert(name.to_owned(), Box::new(move |config| factory(config).boxed()));
        self
    }

    /// Adds flags of the binary's own.
    #[must_use]
    pub fn flags(mut self, flags: impl IntoIterator<Item = Flag>) -> Self {
        self.flags.extend(flags);
        self
    }

    /// Hands out pod ranges too, with `--allocate-node-cidrs`. Opt-in, because that flag is accepted and inert in many
    /// managers: a binary that takes the place of one must not suddenly begin to obey it.
    #[must_use]
    pub fn node_ipam(mut self) -> Self {
        self.node_ipam = true;
        self
    }

    /// Serves the status page, and nothing else, at `http://ADDRESS/bowline` to whoever looks: over plain HTTP and without
    /// authorization. Only for loopback; with another address, [`run`](Self::run) refuses to start. Port 0 is any that is free; the
    /// log tells which.
    #[must_use]
    pub fn open_status_page(mut self, address: SocketAddr) -> Self {
        self.open_status_page = Some(address);
        self
    }

    /// Runs with the command line of this process, until its end.
    #[must_use]
    pub fn run(self) -> ExitCode {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        self.run_with(&arguments).into()
    }

    /// Runs with this command line.
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

    /// The same inside of another program, on its runtime: ends when the program's signals say so, and logs where it logs. The
    /// logging flags of the command line have no effect.
    pub async fn run_inside(self, arguments: &[String], around: Surroundings) -> Exit {
        match self.read(arguments) {
            Ok(ready) => ready.run(around).await,
            Err(exit) => exit,
        }
    }

    /// Reads the command line; an exit if there is nothing to run.
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

/// What a manager takes from the program that it runs in.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// When to end.
    pub signals: Signals,
    /// The log of the process, whose verbosity the debugging paths change.
    pub log_level: LogLevel,
}

/// A manager with a command line that can be run.
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

/// Nothing is set up yet that could log, so the person at the terminal is told directly.
fn complain(error: &dyn std::fmt::Display) -> Exit {
    eprintln!("error: {error}");
    Exit::Failed
}
