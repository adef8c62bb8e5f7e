//! The commands of the operator. Each file is one command; none of them decides anything.

pub mod run;

use std::process::ExitCode;

use clap::Subcommand;

/// What `bowline operator` can be told to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Runs the operator.
    Run(Box<run::Arguments>),
}

/// Does it; `version` is that of the binary.
#[must_use]
pub fn execute(command: Command, version: &str) -> ExitCode {
    match command {
        Command::Run(arguments) => run::run(*arguments, version),
    }
}
