//! End-to-end scenarios: the shipped binary between a real API server and a real OpenStack.
//!
//! What it asserts, it asserts through the APIs of both; it knows nothing of how Bowline works inside. The cloud is started if it does
//! not run, and ended with this program if it was started by it. `cargo xtask e2e` builds what is needed and calls this.
//!
//! Exit codes: 0 all scenarios held, 1 one did not, 3 this machine cannot run the cloud, 4 the cloud did not start, 130 interrupted.

#![expect(
    clippy::indexing_slicing,
    reason = "an answer without what is looked for fails the scenario, as it should"
)]

mod conf;
mod evidence;
mod faults;
mod harness;
mod openstack;
mod report;
mod scenario;
mod scenarios;
mod sweep;
mod waiting;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::Parser;
use real_cloud::{Choices, Interrupt, Interrupted, Settings, Status, Unsupported, down, up};

use crate::report::Report;
use crate::scenario::{Choice, Trial};
use crate::world::World;

/// Runs end-to-end scenarios on a real OpenStack and a real API server.
#[derive(Parser)]
#[command(name = "cargo xtask e2e", bin_name = "cargo xtask e2e")]
struct Arguments {
    /// Only scenarios whose names contain one of these
    names: Vec<String>,
    /// Also those that take too long for CI
    #[arg(long)]
    all: bool,
    /// Show the scenarios that would run, and run none
    #[arg(long)]
    list: bool,
    /// Begin no scenario when so many minutes have passed; those that are left out are named
    #[arg(long)]
    minutes: Option<u64>,
    /// Leave the cloud running
    #[arg(long)]
    leave_cloud: bool,
    /// The binary under test; by default the one beside this program
    #[arg(long)]
    bowline: Option<PathBuf>,
    /// Where logs are kept
    #[arg(long, default_value = "target/e2e")]
    keep: PathBuf,
    #[command(flatten)]
    choices: Choices,
}

fn main() -> ExitCode {
    match perform(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            exit_code(&error)
        }
    }
}

fn exit_code(error: &anyhow::Error) -> ExitCode {
    if error.is::<Unsupported>() {
        ExitCode::from(3)
    } else if error.is::<Interrupted>() {
        ExitCode::from(130)
    } else if error.is::<NotStarted>() {
        ExitCode::from(4)
    } else {
        ExitCode::FAILURE
    }
}

/// The cloud did not come up, and no scenario has begun.
#[derive(Debug)]
struct NotStarted;

impl std::fmt::Display for NotStarted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the cloud did not start")
    }
}

/// Runs what was chosen; whether all of it held.
fn perform(arguments: &Arguments) -> anyhow::Result<bool> {
    let choice = Choice { names: arguments.names.clone(), all: arguments.all };
    let trials = choice.of(scenarios::all());
    ensure!(!trials.is_empty(), "no scenario is named like {:?}; --list --all shows them", arguments.names);
    if arguments.list {
        trials.iter().for_each(|trial| println!("{:<44} {}", trial.name(), trial.scenario.story));
        return Ok(true);
    }
    let (settings, interrupt) = (Settings::locate(), Interrupt::watch()?);
    let leave = arguments.leave_cloud || Status::of(&settings).is_up();
    let outcome = up(&settings, &arguments.choices, false, &interrupt)
        .context(NotStarted)
        .and_then(|_| tokio::runtime::Runtime::new()?.block_on(run_all(arguments, &trials, &interrupt)));
    if !leave {
        down(&settings)?;
    }
    outcome
}

async fn run_all(arguments: &Arguments, trials: &[Trial], interrupt: &Interrupt) -> anyhow::Result<bool> {
    let world = World::open(arguments.bowline.clone(), arguments.keep.clone()).await?;
    let mut report = Report::new(trials.len());
    let end = arguments.minutes.map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
    for trial in trials {
        if end.is_some_and(|end| Instant::now() > end) {
            report.leave_out(&trial.name());
            continue;
        }
        report.begin(&trial.name());
        let outcome = run(trial, &world, interrupt).await;
        report.end(outcome);
        ensure!(!interrupt.is_requested(), Interrupted);
    }
    Ok(report.conclude())
}

async fn run(trial: &Trial, world: &World, interrupt: &Interrupt) -> anyhow::Result<Vec<String>> {
    let stage = trial.stage(world);
    let outcome = tokio::select! {
        outcome = (trial.scenario.run)(&stage) => outcome,
        () = requested(interrupt) => Err(Interrupted.into()),
    };
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

async fn requested(interrupt: &Interrupt) {
    while !interrupt.is_requested() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
