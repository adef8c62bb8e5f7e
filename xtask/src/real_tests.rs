//! The tests on the real thing: their targets are named `real_*`, so that the quick tests are not run a second time.

use crate::chromium;
use crate::programs::{self, Program};

/// The one that needs a browser.
const BROWSER: &str = "real_browser";

/// Those that are first, and alone: several clusters of their own, leases of seconds, or counts that depend on who is late.
const ALONE: [&str; 3] = ["real_perturbed", "real_rbac", "real_bench"];
/// Those that take minutes, the longest first: started last, each would be waited for alone.
const LONG: [&str; 5] =
    ["real_occm", "real_services", "real_openstack_cli", "real_operator", "real_migration"];

/// Builds them and runs them all.
pub(crate) fn run() -> anyhow::Result<()> {
    programs::run_all(build()?)
}

/// Only those that must be alone.
pub(crate) fn run_alone() -> anyhow::Result<()> {
    programs::run_all(build()?.into_iter().filter(|program| program.is_alone).collect())
}

/// Only those that others may run beside.
pub(crate) fn run_together() -> anyhow::Result<()> {
    programs::run_all(build()?.into_iter().filter(|program| !program.is_alone).collect())
}

/// Builds the programs of tests, in the order in which they run.
pub(crate) fn build() -> anyhow::Result<Vec<Program>> {
    let mut programs = programs::build(&["--test", "real_*"])?;
    if chromium::located().is_none() {
        println!("      NOT TESTED, the status page in a browser: there is no chromium");
        programs.retain(|program| program.name != BROWSER);
    }
    for program in &mut programs {
        program.is_alone = ALONE.contains(&program.name.as_str());
    }
    programs.sort_by_key(|program| position(&program.name));
    Ok(programs)
}

/// When a program has its turn.
fn position(name: &str) -> usize {
    let order = || ALONE.iter().chain(&LONG);
    order().position(|first| *first == name).unwrap_or_else(|| order().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_must_be_alone_are_first_and_the_longest_follow() {
        let mut names = ["real_ccm", "real_operator", "real_bench", "real_occm", "real_perturbed"];
        names.sort_by_key(|name| position(name));
        assert_eq!(names, ["real_perturbed", "real_bench", "real_occm", "real_operator", "real_ccm"]);
    }
}
