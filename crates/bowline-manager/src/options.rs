//! What the manager was told, typed and checked: made once from the command line, then only read.
//!
//! Reads no files and asks nobody; a path here is only a path.

mod check;
mod configz;
mod controllers;
mod gates;
mod generic;
mod ipam;
mod logging;
mod problem;
mod serving;
mod shadow;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

pub use configz::{configz, flagz};
pub use controllers::ControllerSelection;
pub use gates::FeatureGates;
pub use generic::{
    ClientOptions, CloudOptions, LeaderElectionOptions, LeaderMigrationOptions, NodeOptions, RailOptions,
    ServiceOptions, UnusedOptions,
};
pub use ipam::{IpamOptions, MasksGiven};
pub use problem::{OptionErrors, OptionProblem};
pub use shadow::ShadowOptions;

use crate::flags::{FlagTable, Parsed, parse};
use crate::logging::LoggingOptions;
use crate::serving::{AuthenticationConfig, AuthorizationConfig, ServingConfig};
use check::Check;

/// Everything the manager was told.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Who leads.
    pub leader_election: LeaderElectionOptions,
    /// Moving controllers between managers.
    pub leader_migration: LeaderMigrationOptions,
    /// How the API server is reached.
    pub client: ClientOptions,
    /// `--controllers` as given; see [`ControllerSelection`].
    pub controllers: Vec<String>,
    /// Pause between the starts of two controllers, to be drawn between one and two times this.
    pub controller_start_interval: Duration,
    /// The provider and what it is told.
    pub cloud: CloudOptions,
    /// One ServiceAccount for each controller.
    pub use_service_account_credentials: bool,
    /// The HTTPS listener.
    pub serving: ServingConfig,
    /// Who a caller is.
    pub authentication: AuthenticationConfig,
    /// Credentials for finding that out; without it those of the pod, and outside a cluster nobody is asked: tokens are
    /// ignored.
    pub authentication_kubeconfig: Option<PathBuf>,
    /// What a caller may do.
    pub authorization: AuthorizationConfig,
    /// Credentials for finding that out; without it those of the pod, and outside a cluster nobody is asked: only
    /// `system:masters` and the paths that are always allowed pass.
    pub authorization_kubeconfig: Option<PathBuf>,
    /// Serve the debugging paths.
    pub profiling: bool,
    /// The two node controllers.
    pub node: NodeOptions,
    /// The service controller.
    pub service: ServiceOptions,
    /// The controller of pod ranges.
    pub ipam: IpamOptions,
    /// The limits of the safety rails.
    pub rails: RailOptions,
    /// Whether nothing may be changed.
    pub paused: bool,
    /// What may be done while a cluster is handed over, and where it is reported.
    pub shadow: ShadowOptions,
    /// Form and amount of logs.
    pub logging: LoggingOptions,
    /// How long work under way may go on after SIGTERM.
    pub shutdown_grace: Duration,
    /// Features switched on or off.
    pub feature_gates: FeatureGates,
    /// What is accepted for the sake of existing command lines, and only shown in `/configz`.
    pub unused: UnusedOptions,
    /// What the operator should know, to be logged at the start.
    pub warnings: Vec<String>,
}

impl Options {
    /// Gives the flags their meaning.
    ///
    /// # Errors
    ///
    /// Every value that cannot be used, not only the first.
    pub fn from_parsed(parsed: &Parsed) -> Result<Self, OptionErrors> {
        let (options, problems) = Self::read(parsed);
        if problems.is_empty() { Ok(options) } else { Err(OptionErrors(problems)) }
    }

    fn read(parsed: &Parsed) -> (Self, Vec<OptionProblem>) {
        let mut check = Check::new(parsed);
        warn_of_flags_without_effect(&mut check);
        let leader_election = generic::leader_election(&mut check);
        let cloud = generic::cloud(&mut check);
        let mut options = Self {
            leader_migration: generic::leader_migration(&mut check, leader_election.enabled),
            leader_election,
            client: generic::client(&mut check),
            controllers: parsed.list("controllers").to_vec(),
            controller_start_interval: check.duration("controller-start-interval"),
            use_service_account_credentials: parsed.bool("use-service-account-credentials"),
            serving: serving::serving(&mut check),
            authentication: serving::authentication(&mut check),
            authentication_kubeconfig: check.path("authentication-kubeconfig"),
            authorization: serving::authorization(&mut check),
            authorization_kubeconfig: check.path("authorization-kubeconfig"),
            profiling: parsed.bool("profiling"),
            node: generic::node(&mut check),
            service: generic::service(&mut check),
            ipam: ipam::ipam(&mut check, cloud.cluster_cidrs.clone()),
            cloud,
            rails: generic::rails(&mut check),
            paused: parsed.bool("paused"),
            shadow: shadow::shadow(&mut check),
            logging: logging::logging(&mut check),
            shutdown_grace: check.duration("shutdown-grace-period"),
            feature_gates: gates::feature_gates(&mut check),
            unused: generic::unused(&mut check),
            warnings: Vec::new(),
        };
        serving::webhooks(&mut check);
        options.warnings = check.warnings;
        (options, check.problems)
    }
}

impl Default for Options {
    /// What no flags at all mean: one source of truth. The provider's name is empty, which only
    /// [`Options::from_parsed`] refuses.
    fn default() -> Self {
        let no_flags: [&str; 0] = [];
        let parsed = parse(&FlagTable::common(), no_flags).unwrap_or_else(|_| Parsed::empty());
        Self::read(&parsed).0
    }
}

/// One warning for each given flag whose note says that it does nothing or is going away.
fn warn_of_flags_without_effect(check: &mut Check<'_>) {
    let table = FlagTable::common();
    for flag in check.parsed.given().iter().filter_map(|name| table.find(name)) {
        if flag.note.contains("no effect") || flag.note.starts_with("Deprecated") {
            check.warnings.push(format!("--{}: {}", flag.name, flag.note));
        }
    }
}
