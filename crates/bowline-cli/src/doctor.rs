//! `bowline doctor`: what is wrong with cluster, manager and cloud, each finding with why it matters and what to do. Nothing is written.
//!
//! [`gather`] reads the facts; every check is a pure function of them.

pub mod cloud;
pub mod facts;
mod gather;
mod health;
pub mod managers;
pub mod nodes;
pub mod services;

#[cfg(test)]
mod fixture;

use serde::Serialize;

use self::facts::Facts;
use crate::ending::{Ending, FINE, FOUND, NOT_LOOKED};
use crate::output::{Output, Report};
use crate::session::{Access, Session};
use crate::terminal::line_of;
use crate::way;

/// What `doctor` says of its exit codes.
const CODES: &str = "Exit codes:\n  0  nothing is wrong; there may be hints\n  1  something is wrong\n  2  not all could be looked at, or the command line is wrong";

/// What to look at.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = CODES)]
pub struct Arguments {
    #[command(flatten)]
    pub(crate) way: way::Arguments,
    #[command(flatten)]
    pub(crate) access: Access,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// Something does not work.
    Error,
    /// Something will not work, or works by luck.
    Warning,
    /// A person should know it.
    Hint,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// What kind it is; stays the same from version to version.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What was found.
    pub found: String,
    /// Why it matters.
    pub why: &'static str,
    /// What to do.
    pub remedy: String,
}

/// A check: from facts to findings.
pub type Check = fn(&Facts) -> Vec<Finding>;

/// All checks with the kind of finding that each makes, in the order in which a person would look.
pub const CHECKS: &[(&str, Check)] = &[
    ("no-manager", managers::no_manager),
    ("no-leader", managers::no_leader),
    ("two-managers", managers::two_managers),
    ("paused", managers::paused),
    ("identity-lost", managers::identity_lost),
    ("manager-degraded", managers::degraded),
    ("manager-restarts", managers::restarts),
    ("rights-missing", managers::rights_missing),
    ("default-cluster-name", managers::default_cluster_name),
    ("config-unreadable", cloud::config_unreadable),
    ("config-doubtful", cloud::config_doubtful),
    ("credentials-refused", cloud::credentials_refused),
    ("service-missing", cloud::service_missing),
    ("insecure-endpoint", cloud::insecure_endpoint),
    ("octavia-too-old", cloud::octavia_too_old),
    ("clock-skew", cloud::clock_skew),
    ("another-project", cloud::another_project),
    ("duplicate-cluster-name", cloud::duplicate_cluster_name),
    ("load-balancers-of-one-name", cloud::namesakes),
    ("load-balancer-in-error", cloud::broken_balancers),
    ("kubelet-flag-missing", nodes::kubelet_flag_missing),
    ("built-in-manager", nodes::built_in_manager),
    ("foreign-provider-id", nodes::foreign_provider_id),
    ("uninitialized-for-long", nodes::uninitialized_for_long),
    ("taint-left-over", nodes::taint_left_over),
    ("shutdown-taint-left-over", nodes::shutdown_taint_left_over),
    ("server-gone", nodes::server_gone),
    ("server-not-known", nodes::server_not_known),
    ("service-not-ready", services::not_ready),
    ("no-nodes-for-traffic", services::no_nodes),
    ("local-traffic-unmonitored", services::local_traffic_unmonitored),
];

/// What was found.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnosis {
    /// The findings, the worst first.
    pub findings: Vec<Finding>,
    /// How many checks were made.
    pub checks: usize,
    /// What could not be looked at, with the reason.
    pub not_looked_at: Vec<String>,
}

/// Looks, and tells.
///
/// # Errors
///
/// [`Ending`] if the cluster could not be looked at.
pub async fn run(arguments: &Arguments) -> Result<Diagnosis, Ending> {
    let session = Session::open(&arguments.access).await?;
    look(&session, &arguments.way).await
}

/// What is wrong.
pub(crate) async fn look(session: &Session, way: &way::Arguments) -> Result<Diagnosis, Ending> {
    Ok(diagnose(&gather::gather(session, way).await?))
}

/// What the facts say. Pure.
#[must_use]
pub fn diagnose(facts: &Facts) -> Diagnosis {
    let mut findings: Vec<Finding> = CHECKS.iter().flat_map(|(_kind, check)| check(facts)).collect();
    findings.sort_by_key(|finding| finding.severity);
    Diagnosis { findings, checks: CHECKS.len(), not_looked_at: facts.not_looked_at.clone() }
}

/// A few names, and how many more there are.
pub(crate) fn some<T: ToString>(names: &[T]) -> String {
    const SHOWN: usize = 5;
    let mut text = names.iter().take(SHOWN).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}

impl Report for Diagnosis {
    fn text(&self) -> String {
        let mut text = String::new();
        for Finding { id, severity, found, why, remedy } in &self.findings {
            let severity = match severity {
                Severity::Error => "ERROR",
                Severity::Warning => "WARNING",
                Severity::Hint => "HINT",
            };
            text.push_str(&line_of(format!("{severity} {id}: {found}")));
            text.push_str(&line_of(format!("  why it matters: {why}")));
            text.push_str(&line_of(format!("  what to do: {remedy}")));
        }
        for what in &self.not_looked_at {
            text.push_str(&line_of(format!("NOT LOOKED AT {what}")));
        }
        text.push_str(&line_of(format!(
            "{} checks, {} findings. Nothing was written.",
            self.checks,
            self.findings.len()
        )));
        text
    }

    fn code(&self) -> u8 {
        let wrong = self.findings.iter().any(|finding| finding.severity != Severity::Hint);
        match (wrong, self.not_looked_at.is_empty()) {
            (true, _) => FOUND,
            (false, false) => NOT_LOOKED,
            (false, true) => FINE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_in_which_all_is_well_has_no_finding_at_all() {
        let diagnosis = diagnose(&fixture::well());
        assert_eq!(diagnosis.findings, []);
        assert_eq!(diagnosis.code(), FINE);
    }

    #[test]
    fn the_worst_come_first_and_what_was_not_looked_at_is_no_good_answer() {
        let mut facts = fixture::well();
        facts.not_looked_at.push("x".into());
        assert_eq!(diagnose(&facts).code(), NOT_LOOKED);
        facts.leader.paused = Some("rack 7".into());
        facts.config.problem = Some("cloud.conf: no".into());
        let diagnosis = diagnose(&facts);
        assert_eq!(diagnosis.findings[0].severity, Severity::Error);
        assert_eq!(diagnosis.code(), FOUND);
        assert!(diagnosis.text().contains("ERROR config-unreadable"), "{}", diagnosis.text());
    }

    #[test]
    fn of_many_names_some_are_told() {
        assert_eq!(some(&["a"; 7]), "a, a, a, a, a and 2 more");
    }
}
