//! End-to-end scenarios: the shipped binary between a real API server and a real OpenStack.
//!
//! What it asserts, it asserts through the APIs of both; it knows nothing of how Bowline works inside. The cloud has to run:
//! `cargo xtask e2e` starts it, builds the binary, and calls this.

#![expect(
    clippy::indexing_slicing,
    reason = "an answer without what is looked for fails the scenario, as it should"
)]

mod conf;
mod evidence;
mod faults;
mod openstack;
mod patience;
mod report;
mod scenario;
mod scenarios;
mod site;
mod sweep;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::ensure;
use clap::Parser;

use crate::report::Report;
use crate::scenario::{Choice, Trial};
use crate::world::World;

/// Runs end-to-end scenarios on the cloud that `cargo xtask cloud up` has started.
#[derive(Parser)]
struct Arguments {
    /// Only scenarios whose names contain one of these
    names: Vec<String>,
    /// Also those that take too long for CI
    #[arg(long)]
    all: bool,
    /// Show the scenarios that would run, and run none
    #[arg(long)]
    list: bool,
    /// The binary under test; by default the one beside this program
    #[arg(long)]
    bowline: Option<PathBuf>,
    /// Where logs of failed scenarios are kept
    #[arg(long, default_value = "target/e2e")]
    keep: PathBuf,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = tokio::select! {
        outcome = perform(&arguments) => outcome,
        _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("interrupted")),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs what was chosen; whether all of it held.
async fn perform(arguments: &Arguments) -> anyhow::Result<bool> {
    let choice = Choice { names: arguments.names.clone(), all: arguments.all };
    let trials = choice.of(scenarios::all());
    ensure!(!trials.is_empty(), "no scenario is named like {:?}; --list --all shows them", arguments.names);
    if arguments.list {
        trials.iter().for_each(|trial| println!("{:<44} {}", trial.name(), trial.scenario.story));
        return Ok(true);
    }
    let world = World::open(arguments.bowline.clone(), arguments.keep.clone()).await?;
    let mut report = Report::new(trials.len());
    for trial in &trials {
        report.begin(&trial.name());
        let outcome = run(trial, &world).await;
        report.end(outcome);
    }
    Ok(report.conclude())
}

async fn run(trial: &Trial, world: &World) -> anyhow::Result<Vec<String>> {
    let stage = trial.stage(world);
    let outcome = (trial.scenario.run)(&stage).await;
    if outcome.is_err() {
        let folder = world.keep.join(trial.scenario.name.replace('/', "-")).join("cloud");
        evidence::keep_logs(&world.about().logs, &folder)?;
        println!("      logs: {}", folder.display());
        // That it failed is what has to be told.
        if let Err(error) = sweep::sweep(&world.member).await {
            println!("      not all of it could be swept: {error:#}");
        }
    }
    outcome.map(|()| stage.notes())
}
