//! The text of health endpoints. Pure; monitoring tools and people's habits know this format.

use std::fmt::Write;

use super::{CheckOutcome, Endpoint};

/// What the query string asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HealthQuery {
    /// List every check even if all pass.
    pub verbose: bool,
    /// Checks to leave out.
    pub exclude: Vec<String>,
    /// Say why something is degraded. Not to anonymous callers, who may read health by default: a reason may hold
    /// addresses and ids of the cloud.
    pub reasons: bool,
}

impl HealthQuery {
    /// From the pairs of a query string.
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

/// What to answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthResponse {
    /// 200 or 500.
    pub ok: bool,
    /// Plain text.
    pub body: String,
}

/// The answer for a whole endpoint; `None` as an outcome means the check was left out.
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

/// The answer for one check, asked for by its own path.
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
            // One line for each check, whatever the reason holds.
            format!("[!]{name} degraded: {}\n", reason.replace(['\n', '\r'], " "))
        }
        Some(CheckOutcome::Failed(_)) => format!("[-]{name} failed: reason withheld\n"),
    }
}
