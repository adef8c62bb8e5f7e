//! The typed and validated options: created once from the command line, then only read.
//!
//! This module reads no files and sends no requests; paths are not opened here.

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

/// All options of the manager.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The options of leader election.
    pub leader_election: LeaderElectionOptions,
    /// The options of leader migration.
    pub leader_migration: LeaderMigrationOptions,
    /// The connection to the API server.
    pub client: ClientOptions,
    /// `--controllers` as given; see [`ControllerSelection`].
    pub controllers: Vec<String>,
    /// The minimum delay between the starts of two controllers; the actual delay is random, between one and two times this.
    pub controller_start_interval: Duration,
    /// The cloud provider and its options.
    pub cloud: CloudOptions,
    /// Whether each controller uses its own ServiceAccount.
    pub use_service_account_credentials: bool,
    /// The options of the HTTPS server.
    pub serving: ServingConfig,
    /// How callers of the HTTPS server are authenticated.
    pub authentication: AuthenticationConfig,
    /// The kubeconfig for token reviews. If `None`, the pod's credentials are used; outside a cluster there are none, and bearer tokens are
    /// then ignored.
    pub authentication_kubeconfig: Option<PathBuf>,
    /// How callers of the HTTPS server are authorized.
    pub authorization: AuthorizationConfig,
    /// The kubeconfig for access reviews. If `None`, the pod's credentials are used; outside a cluster there are none, and then only
    /// `system:masters` and the always-allowed paths are allowed.
    pub authorization_kubeconfig: Option<PathBuf>,
    /// Whether the debug endpoints are served.
    pub profiling: bool,
    /// The options of the two node controllers.
    pub node: NodeOptions,
    /// The options of the service controller.
    pub service: ServiceOptions,
    /// The options of the node IPAM controller.
    pub ipam: IpamOptions,
    /// The limits of the safety rails.
    pub rails: RailOptions,
    /// Whether all changes are paused.
    pub paused: bool,
    /// Whether the manager only observes, or only adopts resources, and where it reports.
    pub shadow: ShadowOptions,
    /// The format and verbosity of the log.
    pub logging: LoggingOptions,
    /// How long work in progress may continue after SIGTERM.
    pub shutdown_grace: Duration,
    /// The feature gates that were set.
    pub feature_gates: FeatureGates,
    /// Options that are accepted for compatibility and only shown in `/configz`.
    pub unused: UnusedOptions,
    /// Warnings for the operator, logged at startup.
    pub warnings: Vec<String>,
}

impl Options {
    /// Interprets the flags.
    ///
    /// # Errors
    ///
    /// All invalid values, not only the first.
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
    /// The options without any flags, so that the flag table is the only source of defaults. The provider's name is empty, which only
    /// [`Options::from_parsed`] rejects.
    fn default() -> Self {
        let no_flags: [&str; 0] = [];
        let parsed = parse(&FlagTable::common(), no_flags).unwrap_or_else(|_| Parsed::empty());
        Self::read(&parsed).0
    }
}

/// Adds a warning for each given flag whose note says that it has no effect or is deprecated.
fn warn_of_flags_without_effect(check: &mut Check<'_>) {
    let table = FlagTable::common();
    for flag in check.parsed.given().iter().filter_map(|name| table.find(name)) {
        if flag.note.contains("no effect") || flag.note.starts_with("Deprecated") {
            check.warnings.push(format!("--{}: {}", flag.name, flag.note));
        }
    }
}
