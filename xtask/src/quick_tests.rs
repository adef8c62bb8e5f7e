//! The quick tests: all but those on the real thing, built with the same features as those, so that our crates are built once.

use anyhow::Context;
use serde_json::Value;

use crate::programs::{self, Program};
use crate::run::{cargo, run};
use crate::workspace::workspace;

/// How targets on the real thing are named.
const REAL: &str = "real_";
/// Those that take longest, the longest first: started last, each would be waited for alone.
const LONG: [&str; 7] =
    ["playground", "crowd", "bowline_openstack", "people", "bowline_manager", "cleanup", "first"];

/// Tests in libraries and programs, the targets that are quick, and those in the documentation of code.
pub(crate) fn run_all() -> anyhow::Result<()> {
    programs::run_all(build()?)?;
    run(&mut workspace("test", &["--doc"]))
}

/// Builds the programs of tests, in the order in which they run.
pub(crate) fn build() -> anyhow::Result<Vec<Program>> {
    let output = cargo(&["metadata", "--no-deps", "--locked", "--format-version", "1"]).output()?;
    let metadata = serde_json::from_slice(&output.stdout).context("read what `cargo metadata` says")?;
    let targets = targets(&metadata);
    let named = targets.iter().flat_map(|target| ["--test", target]);
    let mut programs = programs::build(&["--lib", "--bins"].into_iter().chain(named).collect::<Vec<_>>())?;
    programs.sort_by_key(|program| position(&program.name));
    Ok(programs)
}

/// When a program has its turn.
fn position(name: &str) -> usize {
    LONG.iter().position(|first| *first == name).unwrap_or(LONG.len())
}

/// The test targets that need nothing beside themselves.
fn targets(metadata: &Value) -> Vec<&str> {
    let list = |value: &'_ Value, key: &str| value.get(key).and_then(Value::as_array).cloned();
    let is_quick = |target: &&Value| {
        list(target, "kind").is_some_and(|kinds| kinds == ["test"])
            && list(target, "required-features").is_none_or(|features| features.is_empty())
    };
    let packages = metadata.get("packages").and_then(Value::as_array).into_iter().flatten();
    let targets = packages.filter_map(|package| package.get("targets").and_then(Value::as_array)).flatten();
    let names = targets.filter(is_quick).filter_map(|target| target.get("name").and_then(Value::as_str));
    names.filter(|name| !name.starts_with(REAL)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_longest_programs_are_first() {
        let mut names = ["xtask", "people", "playground"];
        names.sort_by_key(|name| position(name));
        assert_eq!(names, ["playground", "people", "xtask"]);
    }

    #[test]
    fn targets_on_the_real_thing_and_those_that_need_a_feature_are_not_quick() {
        let metadata = json!({"packages": [
            {"targets": [{"kind": ["lib"], "name": "a"}, {"kind": ["test"], "name": "service"}]},
            {"targets": [
                {"kind": ["test"], "name": "real_ccm", "required-features": ["real-apiserver"]},
                {"kind": ["test"], "name": "live_faults", "required-features": ["real-openstack"]},
                {"kind": ["test"], "name": "recorded"},
            ]},
        ]});
        assert_eq!(targets(&metadata), ["service", "recorded"]);
    }
}
