//! The soak: `cargo xtask soak --minutes N` builds what is needed and calls this. What it does is in [`chaos_tests::soak`].
//!
//! Exit codes: 0 nothing leaked and nothing was wrong, 1 something was, or it could not be run.

use std::process::ExitCode;
use std::time::Duration;

use chaos_tests::cluster::ChaosCluster;
use chaos_tests::soak::{Wish, soak};
use clap::Parser;

/// Runs two managers for minutes with kills, changes of the leader and brown-outs, and says what leaked.
#[derive(Parser)]
#[command(name = "cargo xtask soak", bin_name = "cargo xtask soak")]
struct Arguments {
    /// For how many minutes
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    /// What decides by chance; another one without it
    #[arg(long)]
    seed: Option<u64>,
    /// Kill nobody: for the slope of memory of one process that leads all the time
    #[arg(long)]
    calm: bool,
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let Arguments { minutes, seed, calm } = Arguments::parse();
    let seed = seed.unwrap_or_else(|| rand::random_range(0..1_000_000));
    println!("{minutes} minutes, --seed {seed}");
    let cluster = ChaosCluster::start().await?;
    let wish = Wish { duration: Duration::from_secs(60 * minutes), seed, is_calm: calm };
    let report = soak(&cluster, wish).await?;
    println!("{report}");
    Ok(if report.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
