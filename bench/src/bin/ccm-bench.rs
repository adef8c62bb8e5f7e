//! The benchmark of cloud-controller-managers: `cargo xtask bench` builds what is needed and calls this. What it does is in
//! [`bowline_bench::ccm`].
//!
//! Exit codes: 0 everything was measured, 1 a CCM could not be measured to the end, or it could not be run. What is above a target is told,
//! and is no failure.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use bowline_bench::ccm::cloud::Pace;
use bowline_bench::ccm::cluster::BenchCluster;
use bowline_bench::ccm::measurement::{Machine, Measurement, Report, SCHEMA, TARGETS};
use bowline_bench::ccm::run::run;
use bowline_bench::ccm::scenario::{Scenario, Wish, sizes};
use bowline_bench::ccm::subject::Subject;
use bowline_bench::ccm::{plot, table};
use clap::{Parser, ValueEnum};

/// Measures what cloud-controller-managers cost: requests, bytes, time, processor and memory, beside the least that is possible
#[derive(Parser)]
#[command(name = "cargo xtask bench", bin_name = "cargo xtask bench")]
struct Arguments {
    /// A program with OCCM's command line, as [NAME=]PATH[ FLAG…]; may be given several times
    #[arg(long = "ccm", required_unless_present = "with")]
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
    /// What to tell of; without it everything. Nodes are initialised and Services made in any case
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
    /// A ccm-bench.json of an earlier run, to be shown beside this one
    #[arg(long)]
    with: Vec<PathBuf>,
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

/// What earlier runs measured.
fn earlier(files: &[PathBuf]) -> anyhow::Result<Vec<Measurement>> {
    let mut measurements = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
        let report: Report =
            serde_json::from_str(&text).with_context(|| format!("understand {}", file.display()))?;
        ensure!(
            report.schema == SCHEMA,
            "{} has the schema {:?}, wanted {SCHEMA:?}",
            file.display(),
            report.schema
        );
        measurements.extend(report.measurements);
    }
    Ok(measurements)
}

/// Writes all that there is so far, so that a long run that is interrupted is not lost.
fn write(folder: &Path, report: &Report) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("make the folder {}", folder.display()))?;
    std::fs::write(folder.join("ccm-bench.json"), serde_json::to_string_pretty(report)?)?;
    std::fs::write(folder.join("ccm-bench.md"), table::markdown(report))?;
    std::fs::write(folder.join("ccm-bench.svg"), plot::svg(&report.measurements))?;
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let wish = wish(&arguments);
    let command: Vec<String> = std::env::args().skip(1).collect();
    let mut report = Report {
        schema: SCHEMA.to_owned(),
        machine: Machine::this(),
        command: format!("cargo xtask bench {}", command.join(" ")),
        targets: TARGETS,
        measurements: earlier(&arguments.with)?,
        failures: Vec::new(),
    };
    if !wish.subjects.is_empty() {
        let cluster = BenchCluster::start().await?;
        let failures = run(&cluster, &wish, |one| {
            tell(one);
            report.measurements.push(one.clone());
            write(&arguments.out, &report)
        })
        .await?;
        report.failures = failures;
    }
    write(&arguments.out, &report)?;
    println!("\n{}\nWritten to {}", table::markdown(&report), arguments.out.display());
    Ok(if report.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
