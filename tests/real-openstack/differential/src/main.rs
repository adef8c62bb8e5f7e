//! Compares the simulator with a running cloud, and says what differs.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use cloud_differential::{Choice, RealCloud, Recording};
use serde::de::DeserializeOwned;

/// Compares sim-openstack with a real OpenStack that is running.
#[derive(Parser)]
struct Arguments {
    /// A JSON file with the fields of `RealCloud`: auth_url, admin_user, admin_password, admin_project and, where they are not
    /// the defaults, region, external_network, image, flavor.
    #[arg(long, required_unless_present = "again")]
    cloud_json: Option<PathBuf>,
    /// Only these sessions.
    #[arg(long = "session", value_parser = clap::builder::PossibleValuesParser::new(cloud_differential::sessions()))]
    sessions: Vec<String>,
    /// How many minutes a session may take before it is broken off.
    #[arg(long)]
    minutes: Option<u64>,
    /// Writes the answers of the real cloud to a file, with tokens and passwords.
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Compares with the answers in such a file; asks no cloud.
    #[arg(long, conflicts_with_all = ["cloud_json", "sessions", "keep"])]
    again: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let report = match (&arguments.again, &arguments.cloud_json) {
        (Some(file), _) => cloud_differential::rerun(&read::<Recording>(file)?).await?,
        (None, Some(file)) => {
            let real = read::<RealCloud>(file)?;
            let within = arguments.minutes.map(|minutes| Duration::from_secs(60 * minutes));
            let choice = Choice { sessions: arguments.sessions.clone(), within };
            let (report, recording) = cloud_differential::run_sessions(&real, &choice).await?;
            if let Some(file) = &arguments.keep {
                let text = serde_json::to_string(&recording)?;
                std::fs::write(file, text).with_context(|| format!("write {}", file.display()))?;
            }
            report
        }
        (None, None) => anyhow::bail!("neither a cloud nor an earlier run was named"),
    };
    println!("{report}");
    Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn read<T: DeserializeOwned>(file: &Path) -> anyhow::Result<T> {
    let text = std::fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("read {}", file.display()))
}
