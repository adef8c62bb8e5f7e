//! The suites on the real thing: their targets are named `real_*`, so that the quick tests do not run them a second time.

use anyhow::ensure;

use crate::chromium;
use crate::kubernetes::OLDER_RELEASES;
use crate::programs::{self, Program, test_targets};
use crate::test::OTHER_PARTS;

/// How targets on the real thing are named.
pub(crate) const PREFIX: &str = "real_";

/// The one that needs a browser.
const BROWSER: &str = "real_browser";

/// The one that runs on each supported release of Kubernetes: whole managers, with the rights that are shipped.
pub(crate) const ON_EACH_RELEASE: &str = "real_bowline";

/// The binaries that suites of other packages start (`bowline_testkit::process::program`). Cargo builds only those of a suite's own package
/// together with it.
const STARTED: [&str; 2] = ["bowline", "sample-cloud"];

/// Suites that run only with `--full`, and why. All others run for every change.
const LONG: [(&str, &str); 8] = [
    ("real_chaos", "nine minutes alone: a manager is killed after each of its writes"),
    ("real_bench", "must be alone; virtual_time counts the same calls"),
    ("real_migration", "minutes; the operator's decisions are in the quick tests"),
    ("real_occm", "minutes, and the build of OCCM"),
    ("real_upstream", "the build of upstream's manager"),
    ("real_framework", "minutes; a manager is killed again and again"),
    ("real_openstack_cli", "minutes, and the openstack client"),
    (BROWSER, "a browser"),
];

/// Those that are first, and alone: several clusters of their own, leases of seconds, or counts that depend on who is late.
const ALONE: [&str; 3] = ["real_chaos", "real_rbac", "real_bench"];
/// Those that take minutes, the longest first: started last, each would be waited for alone.
const SLOW: [&str; 5] =
    ["real_occm", "real_bowline", "real_openstack_cli", "real_operator", "real_migration"];

/// Builds and runs the suites that every change must pass.
pub(crate) fn run_always() -> anyhow::Result<()> {
    run(build(|name| !is_long(name))?)
}

/// Builds and runs the others.
pub(crate) fn run_long() -> anyhow::Result<()> {
    run(build(is_long)?)
}

/// Builds the suite that runs on each supported release of Kubernetes, and runs it on the older ones.
pub(crate) fn run_on_older_releases() -> anyhow::Result<()> {
    let suite = build(|name| name == ON_EACH_RELEASE)?;
    for release in OLDER_RELEASES {
        let servers = release.ensure()?;
        println!("      on Kubernetes {}:", release.minor);
        run(suite
            .iter()
            .map(|program| Program { servers: Some(servers.clone()), ..program.clone() })
            .collect())?;
    }
    Ok(())
}

/// Runs suites.
pub(crate) fn run(programs: Vec<Program>) -> anyhow::Result<()> {
    programs::run_all(programs)
}

/// Builds the suites with these names, with or without `real_`.
pub(crate) fn build_named(names: &[&str]) -> anyhow::Result<Vec<Program>> {
    let targets = test_targets()?;
    let suites: Vec<&str> =
        targets.iter().map(String::as_str).filter(|target| target.starts_with(PREFIX)).collect();
    let is_named = |suite: &str, name: &str| suite.strip_prefix(PREFIX) == Some(name) || suite == name;
    for name in names {
        ensure!(
            suites.iter().any(|suite| is_named(suite, name)),
            "no part is called {name:?}; there are {}, {}",
            OTHER_PARTS.map(|part| part.name).join(", "),
            suites.join(", ")
        );
    }
    build(|suite| names.iter().any(|name| is_named(suite, name)))
}

/// Builds all suites.
pub(crate) fn build_all() -> anyhow::Result<Vec<Program>> {
    build(|_suite| true)
}

fn is_long(suite: &str) -> bool {
    LONG.iter().any(|(name, _why)| *name == suite)
}

/// Builds suites, in the order in which they run, and the binaries that they start.
fn build(is_chosen: impl Fn(&str) -> bool) -> anyhow::Result<Vec<Program>> {
    let targets = test_targets()?;
    let chosen =
        targets.iter().map(String::as_str).filter(|name| name.starts_with(PREFIX) && is_chosen(name));
    let started = STARTED.iter().flat_map(|name| ["--bin", name]);
    // One build for both: without test targets, cargo would choose fewer features for the dependencies of the binaries, and build them again.
    let arguments: Vec<&str> = chosen.flat_map(|name| ["--test", name]).chain(started).collect();
    let mut programs = programs::build("build", &arguments)?;
    if chromium::located().is_none() && programs.iter().any(|program| program.name == BROWSER) {
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
    let order = || ALONE.iter().chain(&SLOW);
    order().position(|first| *first == name).unwrap_or_else(|| order().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_must_be_alone_are_first_and_the_longest_follow() {
        let mut names = ["real_docs", "real_operator", "real_bench", "real_occm", "real_chaos"];
        names.sort_by_key(|name| position(name));
        assert_eq!(names, ["real_chaos", "real_bench", "real_occm", "real_operator", "real_docs"]);
    }
}
