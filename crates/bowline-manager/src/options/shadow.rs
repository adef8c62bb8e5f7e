//! `--shadow` and `--adopt-only`: what a manager may do while a cluster is migrated to it, and where it reports.

use std::time::Duration;

use bowline_cloud::shadow::Mode;

use super::check::Check;

/// What a manager may do while a cluster is migrated to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShadowOptions {
    /// `None` for normal operation without a report.
    pub mode: Option<Mode>,
    /// How often everything is checked again although nothing changed.
    pub period: Duration,
    /// The namespace and name of the report's ConfigMap.
    pub report: (String, String),
}

pub(super) fn shadow(check: &mut Check<'_>) -> ShadowOptions {
    let mode = match (check.parsed.bool("shadow"), check.parsed.bool("adopt-only")) {
        (true, true) => {
            check.combination(
                "--shadow and --adopt-only: a shadow writes nothing, so it adopts nothing; give one of them",
            );
            Some(Mode::Shadow)
        }
        (true, false) => Some(Mode::Shadow),
        (false, true) => Some(Mode::AdoptOnly),
        (false, false) => None,
    };
    ShadowOptions { mode, period: check.period("shadow-period"), report: report(check) }
}

fn report(check: &mut Check<'_>) -> (String, String) {
    let given = check.parsed.text("shadow-report");
    let is_name = |part: &str| {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
        !part.is_empty() && part.chars().all(allowed)
    };
    match given.split_once('/') {
        Some((namespace, name)) if is_name(namespace) && is_name(name) => {
            (namespace.to_owned(), name.to_owned())
        }
        _ => {
            check.refuse("shadow-report", &given, "must be NAMESPACE/NAME of a ConfigMap");
            (String::new(), String::new())
        }
    }
}
