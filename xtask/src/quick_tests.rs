//! The quick tests: all but those on the real thing, built with the same features as those, so that our crates are built once.

use crate::programs::{self, Program, test_targets};
use crate::real_tests;
use crate::run::run;
use crate::workspace::workspace;

/// Those that take longest, the longest first: started last, each would be waited for alone.
const LONG: [&str; 7] =
    ["playground", "virtual_time", "bowline_openstack", "people", "bowline_manager", "cleanup", "first"];

/// Tests in libraries and programs, the targets that are quick, and those in the documentation of code.
pub(crate) fn run_all() -> anyhow::Result<()> {
    programs::run_all(build()?)?;
    run(&mut workspace("test", &["--doc"]))
}

/// Builds the programs of tests, in the order in which they run.
pub(crate) fn build() -> anyhow::Result<Vec<Program>> {
    let targets = test_targets()?;
    let quick = targets.iter().map(String::as_str).filter(|name| is_quick(name));
    let arguments =
        ["--no-run", "--lib", "--bins"].into_iter().chain(quick.flat_map(|name| ["--test", name]));
    let mut programs = programs::build("test", &arguments.collect::<Vec<_>>())?;
    programs.sort_by_key(|program| position(&program.name));
    Ok(programs)
}

/// Whether a test target needs nothing real.
fn is_quick(target_name: &str) -> bool {
    !target_name.starts_with(real_tests::PREFIX)
}

/// When a program has its turn.
fn position(name: &str) -> usize {
    LONG.iter().position(|first| *first == name).unwrap_or(LONG.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_on_the_real_thing_are_not_quick() {
        assert!(is_quick("recorded") && is_quick("unreal_leases"));
        assert!(!is_quick("real_leases"));
    }

    #[test]
    fn the_longest_programs_are_first() {
        let mut names = ["xtask", "people", "playground"];
        names.sort_by_key(|name| position(name));
        assert_eq!(names, ["playground", "people", "xtask"]);
    }
}
