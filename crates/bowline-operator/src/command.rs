//! The commands of the operator. Each file is one command; none of them decides anything. Here is the only input and output.

pub mod flags;
pub mod manifests;
pub mod migrate;
pub mod render;
pub mod run;

use std::fmt::Display;
use std::process::ExitCode;

use bowline_kube::terminal::escaped;
use clap::Subcommand;

/// What `bowline operator` can be told to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Runs the operator.
    Run(Box<run::Arguments>),
    /// Writes the manifests of a cloud-controller-manager, for a cluster that has no operator.
    Render(Box<render::Arguments>),
    /// Prints what a component of Kubernetes must be started with.
    Flags(flags::Arguments),
    /// Prints the manifests of the operator itself.
    Manifests(manifests::Arguments),
}

/// Does it. The exit code is 0 if it was done and 1 if not; what cannot be asked for ends with 2, which clap says.
#[must_use]
pub fn execute(command: Command) -> ExitCode {
    match command {
        Command::Run(arguments) => run::run(*arguments, env!("CARGO_PKG_VERSION")),
        Command::Render(arguments) => finish(render::run(&arguments)),
        Command::Flags(arguments) => finish(flags::run(&arguments)),
        Command::Manifests(arguments) => finish(manifests::run(&arguments)),
    }
}

/// Prints what is to be said, or what went wrong.
fn finish(ended: Result<String, impl Display>) -> ExitCode {
    match ended {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            // It may quote a file that was made by somebody else.
            eprintln!("Error: {}", escaped(&error.to_string()));
            ExitCode::FAILURE
        }
    }
}
