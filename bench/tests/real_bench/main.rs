//! What our binary costs in each scenario of the benchmark, in requests: they are the same on every machine, so they are held to a budget.
//! Times are not. `cargo test -p bowline-bench --features real-apiserver --test real_bench -- --nocapture` prints the table.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use bowline_bench::ccm::cloud::Pace;
use bowline_bench::ccm::cluster::BenchCluster;
use bowline_bench::ccm::measurement::{Machine, Measurement, Report, SCHEMA, TARGETS};
use bowline_bench::ccm::run::run;
use bowline_bench::ccm::scenario::{Scenario, Size, Wish};
use bowline_bench::ccm::subject::Subject;
use bowline_bench::ccm::table;
use clap::ValueEnum;

/// What a scenario may cost with 20 nodes and 5 Services of one port.
struct Budget {
    scenario: Scenario,
    /// Changes of the cloud: exactly so many.
    mutating: u64,
    /// Reads of the cloud: at most so many. How often one looks at what takes time depends on how fast the machine is.
    reading_max: u64,
    /// Writes to Nodes and Services: exactly so many.
    api_writes: u64,
}

const fn budget(scenario: Scenario, mutating: u64, reading_max: u64, api_writes: u64) -> Budget {
    Budget { scenario, mutating, reading_max, api_writes }
}

/// The least that is possible is in [`bowline_bench::ccm::minimum`]; what is above it here is told in `docs/explanation/performance.md`.
const BUDGETS: [Budget; 10] = [
    budget(Scenario::Initialise, 0, 2, 20),
    budget(Scenario::Create, 10, 6, 10),
    budget(Scenario::Quiet, 0, 1, 0),
    budget(Scenario::Edit, 1, 3, 0),
    budget(Scenario::JoinOne, 5, 7, 1),
    budget(Scenario::Leave, 5, 8, 1),
    budget(Scenario::NotReady, 0, 2, 0),
    budget(Scenario::Restart, 0, 7, 0),
    budget(Scenario::FailOver, 0, 7, 0),
    budget(Scenario::Delete, 10, 6, 5),
];

/// A burst of five may be seen as two, if the machine is slow.
const BURST: u64 = 5;
const ROUNDS_MAX: u64 = 2;
const SERVICES: u64 = 5;
/// The first is looked up at once and the others together, or in two parts; a look-up is one of servers and one of ports.
const JOIN_READS_MAX: u64 = 3 * 2;

fn wish() -> anyhow::Result<Wish> {
    let seconds = Duration::from_secs;
    let mut subject: Subject = format!("bowline={}", beside_this_program()?.display()).parse()?;
    // Its Nodes are all new, and one of them is to go.
    subject.flags.push("--new-node-grace-period=1s".to_owned());
    Ok(Wish {
        subjects: vec![subject],
        sizes: vec![Size { nodes: 20, services: 5, ports: 1 }],
        scenarios: Scenario::value_variants()
            .iter()
            .copied()
            .filter(|one| *one < Scenario::BrownOut)
            .collect(),
        boots: vec![0.1],
        quiet: seconds(5),
        burst: (5, seconds(1)),
        not_ready: seconds(12),
        others: 20,
        pace: Pace {
            call: Duration::from_millis(20),
            boot: Duration::from_millis(100),
            change: Duration::from_millis(200),
            delete: Duration::from_millis(200),
        },
        flags: Vec::new(),
        patience: seconds(120),
    })
}

/// Cargo builds it with the tests of its own package, which are run together with these.
fn beside_this_program() -> anyhow::Result<PathBuf> {
    let this = std::env::current_exe()?;
    let folder = this.parent().and_then(|deps| deps.parent()).context("this program is in no folder")?;
    let bowline = folder.join("bowline");
    ensure!(bowline.is_file(), "no binary to measure at {}: `cargo build -p bowline`", bowline.display());
    Ok(bowline)
}

fn problems(measurements: &[Measurement]) -> Vec<String> {
    let mut problems = Vec::new();
    for Budget { scenario, mutating, reading_max, api_writes } in BUDGETS {
        let Some(one) = measurements.iter().find(|one| one.scenario == scenario.to_string()) else {
            problems.push(format!("{scenario} was not measured"));
            continue;
        };
        let found = (one.cloud.mutating, one.cloud.reading, one.api.writes);
        if one.cloud.mutating != mutating || one.cloud.reading > reading_max || one.api.writes != api_writes {
            problems.push(format!(
                "{scenario}: {found:?} in place of ({mutating}, at most {reading_max}, {api_writes}): {:#?} {:#?}",
                one.cloud.requests, one.api.requests
            ));
        }
    }
    problems
}

#[tokio::test(flavor = "multi_thread")]
async fn every_scenario_keeps_to_its_budget_of_requests() -> anyhow::Result<()> {
    let cluster = BenchCluster::start().await?;
    let mut measurements = Vec::new();
    let failures = run(&cluster, &wish()?, |one| {
        measurements.push(one.clone());
        Ok(())
    })
    .await?;
    let report = Report {
        schema: SCHEMA.to_owned(),
        machine: Machine::this(),
        command: "cargo test -p bowline-bench --test real_bench".to_owned(),
        targets: TARGETS,
        measurements,
        failures,
    };
    println!("{}", table::markdown(&report));
    ensure!(report.failures.is_empty(), "{}", report.failures.join("\n"));
    let problems = problems(&report.measurements);
    ensure!(problems.is_empty(), "{}", problems.join("\n"));
    let burst = report.measurements.iter().find(|one| one.scenario == Scenario::JoinMany.to_string());
    let burst = burst.context("join-many was not measured")?;
    ensure!(burst.cloud.mutating <= ROUNDS_MAX * SERVICES, "a burst of joins: {:#?}", burst.cloud.requests);
    let of_servers = ["compute GET /v2.1/servers/detail", "network GET /v2.0/ports"];
    let reads = of_servers.iter().filter_map(|name| burst.cloud.requests.get(*name)).sum::<u64>();
    ensure!(reads <= JOIN_READS_MAX, "a burst of joins: {:#?}", burst.cloud.requests);
    ensure!(burst.api.writes == BURST, "{:#?}", burst.api.requests);
    Ok(())
}
