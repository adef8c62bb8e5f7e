//! `cargo xtask cloud`: the real OpenStack for a person at work.
//!
//! Exit codes: 0 done, 1 failed, 2 wrong arguments, 3 this machine cannot run the cloud, 130 interrupted.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use real_cloud::{
    Choices, ConfOptions, Description, Fault, Interrupt, Interrupted, Settings, Status, Unsupported, Who,
    cloud_conf, down, exports, inflict, prepare, up, wipe,
};

/// A real OpenStack on loopback to test against.
#[derive(Parser)]
#[command(name = "cargo xtask cloud", bin_name = "cargo xtask cloud")]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Install what is missing, and start nothing
    Install,
    /// Install what is missing, start what does not run, seed; safe to run again
    Up {
        /// Forget all data first
        #[arg(long)]
        fresh: bool,
        #[command(flatten)]
        choices: Choices,
    },
    /// End everything that was started; the data is kept
    Down,
    /// What runs, with its memory, and which APIs answer
    Status {
        /// For programs
        #[arg(long)]
        json: bool,
    },
    /// Variables for a shell: eval "$(cargo xtask cloud env)"
    Env {
        /// Who logs in
        #[arg(value_enum, default_value = "member")]
        who: Who,
        /// By https
        #[arg(long)]
        tls: bool,
    },
    /// A cloud.conf for a cloud-controller-manager
    Conf(ConfOptions),
    /// Break or mend one service, by its name in `status`
    Service {
        /// What to do
        #[arg(value_enum)]
        fault: Fault,
        /// Its name
        name: String,
    },
    /// End everything and forget all data
    Wipe {
        /// The installation, too
        #[arg(long)]
        all: bool,
    },
}

fn main() -> ExitCode {
    match perform(&Arguments::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            exit_code(&error)
        }
    }
}

fn exit_code(error: &anyhow::Error) -> ExitCode {
    if error.downcast_ref::<Unsupported>().is_some() {
        ExitCode::from(3)
    } else if error.downcast_ref::<Interrupted>().is_some() {
        ExitCode::from(130)
    } else {
        ExitCode::FAILURE
    }
}

fn perform(task: &Task) -> anyhow::Result<ExitCode> {
    let settings = Settings::locate();
    match task {
        Task::Install => prepare(&settings, &Interrupt::watch()?)?,
        Task::Up { fresh, choices } => drop(up(&settings, choices, *fresh, &Interrupt::watch()?)?),
        Task::Down => down(&settings)?,
        Task::Status { json } => return status(&settings, *json),
        Task::Env { who, tls } => print!("{}", exports(&Description::read(&settings)?, *who, *tls)),
        Task::Conf(options) => print!("{}", cloud_conf(&Description::read(&settings)?, options)),
        Task::Service { fault, name } => inflict(&settings, *fault, name)?,
        Task::Wipe { all } => wipe(&settings, *all)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Fails when not everything is up, so that a script can ask.
fn status(settings: &Settings, json: bool) -> anyhow::Result<ExitCode> {
    let status = Status::of(settings);
    if json {
        println!("{}", serde_json::to_string_pretty(&status)?);
    } else {
        print!("{status}");
    }
    Ok(if status.is_up() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
