//! Renders the text of the health endpoints, in a format that monitoring tools and operators know. Pure.

use std::fmt::Write;

use super::{CheckOutcome, Endpoint};

/// The parameters of the query string.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HealthQuery {
    /// Lists every check, even if all pass.
    pub verbose: bool,
    /// The names of the checks to skip.
    pub exclude: Vec<String>,
    /// Shows why a check is degraded. Off for anonymous callers, which may read health endpoints by default: a reason may contain addresses
    /// and IDs of the cloud.
    pub reasons: bool,
}

impl HealthQuery {
    /// Parses the pairs of a query string.
    #[must_use]
    pub fn from_pairs(pairs: Vec<(String, String)>) -> Self {
        let mut query = Self::default();
        for (key, value) in pairs {
            match key.as_str() {
                "verbose" => query.verbose = true,
                "exclude" => query.exclude.push(value),
                _ => {}
            }
        }
        query
    }
}

/// The response of a health endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthResponse {
    /// Whether the status is 200 (otherwise 500).
    pub ok: bool,
    /// The body in plain text.
    pub body: String,
}

/// The response of a whole endpoint; an outcome of `None` means that the check was excluded.
pub(super) fn all(
    endpoint: Endpoint,
    query: &HealthQuery,
    results: &[(String, Option<CheckOutcome>)],
) -> HealthResponse {
    let ok = !results.iter().any(|(_, outcome)| matches!(outcome, Some(CheckOutcome::Failed(_))));
    if ok && !query.verbose {
        return HealthResponse { ok, body: "ok".to_owned() };
    }
    let mut body: String =
        results.iter().map(|(name, outcome)| line(name, outcome.as_ref(), query.reasons)).collect();
    let unmatched: Vec<_> =
        query.exclude.iter().filter(|name| !results.iter().any(|(known, _)| known == *name)).collect();
    if !unmatched.is_empty() {
        let written = writeln!(body, "warn: no checks to exclude named {unmatched:?}");
        debug_assert!(written.is_ok(), "writing to a string does not fail");
    }
    body.push_str(endpoint.name());
    body.push_str(if ok { " check passed\n" } else { " check failed\n" });
    HealthResponse { ok, body }
}

/// The response of a single check at its own path.
pub(super) fn one(name: &str, outcome: &CheckOutcome, reasons: bool) -> HealthResponse {
    match outcome {
        CheckOutcome::Healthy => HealthResponse { ok: true, body: "ok".to_owned() },
        CheckOutcome::Degraded(_) => HealthResponse { ok: true, body: line(name, Some(outcome), reasons) },
        CheckOutcome::Failed(_) => HealthResponse { ok: false, body: line(name, Some(outcome), reasons) },
    }
}

fn line(name: &str, outcome: Option<&CheckOutcome>, reasons: bool) -> String {
    match outcome {
        None => format!("[+]{name} excluded: ok\n"),
        Some(CheckOutcome::Healthy) => format!("[+]{name} ok\n"),
        Some(CheckOutcome::Degraded(_)) if !reasons => format!("[!]{name} degraded: reason withheld\n"),
        Some(CheckOutcome::Degraded(reason)) => {
            // Keeps each check on one line, even if the reason has several.
            format!("[!]{name} degraded: {}\n", reason.replace(['\n', '\r'], " "))
        }
        Some(CheckOutcome::Failed(_)) => format!("[-]{name} failed: reason withheld\n"),
    }
}
