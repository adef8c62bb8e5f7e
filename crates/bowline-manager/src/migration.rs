//! Leader migration: the Lease under which each controller runs while controllers are migrated from a kube-controller-manager to a
//! cloud-controller-manager, so that two instances of a controller are never active at the same time.
//!
//! This module only evaluates a configuration. It reads no files, acquires no Lease and starts no controller.

mod decode;
mod names;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use bowline_controllers::registry::ControllerName;
use thiserror::Error;

use names::Names;

/// The default name of the migration Lease, for which both managers compete.
const DEFAULT_LEASE: &str = "cloud-provider-extraction-migration";

/// A manager that takes part in the migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// The kube-controller-manager, from which controllers are usually migrated.
    KubeControllerManager,
    /// A cloud-controller-manager: this process.
    CloudControllerManager,
}

impl Component {
    /// The name of the component in the configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::KubeControllerManager => "kube-controller-manager",
            Self::CloudControllerManager => "cloud-controller-manager",
        }
    }
}

/// The components that may run a listed controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// Only this component.
    Only(Component),
    /// The component that holds the migration Lease.
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

/// The Lease under which a manager runs a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// The controller is not migrated: it starts with the main Lease.
    UnderMainLock,
    /// The controller is migrated: it starts once the migration Lease is held too.
    UnderMigrationLock,
    /// The controller belongs to the other manager and is not started.
    NotOurs,
}

/// Which controllers are migrated, and under which Lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderMigration {
    lease_name: String,
    names: Names,
    /// By canonical name, so that each controller has one entry, whatever spelling the file uses.
    owners: BTreeMap<String, Owner>,
    warnings: Vec<Warning>,
}

impl LeaderMigration {
    /// The configuration that applies without a file: the service, route and node lifecycle controllers are migrated, in either direction.
    ///
    /// A kube-controller-manager 1.28 to 1.30 without a file compares names that do not match its own service and route controllers, and
    /// runs both outside the migration Lease. Such a manager needs a file with the names `service-lb-controller` and
    /// `node-route-controller`; this process cannot compensate for it.
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

    /// Parses a `LeaderMigrationConfiguration` in YAML or JSON, for a manager with the common controllers only.
    ///
    /// # Errors
    ///
    /// If the text is not a valid object of this kind, has unknown keys, or contradicts itself.
    pub fn from_text(text: &str) -> Result<Self, MigrationError> {
        Self::from_text_knowing(text, &[])
    }

    /// Parses a `LeaderMigrationConfiguration`, for a manager that has the controllers `extra` besides the common ones.
    ///
    /// # Errors
    ///
    /// If the text is not a valid object of this kind, has unknown keys, or contradicts itself.
    pub fn from_text_knowing(text: &str, extra: &[ControllerName]) -> Result<Self, MigrationError> {
        let raw = decode::decode(text)?;
        let names = Names::knowing(extra);
        decode::validate(raw, names)
    }

    /// The name of the migration Lease, which is in the namespace of the main Lease.
    #[must_use]
    pub fn lease_name(&self) -> &str {
        &self.lease_name
    }

    /// The listed controllers by canonical name, each with the component that may run it; `*` means any.
    pub fn controller_leaders(&self) -> impl Iterator<Item = (&str, &'static str)> {
        self.owners.iter().map(|(controller, owner)| (controller.as_str(), owner.name()))
    }

    /// Checks that the migration Lease is not the main Lease, `main`: with the same Lease for both, the other manager could not run the
    /// controllers that are not migrated.
    ///
    /// # Errors
    ///
    /// If both have the same name.
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

    /// The Lease under which `component` runs this controller. All known spellings of a name give the same result.
    #[must_use]
    pub fn placement(&self, component: Component, controller: &str) -> Placement {
        match self.owners.get(self.names.canonical(controller)) {
            None => Placement::UnderMainLock,
            Some(Owner::Any) => Placement::UnderMigrationLock,
            Some(Owner::Only(owner)) if *owner == component => Placement::UnderMigrationLock,
            Some(Owner::Only(_)) => Placement::NotOurs,
        }
    }

    /// Warnings for the author of the configuration, which is accepted nevertheless.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }
}

/// Something suspicious in a configuration that does no harm here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// An entry names a controller that this manager does not have: the other manager may have it, or the name is misspelled.
    UnknownController {
        /// The name as written.
        name: String,
        /// The known names.
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

/// Why a configuration is rejected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MigrationError {
    /// The text is not a well-formed object of this kind.
    #[error("the leader migration configuration cannot be read: {0}")]
    Malformed(String),
    /// The configuration is well-formed but invalid; contains all problems.
    #[error("the leader migration configuration is wrong: {}", joined(.0))]
    Invalid(Vec<Problem>),
}

/// One problem of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The key, such as `controllerLeaders[1].component`.
    pub key: String,
    /// The given value; `None` if it is missing or empty.
    pub found: Option<String>,
    /// The accepted values.
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
