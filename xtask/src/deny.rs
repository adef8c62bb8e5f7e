//! The dependencies, judged by cargo-deny with the rules in deny.toml; installs it on first use.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::binaries::cache_folder;
use crate::run::{cargo, run, run_slowly, succeeds_within, workspace_root};

const VERSION: &str = "0.20.2";

/// The advisory database is a git repository of some megabytes.
const FETCH_LIMIT: Duration = Duration::from_secs(60);

/// Checks bans, licences and sources; and advisories, if their database can be reached.
pub(crate) fn deny() -> anyhow::Result<()> {
    let program = ensure_installed()?;
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

/// The one in our cache, or one the developer has; otherwise it is built into the cache.
fn ensure_installed() -> anyhow::Result<PathBuf> {
    let folder = cache_folder().join(format!("tools/cargo-deny-{VERSION}"));
    let cached = folder.join("bin/cargo-deny");
    if let Some(program) = [cached.clone(), PathBuf::from("cargo-deny")].into_iter().find(|path| works(path))
    {
        return Ok(program);
    }
    install(&folder)?;
    Ok(cached)
}

fn works(program: &Path) -> bool {
    let version = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Not optimised: a check takes three seconds either way, and the optimised build takes several times as long.
fn install(folder: &Path) -> anyhow::Result<()> {
    let target = folder.join("target");
    let mut command = cargo(&["install", "cargo-deny", "--version", VERSION, "--locked", "--quiet"]);
    command
        .args(["--debug", "--no-default-features"])
        .arg("--root")
        .arg(folder)
        .arg("--target-dir")
        .arg(&target);
    command.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0");
    let what = format!("installing cargo-deny {VERSION} into {}", folder.display());
    run_slowly(&mut command, &what, "about a minute on two cores")?;
    fs::remove_dir_all(&target)?;
    Ok(())
}

fn in_workspace(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(workspace_root());
    command
}
