//! `bowline migrate status`: where migrations are, what they wait for, and what is to be done by hand. It reads, and changes
//! nothing.

mod text;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::process::ExitCode;

use bowline_kube::client::{ClientFactory, describe, load_as_kubectl};
use bowline_kube::terminal::one_line;
use clap::{Args, Subcommand, ValueEnum};
use jiff::Timestamp;
use kube::Api;
use kube::api::ListParams;

use crate::api::CloudControllerManager;

pub use self::text::{Report, report, to_text};

/// What `bowline migrate` can be told to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Tells where migrations are, what they wait for, and what is to be done by hand.
    Status(Arguments),
}

/// Nothing waits for a person.
const FINE: u8 = 0;
/// Something does.
const FOUND: u8 = 1;
/// It could not be looked at. Nothing follows from it.
const NOT_LOOKED: u8 = 2;

/// What it says of its exit codes.
const CODES: &str = "Exit codes:\n  0  nothing waits for a person\n  1  a migration is blocked, or waits for what a person has to do\n  2  it could not be looked at, or the command line is wrong";

/// How it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people.
    #[value(alias = "text")]
    Table,
    /// One JSON list.
    Json,
    /// One YAML document.
    Yaml,
}

/// The flags of `bowline migrate status`.
#[derive(Debug, Args)]
#[command(after_help = CODES)]
pub struct Arguments {
    /// The kubeconfig; without it KUBECONFIG, or the one at home, or what a pod has
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Another context of it than the current one
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// The form of the answer; the names in json and yaml stay the same from version to version
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    pub output: Output,
    /// Only this CloudControllerManager
    pub name: Option<String>,
}

/// Does it.
#[must_use]
pub fn execute(command: Command) -> ExitCode {
    let Command::Status(arguments) = command;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ended = match runtime {
        Ok(runtime) => runtime.block_on(status(&arguments)),
        Err(error) => Err(error.to_string()),
    };
    match ended {
        Ok((text, code)) => {
            print!("{text}");
            ExitCode::from(code)
        }
        Err(why) => {
            eprintln!("error: {}", one_line(&why));
            ExitCode::from(NOT_LOOKED)
        }
    }
}

/// What is printed, and the exit code.
///
/// # Errors
///
/// If the cluster cannot be asked, or there is no such object.
pub async fn status(arguments: &Arguments) -> Result<(String, u8), String> {
    let config = load_as_kubectl(arguments.kubeconfig.as_deref(), arguments.context.as_deref());
    let config = config.map_err(|error| error.to_string())?;
    let factory = ClientFactory::new(config, "bowline", env!("CARGO_PKG_VERSION"), 20.0, 20);
    let client = factory.client("migrate").map_err(|error| error.to_string())?;
    let found = Api::<CloudControllerManager>::all(client).list(&ListParams::default()).await;
    let found = found.map_err(|error| {
        format!(
            "cannot list CloudControllerManagers: {}; is the definition installed (deploy/crd.yaml)?",
            describe(&error)
        )
    })?;
    let mut reports: Vec<Report> = found.items.iter().map(report).collect();
    if let Some(name) = &arguments.name {
        reports.retain(|report| report.name == *name);
        if reports.is_empty() {
            return Err(format!("there is no CloudControllerManager {name}"));
        }
    }
    let waits = reports.iter().any(Report::waits_for_a_person);
    Ok((printed(&reports, arguments.output)?, if waits { FOUND } else { FINE }))
}

fn printed(reports: &[Report], output: Output) -> Result<String, String> {
    let text = match output {
        Output::Table => return Ok(to_text(reports, Timestamp::now())),
        Output::Json => serde_json::to_string_pretty(reports).map_err(|error| error.to_string())?,
        Output::Yaml => serde_saphyr::to_string(&reports).map_err(|error| error.to_string())?,
    };
    Ok(format!("{}\n", text.trim_end()))
}
