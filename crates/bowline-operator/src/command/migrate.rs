//! `bowline migrate status`: where migrations are, what they wait for, and what is to be done by hand. It reads, and changes
//! nothing.

mod text;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::process::ExitCode;

use bowline_kube::client::{ClientFactory, load_config};
use clap::{Args, Subcommand, ValueEnum};
use jiff::Timestamp;
use kube::Api;
use kube::api::ListParams;

use super::finish;
use crate::api::CloudControllerManager;

pub use self::text::{Report, report, to_text};

/// What `bowline migrate` can be told to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Tells where migrations are, what they wait for, and what is to be done by hand.
    Status(Arguments),
}

/// How it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// The flags of `bowline migrate status`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// How to reach the API server; without it, $KUBECONFIG, ~/.kube/config, or as the pod that this is
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// How it is printed
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
    /// Only this CloudControllerManager
    pub name: Option<String>,
}

/// Does it. The exit code is 0 if it could be told, and 1 if not.
#[must_use]
pub fn execute(command: Command) -> ExitCode {
    let Command::Status(arguments) = command;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    finish(match runtime {
        Ok(runtime) => runtime.block_on(status(&arguments)),
        Err(error) => Err(error.to_string()),
    })
}

/// What is printed.
///
/// # Errors
///
/// If the cluster cannot be asked, or there is no such object.
pub async fn status(arguments: &Arguments) -> Result<String, String> {
    let path = arguments.kubeconfig.clone().or_else(usual_kubeconfig);
    let config = load_config(path.as_deref(), None).await.map_err(|error| error.to_string())?;
    let factory = ClientFactory::new(config, "bowline", env!("CARGO_PKG_VERSION"), 20.0, 20);
    let client = factory.client("migrate").map_err(|error| error.to_string())?;
    let found = Api::<CloudControllerManager>::all(client).list(&ListParams::default()).await;
    let found = found.map_err(|error| {
        format!(
            "cannot list CloudControllerManagers: {error}; is the definition installed (deploy/crd.yaml)?"
        )
    })?;
    let mut reports: Vec<Report> = found.items.iter().map(report).collect();
    if let Some(name) = &arguments.name {
        reports.retain(|report| report.name == *name);
        if reports.is_empty() {
            return Err(format!("there is no CloudControllerManager {name}"));
        }
    }
    match arguments.output {
        Output::Text => Ok(to_text(&reports, Timestamp::now())),
        Output::Json => {
            let json = serde_json::to_string_pretty(&reports).map_err(|error| error.to_string())?;
            Ok(format!("{json}\n"))
        }
    }
}

/// Where people have theirs; none in a pod.
fn usual_kubeconfig() -> Option<PathBuf> {
    let named = std::env::var_os("KUBECONFIG").filter(|value| !value.is_empty());
    let first = named.and_then(|value| std::env::split_paths(&value).next());
    let home = || std::env::home_dir().map(|home| home.join(".kube/config")).filter(|path| path.exists());
    first.or_else(home)
}
