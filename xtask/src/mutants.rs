//! Whether the quick tests notice a wrong line in the pure parts (planners, rails, intents, decisions): cargo-mutants changes one place at a time.
//!
//! Not part of `cargo xtask test`: each change is a build and a run of the tests of its crate.

use std::process::Command;

use anyhow::{Context, bail};

use crate::cargo_tool::CargoTool;
use crate::run::workspace_root;

const CARGO_MUTANTS: CargoTool = CargoTool {
    name: "cargo-mutants",
    version: "27.1.0",
    features: None,
    usually: "about a minute on two cores",
};

/// The pure parts: they get values and return values, so that a unit test can notice every wrong line. Globs below the crate's `src`.
const PURE: [(&str, &[&str]); 4] = [
    ("bowline-kube", &["lease/plan.rs", "lease/record.rs", "lease/fence.rs", "queue.rs", "queue/*.rs"]),
    ("bowline-controllers", &["rails/*.rs", "rails/*/*.rs", "*/plan.rs", "lifecycle/brake.rs"]),
    (
        "bowline-openstack",
        &[
            "loadbalancer/plan.rs",
            "loadbalancer/plan/*.rs",
            "loadbalancer/intent.rs",
            "loadbalancer/intent/*.rs",
            "loadbalancer/wanted/*.rs",
            "loadbalancer/tenancy/*.rs",
            "loadbalancer/ownership.rs",
        ],
    ),
    (
        "bowline-operator",
        &[
            "migration/*.rs",
            "migration/phase/*.rs",
            "migration/observed/*.rs",
            "apply/plan.rs",
            "rollout/*.rs",
        ],
    ),
];

/// How cargo-mutants says that it was done and tests missed some changes, or that they took too long.
const MISSED: [i32; 2] = [2, 3];

/// Tries the changes in the pure parts of one crate, or of all.
pub(crate) fn mutants(krate: Option<&str>, every: usize) -> anyhow::Result<()> {
    let chosen: Vec<_> =
        PURE.iter().filter(|(name, _globs)| krate.is_none_or(|wanted| wanted == *name)).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = PURE.iter().map(|(name, _globs)| *name).collect();
        bail!("{} has no pure parts; there are {}", krate.unwrap_or_default(), names.join(", "));
    }
    let program = CARGO_MUTANTS.ensure()?;
    let mut missed = Vec::new();
    for (name, globs) in chosen {
        let mut command = Command::new(&program);
        command.args(arguments(name, globs, every)).current_dir(workspace_root());
        let status = command.status().context("run cargo-mutants")?;
        match status.code() {
            Some(0) => {}
            Some(code) if MISSED.contains(&code) => missed.push(*name),
            _ => bail!("cargo-mutants failed for {name} ({status}); what it said is above"),
        }
    }
    if !missed.is_empty() {
        bail!(
            "tests of {} miss changes; they are listed above and in target/mutants/CRATE/mutants.out/missed.txt",
            missed.join(", ")
        );
    }
    Ok(())
}

fn arguments(name: &str, globs: &[&str], every: usize) -> Vec<String> {
    let mut words: Vec<String> = ["mutants", "--package", name, "--output"].map(str::to_owned).into();
    words.push(format!("target/mutants/{name}"));
    words.extend(globs.iter().flat_map(|glob| ["--file".to_owned(), format!("crates/{name}/src/{glob}")]));
    words.extend(["--exclude", "**/tests.rs", "--exclude", "**/tests/**"].map(str::to_owned));
    if every > 1 {
        words.extend(["--sharding", "round-robin", "--shard", &format!("0/{every}")].map(str::to_owned));
    }
    // Only the tests of the library itself: they are what a person runs while changing such a part.
    words.extend(["--", "--lib"].map(str::to_owned));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pure_part_is_there() {
        for (name, globs) in PURE {
            for glob in globs {
                let folder = glob.split('*').next().unwrap_or_default();
                let path = workspace_root().join("crates").join(name).join("src").join(folder);
                assert!(path.exists(), "{} of {name}", path.display());
            }
        }
    }

    #[test]
    fn a_sample_takes_every_nth_change_and_the_tests_of_the_library_alone() {
        let words = arguments("bowline-kube", &["queue.rs"], 12).join(" ");
        for part in ["--file crates/bowline-kube/src/queue.rs", "--shard 0/12"] {
            assert!(words.contains(part), "{part:?} in {words:?}");
        }
        assert!(words.ends_with(" -- --lib"), "{words}");
    }
}
