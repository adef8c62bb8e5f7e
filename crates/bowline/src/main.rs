//! The one binary. It knows which command belongs to which crate, and nothing else.
//!
//! Under the name of another program it is that program: `openstack-cloud-controller-manager` is `bowline ccm`, and as
//! `kubectl-bowline` it is the plugin that kubectl finds, whose commands are told as `kubectl bowline …`.

mod ccm;
mod cleanup;
#[cfg(feature = "playground")]
mod playing;

use std::ffi::{OsStr, OsString};
use std::io::{stderr, stdout};
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

/// Ties a Kubernetes cluster to its cloud.
#[derive(Debug, Parser)]
#[command(name = "bowline", version)]
struct Bowline {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the cloud-controller-manager. Its flags are told by `bowline ccm --help`.
    #[command(disable_help_flag = true)]
    Ccm {
        /// The flags of a cloud-controller-manager
        #[arg(value_name = "FLAGS", trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Installs, migrates and removes cloud-controller-managers, and prepares clusters for them.
    #[command(subcommand)]
    Operator(bowline_operator::command::Command),
    /// Tells how far a cluster is on its way to another cloud-controller-manager.
    #[command(subcommand)]
    Migrate(bowline_operator::command::migrate::Command),
    /// Removes what a cluster that is no more left in the cloud, by the tags on it.
    Cleanup(cleanup::Arguments),
    /// Shows a small cluster on a small cloud, both in memory, with the real manager between them.
    #[cfg(feature = "playground")]
    Playground(bowline_playground::Arguments),
    #[command(flatten)]
    People(bowline_cli::Command),
    /// Serves a Kubernetes API or an OpenStack that exists in memory only.
    #[cfg(feature = "playground")]
    #[command(subcommand)]
    Sim(playing::Sim),
}

/// The name under which kubectl looks for it.
const PLUGIN: &str = "kubectl-bowline";

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let called = arguments.next().unwrap_or_default();
    if Path::new(&called).file_stem().is_some_and(|name| name == ccm::OPENSTACK) {
        let arguments: Vec<String> = arguments.map(text).collect();
        return ccm::run(ccm::OPENSTACK, &arguments);
    }
    let root = root(&called);
    let parsed = root.clone().try_get_matches().and_then(|matches| Bowline::from_arg_matches(&matches));
    match parsed.unwrap_or_else(|error| error.exit()).command {
        Command::Ccm { arguments } => ccm::run("bowline ccm", &arguments),
        Command::Operator(command) => bowline_operator::command::execute(command),
        Command::Migrate(command) => bowline_operator::command::migrate::execute(command),
        Command::Cleanup(arguments) => clean_up(arguments),
        #[cfg(feature = "playground")]
        Command::Playground(arguments) => playing::play(arguments),
        Command::People(command) => tell(command, root),
        #[cfg(feature = "playground")]
        Command::Sim(sim) => playing::simulate(sim),
    }
}

/// The whole command line, under the name by which it was called.
fn root(called: &OsStr) -> clap::Command {
    let root = Bowline::command();
    match Path::new(called).file_stem() {
        Some(name) if name == PLUGIN => root.name(PLUGIN).bin_name("kubectl bowline"),
        _ => root,
    }
}

#[tokio::main]
async fn tell(command: bowline_cli::Command, root: clap::Command) -> ExitCode {
    ExitCode::from(bowline_cli::execute(command, root, &mut stdout(), &mut stderr()).await)
}

/// No flag has a value that is not text: what is none is shown as well as it can be, and refused.
fn text(argument: OsString) -> String {
    argument.into_string().unwrap_or_else(|other| other.to_string_lossy().into_owned())
}

#[tokio::main]
async fn clean_up(arguments: cleanup::Arguments) -> ExitCode {
    cleanup::run(arguments).await
}
