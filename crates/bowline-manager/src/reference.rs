//! The metrics, events and permissions of a manager, as rows and tables for the reference pages.
//!
//! The rows of the controllers are in `bowline_controllers::reference`; this module has those of the process, and combines both.

mod metrics;

use bowline_cloud::EventKind::{self, Normal, Warning};
use bowline_cloud::reference::{ConditionRow, EventRow};

pub use self::metrics::METRICS;
use crate::rbac::{Part, Rights, Rule, Scope};

const fn lease(reason: &'static str, kind: EventKind, meaning: &'static str) -> EventRow {
    EventRow { reason, about: "Lease", kind, meaning }
}

/// The events of the process itself, all on its Lease.
const OWN_EVENTS: &[EventRow] = &[
    lease("LeaderElection", Normal, "A replica began or stopped to lead."),
    lease("Paused", Normal, "All changes are paused (SR-15); the message says by whom and until when."),
    lease("Resumed", Normal, "The pause is over."),
    lease(
        "CloudIdentityLost",
        Warning,
        "The cloud does not accept our credentials, or they are those of another project (SR-3): nothing is changed until it does. \
         Correct the credentials; they are read again.",
    ),
    lease("CloudIdentityFound", Normal, "The cloud accepts us again, and changes are made again."),
    lease(
        "MissingPermissions",
        Warning,
        "The manager lacks rights in the cluster (SR-6); the message names verb, resource and who needs it. Apply `deploy/rbac.yaml`.",
    ),
];

/// All events of a manager, except those of the cloud provider.
#[must_use]
pub fn events() -> Vec<EventRow> {
    [bowline_controllers::reference::EVENTS, OWN_EVENTS].concat()
}

/// All condition reasons that a manager writes.
#[must_use]
pub fn conditions() -> &'static [ConditionRow] {
    bowline_controllers::reference::CONDITIONS
}

/// A table of all permissions of a manager with the common controllers.
#[must_use]
pub fn rights_table() -> String {
    let rows: Vec<String> = Rights::common().rules().iter().map(right).collect();
    format!("| who | group | resource | verbs | where | for |\n|---|---|---|---|---|---|\n{}", rows.concat())
}

fn right(rule: &Rule) -> String {
    let group = if rule.group.is_empty() { "core" } else { rule.group };
    let names = rule.names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let place = match rule.scope {
        Scope::Cluster => "everywhere",
        Scope::LeaseNamespace => "namespace of the Lease",
        Scope::SystemNamespace => "`kube-system`",
        Scope::ReportNamespace => "namespace of the report",
    };
    let place = if names.is_empty() { place.to_owned() } else { format!("{place}, only {names}") };
    let verbs = rule.verbs.join(", ");
    format!("| {} | {group} | `{}` | {verbs} | {place} | {} |\n", who(&rule.part), rule.resource, rule.why)
}

fn who(part: &Part) -> String {
    match part {
        Part::Informers => "informers".to_owned(),
        Part::Election => "election".to_owned(),
        Part::Ledger => "ledger".to_owned(),
        Part::Events => "events".to_owned(),
        Part::Authentication => "serving: tokens".to_owned(),
        Part::Authorities => "serving: certificates".to_owned(),
        Part::Authorization => "serving: rights of callers".to_owned(),
        Part::Cluster => "cluster\u{2019}s UID".to_owned(),
        Part::Report => "report, with `--shadow` or `--adopt-only`".to_owned(),
        Part::Accounts => "accounts, with `--use-service-account-credentials`".to_owned(),
        Part::Controller { name, .. } => name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_right_is_a_row_that_says_what_it_is_for() {
        let table = rights_table();
        let rights = Rights::common();
        assert_eq!(table.lines().count(), rights.rules().len() + 2);
        for rule in rights.rules() {
            assert!(table.contains(rule.why), "{}", rule.why);
        }
    }

    /// The files of this crate, and of the election, that record events.
    const SOURCES: [&str; 4] = [
        include_str!("pause.rs"),
        include_str!("cloud_identity.rs"),
        include_str!("right_to_act.rs"),
        include_str!("../../bowline-kube/src/lease/announce.rs"),
    ];

    #[test]
    fn every_row_of_the_process_is_said_somewhere() {
        for row in OWN_EVENTS {
            let quoted = format!("\"{}\"", row.reason);
            assert!(SOURCES.iter().any(|source| source.contains(&quoted)), "{} is not said", row.reason);
        }
    }
}
