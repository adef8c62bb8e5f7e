//! The RBAC permissions that the manager needs, as one table. The shipped manifests, the documentation and the manager's own permission
//! check (safety rail SR-6) are generated from it.
//!
//! Tests on a real API server prove that the permissions are minimal: one runs the manager with exactly these permissions, another removes
//! each verb in turn and shows what fails. There are no wildcards, no Secrets, and permissions are limited to object names wherever the
//! names are known.

mod manifest;
mod table;

#[cfg(test)]
mod tests;

use bowline_cloud::{Cloud, Watches};
use bowline_controllers::registry::ControllerName;

pub use manifest::{manifest, service_account_credentials_manifest, shadow_manifest, viewer_manifest};
pub use table::VIEWED_PATHS;

/// The ServiceAccount whose short-lived tokens the command line presents to managers, and the ClusterRole that it is bound to.
pub const VIEWER: &str = "bowline-viewer";

/// The namespace of the controllers' ServiceAccounts and of the cluster's authentication ConfigMap.
pub const SYSTEM_NAMESPACE: &str = bowline_kube::client::service_account::NAMESPACE;

/// One permission: some verbs on one resource, for one purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The part of the manager that needs the permission.
    pub part: Part,
    /// The scope of the permission.
    pub scope: Scope,
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The resource, with `/subresource` if there is one.
    pub resource: &'static str,
    /// The names of the objects; empty for all objects.
    pub names: Vec<String>,
    /// The verbs.
    pub verbs: Vec<&'static str>,
    /// The purpose of the permission.
    pub why: &'static str,
}

/// The part of the manager that needs a permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// The shared informers.
    Informers,
    /// Leader election and migration.
    Election,
    /// The ledger, which stores facts for the next leader.
    Ledger,
    /// Events of the process itself and of the cloud provider.
    Events,
    /// Authenticating callers of the serving port by bearer token.
    Authentication,
    /// Authenticating callers of the serving port by client certificate: reads the CA certificates.
    Authorities,
    /// Authorizing callers of the serving port.
    Authorization,
    /// Reading the UID of the cluster.
    Cluster,
    /// The report of shadow and adopt-only mode.
    Report,
    /// Requesting tokens for the controllers' ServiceAccounts; only with `--use-service-account-credentials`.
    Accounts,
    /// A controller.
    Controller {
        /// The canonical name of the controller.
        name: String,
        /// The name of its client, and of its ServiceAccount with `--use-service-account-credentials`.
        client: String,
    },
}

/// The scope of a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The whole cluster.
    Cluster,
    /// The namespace of the Lease.
    LeaseNamespace,
    /// The namespace `kube-system`.
    SystemNamespace,
    /// The namespace of the shadow report.
    ReportNamespace,
}

/// All permissions of a manager, with their purposes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rights {
    rules: Vec<Rule>,
}

impl Rights {
    /// The permissions of a manager with the common controllers.
    #[must_use]
    pub fn common() -> Self {
        Self { rules: table::common() }
    }

    /// The permissions of a manager for this cloud: those of the common controllers, and those of the cloud's own controllers.
    #[must_use]
    pub fn of(cloud: &dyn Cloud) -> Self {
        let extras = cloud.extra_controllers();
        extras.iter().fold(Self::common(), |rights, extra| rights.with_extra(extra.name(), extra.watches()))
    }

    /// Adds a controller of the cloud, which writes labels and annotations on the objects that it watches, and events.
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

    /// The permissions of a single identity that runs everything.
    #[must_use]
    pub fn of_one_identity(&self) -> Vec<Rule> {
        merged(self.rules.iter().filter(|rule| !matches!(rule.part, Part::Accounts | Part::Report)))
    }

    /// The permissions of the process itself with `--use-service-account-credentials`.
    #[must_use]
    pub fn of_process(&self) -> Vec<Rule> {
        let accounts = self.accounts();
        let of_process = |rule: &&Rule| rule.part.account().is_none() && rule.part != Part::Report;
        let mut rules = merged(self.rules.iter().filter(of_process));
        for rule in rules.iter_mut().filter(|rule| rule.part == Part::Accounts) {
            // When the API server authorizes a create request, it does not know the name of the new object.
            if !(rule.resource == "serviceaccounts" && rule.verbs == ["create"]) {
                rule.names.clone_from(&accounts);
            }
        }
        rules
    }

    /// The permissions of a process with `--shadow`, besides those of the report: it can read, and change nothing.
    #[must_use]
    pub fn of_shadow(&self) -> Vec<Rule> {
        let sees = |part: &Part| {
            use Part::{Authentication, Authorities, Authorization, Cluster, Informers};
            matches!(part, Informers | Cluster | Authentication | Authorities | Authorization)
        };
        merged(self.rules.iter().filter(|rule| sees(&rule.part)))
    }

    /// The permissions to write the report, in shadow and in adopt-only mode.
    #[must_use]
    pub fn of_report(&self) -> Vec<Rule> {
        merged(self.rules.iter().filter(|rule| rule.part == Part::Report))
    }

    /// The permissions of the ServiceAccount of one or several controllers with `--use-service-account-credentials`.
    #[must_use]
    pub fn of_account(&self, account: &str) -> Vec<Rule> {
        merged(self.rules.iter().filter(|rule| rule.part.account() == Some(account)))
    }

    /// The controllers' ServiceAccounts, without duplicates.
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

    /// The ServiceAccount of the part, if it can have one of its own.
    #[must_use]
    pub fn account(&self) -> Option<&str> {
        match self {
            Self::Controller { client, .. } => Some(client),
            _of_the_process => None,
        }
    }

    /// The name of the part, for messages.
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

/// Merges the rules of the same resource, with all of their verbs, without duplicates.
fn merged<'a>(rules: impl Iterator<Item = &'a Rule>) -> Vec<Rule> {
    let mut merged: Vec<Rule> = Vec::new();
    for rule in rules {
        let same_place = |known: &&mut Rule| {
            let [here, there] =
                [&**known, rule].map(|rule| (rule.scope, rule.group, rule.resource, &rule.names));
            // Rules for accounts are not merged: all of them can be limited to names, except one.
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
