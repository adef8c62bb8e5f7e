//! Leader migration: which Lease each controller runs under while controllers move between a kube-controller-manager
//! and a cloud-controller-manager, so that never two copies of one are active.
//!
//! This file answers questions about a configuration. It reads no files, holds no Lease and starts no controller.

mod decode;
mod names;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use bowline_controllers::registry::ControllerName;
use thiserror::Error;

use names::Names;

/// The Lease both managers compete for if nothing else is configured.
const DEFAULT_LEASE: &str = "cloud-provider-extraction-migration";

/// A manager that takes part in the migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// The kube-controller-manager, from which controllers usually come.
    KubeControllerManager,
    /// A cloud-controller-manager: this process.
    CloudControllerManager,
}

impl Component {
    /// Its name in a configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::KubeControllerManager => "kube-controller-manager",
            Self::CloudControllerManager => "cloud-controller-manager",
        }
    }
}

/// Who may run a controller that is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// One manager only.
    Only(Component),
    /// Whoever holds the migration Lease.
    Any,
}

impl Owner {
    const fn name(self) -> &'static str {
        match self {
            Self::Only(component) => component.name(),
            Self::Any => "*",
        }
    }
}

/// Where a manager runs a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// It does not move: it starts with the main Lease.
    UnderMainLock,
    /// It moves: it starts once the migration Lease is held too.
    UnderMigrationLock,
    /// It belongs to the other manager: it is not started.
    NotOurs,
}

/// Which controllers move, and under which Lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderMigration {
    lease_name: String,
    names: Names,
    /// By canonical name, so that one controller is one entry however the file spells it.
    owners: BTreeMap<String, Owner>,
    warnings: Vec<Warning>,
}

impl LeaderMigration {
    /// What applies without a configuration file: services, routes and the node lifecycle move, to either side.
    ///
    /// A kube-controller-manager 1.28 to 1.30 that also has no file compares names that do not match its own service
    /// and route controllers, and runs both outside the migration Lease. Give such a one a file with the names
    /// `service-lb-controller` and `node-route-controller`; nothing on this side can make up for it.
    #[must_use]
    pub fn built_in() -> Self {
        let moving = ["service-lb-controller", "node-route-controller", "cloud-node-lifecycle-controller"];
        Self {
            lease_name: DEFAULT_LEASE.to_owned(),
            names: Names::knowing(&[]),
            owners: moving.map(|name| (name.to_owned(), Owner::Any)).into(),
            warnings: Vec::new(),
        }
    }

    /// Reads a `LeaderMigrationConfiguration` in YAML or JSON, for a manager with the common controllers only.
    ///
    /// # Errors
    ///
    /// If the text is no such object, has keys it must not have, or contradicts itself.
    pub fn from_text(text: &str) -> Result<Self, MigrationError> {
        Self::from_text_knowing(text, &[])
    }

    /// Reads a `LeaderMigrationConfiguration`, for a manager that has these controllers besides the common ones.
    ///
    /// # Errors
    ///
    /// If the text is no such object, has keys it must not have, or contradicts itself.
    pub fn from_text_knowing(text: &str, extra: &[ControllerName]) -> Result<Self, MigrationError> {
        let raw = decode::decode(text)?;
        let names = Names::knowing(extra);
        decode::validate(raw, names)
    }

    /// The migration Lease, in the namespace of the main one.
    #[must_use]
    pub fn lease_name(&self) -> &str {
        &self.lease_name
    }

    /// The controllers that are listed, by canonical name, each with the component that may run it; `*` for any.
    pub fn controller_leaders(&self) -> impl Iterator<Item = (&str, &'static str)> {
        self.owners.iter().map(|(controller, owner)| (controller.as_str(), owner.name()))
    }

    /// Makes sure that the migration Lease is not the main one, `main`: with one Lease for both, the other manager could
    /// not run what does not move.
    ///
    /// # Errors
    ///
    /// If the two have the same name.
    pub fn check_lease_name(&self, main: &str) -> Result<(), MigrationError> {
        if self.lease_name != main {
            return Ok(());
        }
        Err(MigrationError::Invalid(vec![Problem {
            key: "leaderName".to_owned(),
            found: Some(self.lease_name.clone()),
            wanted: "another name than that of the main Lease, --leader-elect-resource-name".to_owned(),
        }]))
    }

    /// Where `component` runs the controller of this name. Every known spelling of a name gives the same answer.
    #[must_use]
    pub fn placement(&self, component: Component, controller: &str) -> Placement {
        match self.owners.get(self.names.canonical(controller)) {
            None => Placement::UnderMainLock,
            Some(Owner::Any) => Placement::UnderMigrationLock,
            Some(Owner::Only(owner)) if *owner == component => Placement::UnderMigrationLock,
            Some(Owner::Only(_)) => Placement::NotOurs,
        }
    }

    /// What to tell the person who wrote the configuration, although it is accepted.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }
}

/// Something odd in a configuration that does no harm here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// An entry names a controller this manager does not have: the other one may, or it is a typing error.
    UnknownController {
        /// The name as written.
        name: String,
        /// What would have matched.
        known: Vec<String>,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownController { name, known } => write!(
                f,
                "the leader migration configuration names the controller {name:?}, which this manager does not have; \
                 if it is a typing error, the controller that was meant runs outside the migration Lease; \
                 known: {}",
                known.join(", ")
            ),
        }
    }
}

/// Why a configuration is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MigrationError {
    /// It is no well-formed object of the kind.
    #[error("the leader migration configuration cannot be read: {0}")]
    Malformed(String),
    /// It can be read and is wrong, all problems at once.
    #[error("the leader migration configuration is wrong: {}", joined(.0))]
    Invalid(Vec<Problem>),
}

/// One thing wrong in a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where: `controllerLeaders[1].component`.
    pub key: String,
    /// What is there; `None` if it is missing or empty.
    pub found: Option<String>,
    /// What is accepted.
    pub wanted: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.found {
            Some(found) => write!(f, "{}: found {found:?}, wanted {}", self.key, self.wanted),
            None => write!(f, "{}: missing, wanted {}", self.key, self.wanted),
        }
    }
}

fn joined(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; ")
}
