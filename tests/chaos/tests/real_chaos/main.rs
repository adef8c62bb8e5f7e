//! The shipped binary, killed at every write and disturbed by seed, between a real API server and a simulated cloud.
//!
//! `BOWLINE_CHAOS_RUNS` is how many perturbed runs there are, `BOWLINE_CHAOS_JOBS` on how many clusters at once, `BOWLINE_SEED`
//! the seed of the first. Needs `cargo xtask kubernetes`, and `bowline` built.

mod kills;
mod seeds;

use anyhow::Context;

pub(crate) fn number(variable: &str) -> anyhow::Result<Option<u64>> {
    let Ok(text) = std::env::var(variable) else { return Ok(None) };
    text.parse().map(Some).with_context(|| format!("{variable} is no number: {text}"))
}

/// The last lines of a story, for a person.
pub(crate) fn story(report: &chaos_tests::run::Report) -> String {
    let from = report.story.len().saturating_sub(80);
    let lines: Vec<&str> = report.story.iter().skip(from).map(String::as_str).collect();
    format!("{}\n{}\n{}", report.problems.join("\n"), lines.join("\n"), report.logs)
}
