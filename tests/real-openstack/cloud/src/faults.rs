//! What a person can do to one service from the command line, also when the rest does not answer.

use std::time::Duration;

use clap::ValueEnum;

use crate::cloud::{find_service, freeze, start, stop, thaw};
use crate::settings::Settings;
use crate::units::Operator;

const STOP_GRACE: Duration = Duration::from_secs(10);

/// What is done to a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Fault {
    /// End it: calls are refused, or answered with 502 by nginx
    Stop,
    /// Start it, and wait until it is ready
    Start,
    /// Freeze all its processes: calls are accepted and never answered
    Freeze,
    /// Let it go on
    Thaw,
}

/// Does it.
///
/// # Errors
/// When there is no such service, it does not run, or does not become ready.
pub fn inflict(settings: &Settings, fault: Fault, name: &str) -> anyhow::Result<()> {
    let unit = find_service(settings, &Operator::of(settings)?, name)?;
    match fault {
        Fault::Stop => stop(settings, &unit, STOP_GRACE),
        Fault::Start => start(settings, &unit),
        Fault::Freeze => freeze(settings, name),
        Fault::Thaw => thaw(settings, name),
    }
}
