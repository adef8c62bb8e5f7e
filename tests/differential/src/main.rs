//! Compares the simulator with a running cloud, and says what differs.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use cloud_differential::RealCloud;

/// Compares sim-openstack with a real OpenStack that is running.
#[derive(Parser)]
struct Arguments {
    /// A JSON file with the fields of `RealCloud`: auth_url, admin_user, admin_password, admin_project and, where they are not the
    /// defaults, region, external_network, image, flavor.
    #[arg(long)]
    cloud_json: PathBuf,
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let file = Arguments::parse().cloud_json;
    let text = std::fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
    let real: RealCloud = serde_json::from_str(&text).with_context(|| format!("read {}", file.display()))?;
    let report = cloud_differential::run(&real).await?;
    println!("{report}");
    Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
