//! The dependencies, judged by cargo-deny with the rules in deny.toml; installs it on first use.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::cargo_tool::CargoTool;
use crate::run::{run, succeeds_within, workspace_root};

const CARGO_DENY: CargoTool = CargoTool {
    name: "cargo-deny",
    version: "0.20.2",
    features: Some(""),
    usually: "about a minute on two cores",
};

/// The advisory database is a git repository of some megabytes.
const FETCH_LIMIT: Duration = Duration::from_secs(60);

/// Checks bans, licences and sources; and advisories, if their database can be reached.
pub(crate) fn deny() -> anyhow::Result<()> {
    let program = CARGO_DENY.ensure()?;
    run(&mut in_workspace(&program, &["check", "--hide-inclusion-graph", "bans", "licenses", "sources"]))?;
    let mut fetch = in_workspace(&program, &["fetch", "db"]);
    if succeeds_within(FETCH_LIMIT, fetch.stdout(Stdio::null()).stderr(Stdio::null()))? {
        run(&mut in_workspace(
            &program,
            &["check", "--hide-inclusion-graph", "--disable-fetch", "advisories"],
        ))
    } else {
        println!("      advisories: skipped, database not reachable");
        Ok(())
    }
}

fn in_workspace(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(workspace_root());
    command
}
