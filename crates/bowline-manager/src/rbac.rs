//! The rights the manager needs, as one table: the shipped manifests, the documentation and the manager's own check of
//! its rights (safety rail SR-6) all come from it.
//!
//! Minimal by proof: a test on a real API server runs the manager under exactly these rights, and another takes away each
//! verb in turn and shows what no longer works. No wildcard, no secret, and no right on an object that can be named
//! beyond that name.

mod manifest;
mod table;

#[cfg(test)]
mod tests;

use bowline_cloud::{Cloud, Watches};
use bowline_controllers::registry::ControllerName;

pub use manifest::{manifest, service_account_credentials_manifest, shadow_manifest, viewer_manifest};
pub use table::VIEWED_PATHS;

/// The ServiceAccount whose short-lived tokens the command line shows to managers, and the ClusterRole that it is bound to.
pub const VIEWER: &str = "bowline-viewer";

/// Where the controllers' ServiceAccounts and the cluster's authentication settings are.
pub const SYSTEM_NAMESPACE: &str = bowline_kube::client::service_account::NAMESPACE;

/// One right: some verbs on one resource, for one purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Who needs it.
    pub part: Part,
    /// Where it applies.
    pub scope: Scope,
    /// The API group; empty for the core.
    pub group: &'static str,
    /// The resource, with its subresource.
    pub resource: &'static str,
    /// Only objects of these names; empty for all.
    pub names: Vec<String>,
    /// The verbs.
    pub verbs: Vec<&'static str>,
    /// What for.
    pub why: &'static str,
}

/// Which part of the manager needs a right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// What watches the cluster for all controllers.
    Informers,
    /// Leader election and migration.
    Election,
    /// What is kept for the next leader.
    Ledger,
    /// The process's own events, and those of the cloud.
    Events,
    /// Knowing who calls the serving port with a token.
    Authentication,
    /// Knowing who calls it with a certificate.
    Authorities,
    /// Knowing what a caller of the serving port may.
    Authorization,
    /// Knowing which cluster it is.
    Cluster,
    /// The report of shadow and adopt-only mode.
    Report,
    /// Getting tokens for the controllers' ServiceAccounts; only with `--use-service-account-credentials`.
    Accounts,
    /// A controller.
    Controller {
        /// Its canonical name.
        name: String,
        /// The name of its client, and of its ServiceAccount with `--use-service-account-credentials`.
        client: String,
    },
}

/// Where a right applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Everywhere.
    Cluster,
    /// In the namespace of the Lease.
    LeaseNamespace,
    /// In `kube-system` only.
    SystemNamespace,
    /// In the namespace of the shadow report.
    ReportNamespace,
}

/// All rights of a manager, and what each is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rights {
    rules: Vec<Rule>,
}

impl Rights {
    /// Those of a manager with the common controllers.
    #[must_use]
    pub fn common() -> Self {
        Self { rules: table::common() }
    }

    /// Those of a manager for this cloud: the common ones, and those of the cloud's own controllers.
    #[must_use]
    pub fn of(cloud: &dyn Cloud) -> Self {
        let extras = cloud.extra_controllers();
        extras.iter().fold(Self::common(), |rights, extra| rights.with_extra(extra.name(), extra.watches()))
    }

    /// With a controller of a cloud's own: it writes labels and annotations on what it watches, and events.
    #[must_use]
    pub fn with_extra(mut self, controller: &str, watches: Watches) -> Self {
        self.rules.extend(table::extra(controller, watches));
        self
    }

    /// The rows, in the order of the table.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// What one identity needs that does everything.
    #[must_use]
    pub fn of_one_identity(&self) -> Vec<Rule> {
        merged(self.rules.iter().filter(|rule| !matches!(rule.part, Part::Accounts | Part::Report)))
    }

    /// What the process itself needs with `--use-service-account-credentials`.
    #[must_use]
    pub fn of_process(&self) -> Vec<Rule> {
        let accounts = self.accounts();
        let of_process = |rule: &&Rule| rule.part.account().is_none() && rule.part != Part::Report;
        let mut rules = merged(self.rules.iter().filter(of_process));
        for rule in rules.iter_mut().filter(|rule| rule.part == Part::Accounts) {
            // The name of what is yet to be made is not known to the API server when it judges.
            if !(rule.resource == "serviceaccounts" && rule.verbs == ["create"]) {
                rule.names.clone_from(&accounts);
            }
        }
        rules
    }

    /// What a process with `--shadow` needs besides its report: it sees, and can change nothing.
    #[must_use]
    pub fn of_shadow(&self) -> Vec<Rule> {
        let sees = |part: &Part| {
            use Part::{Authentication, Authorities, Authorization, Cluster, Informers};
            matches!(part, Informers | Cluster | Authentication | Authorities | Authorization)
        };
        merged(self.rules.iter().filter(|rule| sees(&rule.part)))
    }

    /// What it takes to report, in shadow and in adopt-only mode.
    #[must_use]
    pub fn of_report(&self) -> Vec<Rule> {
        merged(self.rules.iter().filter(|rule| rule.part == Part::Report))
    }

    /// What the ServiceAccount of one controller, or of several, needs with `--use-service-account-credentials`.
    #[must_use]
    pub fn of_account(&self, account: &str) -> Vec<Rule> {
        merged(self.rules.iter().filter(|rule| rule.part.account() == Some(account)))
    }

    /// The controllers' ServiceAccounts, each once.
    #[must_use]
    pub fn accounts(&self) -> Vec<String> {
        let mut accounts: Vec<String> = Vec::new();
        for account in self.rules.iter().filter_map(|rule| rule.part.account()) {
            if !accounts.iter().any(|known| known == account) {
                accounts.push(account.to_owned());
            }
        }
        accounts
    }
}

impl Part {
    fn of_controller(names: &ControllerName) -> Self {
        Self::Controller { name: names.canonical.clone(), client: names.client.clone() }
    }

    /// The ServiceAccount that holds its rights, if it can have one of its own.
    #[must_use]
    pub fn account(&self) -> Option<&str> {
        match self {
            Self::Controller { client, .. } => Some(client),
            _of_the_process => None,
        }
    }

    /// The name of the part, for people.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Informers => "informers",
            Self::Election => "leader-election",
            Self::Ledger => "ledger",
            Self::Events => "events",
            Self::Authentication | Self::Authorities => "authentication",
            Self::Authorization => "authorization",
            Self::Cluster => "cluster",
            Self::Accounts => "service-accounts",
            Self::Report => "shadow-report",
            Self::Controller { name, .. } => name,
        }
    }
}

/// One rule for each resource: the verbs of those that need the same one, each once.
fn merged<'a>(rules: impl Iterator<Item = &'a Rule>) -> Vec<Rule> {
    let mut merged: Vec<Rule> = Vec::new();
    for rule in rules {
        let same_place = |known: &&mut Rule| {
            let [here, there] =
                [&**known, rule].map(|rule| (rule.scope, rule.group, rule.resource, &rule.names));
            // Accounts stay apart: all of them can be limited to names, but for one that cannot.
            here == there && rule.part != Part::Accounts
        };
        match merged.iter_mut().find(same_place) {
            Some(known) => {
                for verb in &rule.verbs {
                    if !known.verbs.contains(verb) {
                        known.verbs.push(verb);
                    }
                }
            }
            None => merged.push(rule.clone()),
        }
    }
    merged
}
