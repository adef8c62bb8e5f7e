//! The benchmark of cloud-controller-managers: `cargo xtask bench` builds what is needed and calls this. What it does is in
//! [`bowline_bench::ccm`].
//!
//! Exit codes: 0 everything was measured, 1 a CCM could not be measured to the end, or it could not be run. What is above a target is told,
//! and is no failure.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use bowline_bench::ccm::cloud::Pace;
use bowline_bench::ccm::measurement::{Machine, Measurement, Report, SCHEMA, TARGETS};
use bowline_bench::ccm::run::run;
use bowline_bench::ccm::scenario::{Scenario, Wish, sizes};
use bowline_bench::ccm::stage::Stage;
use bowline_bench::ccm::subject::Subject;
use bowline_bench::ccm::{plot, table};
use clap::{Parser, ValueEnum};

/// Measures what cloud-controller-managers cost: requests, bytes, time, processor and memory, beside the least that is possible
#[derive(Parser)]
#[command(name = "cargo xtask bench", bin_name = "cargo xtask bench")]
struct Arguments {
    /// A program with OCCM's command line, as [NAME=]PATH[ FLAG…]; may be given several times
    #[arg(long = "ccm", required = true)]
    ccms: Vec<Subject>,
    /// Nodes at the beginning; more than one for the plot, each with the first of --services and --ports
    #[arg(long, value_delimiter = ',', default_value = "100")]
    nodes: Vec<usize>,
    /// Services with a load balancer
    #[arg(long, value_delimiter = ',', default_value = "10")]
    services: Vec<usize>,
    /// Ports of each Service
    #[arg(long, value_delimiter = ',', default_value = "1")]
    ports: Vec<usize>,
    /// Services that are no CCM's business
    #[arg(long, default_value_t = 0)]
    others: usize,
    /// What to tell of; without it everything. What comes before it happens in any case
    #[arg(long = "scenario")]
    scenarios: Vec<Scenario>,
    /// How long a load balancer boots, in seconds; with several, Services are made and deleted once for each
    #[arg(long, value_delimiter = ',', default_value = "5")]
    boot: Vec<f64>,
    /// How long nothing happens in `quiet`, in seconds
    #[arg(long, default_value_t = 300)]
    quiet: u64,
    /// How many Nodes join in `join-many`
    #[arg(long, default_value_t = 50)]
    burst: usize,
    /// Within how many seconds they join
    #[arg(long, default_value_t = 10)]
    burst_span: u64,
    /// How long Nodes are not ready in `not-ready`, in seconds
    #[arg(long, default_value_t = 60)]
    not_ready: u64,
    /// How long the cloud takes to answer a request, in milliseconds
    #[arg(long, default_value_t = 50)]
    call: u64,
    /// A flag that every program gets besides, such as --flag=--kube-api-qps=200
    #[arg(long = "flag", allow_hyphen_values = true)]
    flags: Vec<String>,
    /// How long anything may take, in seconds
    #[arg(long, default_value_t = 900)]
    patience: u64,
    /// Where ccm-bench.json, ccm-bench.md and ccm-bench.svg are written
    #[arg(long, default_value = "target/bench")]
    out: PathBuf,
}

fn wish(arguments: &Arguments) -> Wish {
    let every = Scenario::value_variants().to_vec();
    let seconds = Duration::from_secs;
    Wish {
        subjects: arguments.ccms.clone(),
        sizes: sizes(&arguments.nodes, &arguments.services, &arguments.ports),
        scenarios: if arguments.scenarios.is_empty() { every } else { arguments.scenarios.clone() },
        boots: arguments.boot.clone(),
        quiet: seconds(arguments.quiet),
        burst: (arguments.burst, seconds(arguments.burst_span)),
        not_ready: seconds(arguments.not_ready),
        others: arguments.others,
        pace: Pace {
            call: Duration::from_millis(arguments.call),
            boot: Duration::from_secs_f64(arguments.boot.first().copied().unwrap_or_default()),
            change: seconds(2),
            delete: seconds(4),
        },
        flags: arguments.flags.clone(),
        patience: seconds(arguments.patience),
    }
}

fn tell(one: &Measurement) {
    println!(
        "{} {} ({} nodes, {} Services): {} changes and {} reads of the cloud, {} API writes, {:.1} s, {:.2} s CPU, {:.1} MB{}",
        one.ccm,
        one.scenario,
        one.nodes,
        one.services,
        one.cloud.mutating,
        one.cloud.reading,
        one.api.writes,
        one.seconds.converged,
        one.cpu_seconds,
        one.rss_peak_bytes as f64 / 1e6,
        if one.missing.is_empty() { "" } else { " NOT DONE" },
    );
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let wish = wish(&arguments);
    let stage = Stage::start().await?;
    let (measurements, failures) = run(&stage, &wish, tell).await?;
    let command: Vec<String> = std::env::args().skip(1).collect();
    let command = format!("cargo xtask bench {}", command.join(" "));
    let is_good = failures.is_empty();
    let report = Report {
        schema: SCHEMA,
        machine: Machine::this(),
        command,
        targets: TARGETS,
        measurements,
        failures,
    };
    let folder = &arguments.out;
    std::fs::create_dir_all(folder).with_context(|| format!("make the folder {}", folder.display()))?;
    let text = table::markdown(&report);
    std::fs::write(folder.join("ccm-bench.json"), serde_json::to_string_pretty(&report)?)?;
    std::fs::write(folder.join("ccm-bench.md"), &text)?;
    std::fs::write(folder.join("ccm-bench.svg"), plot::svg(&report.measurements))?;
    println!("\n{text}\nWritten to {}", folder.display());
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
