//! Makes sure that the `openstack` command-line client is there for the test that runs it against the simulator: a virtual
//! environment with exactly the packages that tests/real-openstack/client locks, checksums included.
//!
//! It is complete when the copy of the lock file is there, which is written last; anything else is made anew.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, anyhow, bail};

use crate::binaries::cache_folder;
use crate::client_location::{LOCK, LOCK_COPY, client_folder, client_version, locate};
use crate::run::{run_slowly, workspace_root};

/// The oldest Python that the locked packages run on.
const PYTHON_MINOR_MIN: u32 = 11;

/// Finds the client, or installs it; says where it is. Without a Python that can run it, says that and goes on: then the
/// simulator is tested with everything else.
pub(crate) fn ensure() -> anyhow::Result<()> {
    let cache = cache_folder();
    if locate(&cache).is_err() {
        if let Err(problem) = require_python() {
            println!(
                "      {problem:#}; without it the simulated OpenStack is not tested with the openstack client"
            );
            return Ok(());
        }
        install(&client_folder(&cache))?;
    }
    let client = locate(&cache).map_err(|problem| anyhow!(problem))?;
    println!("      {}", client.display());
    Ok(())
}

fn install(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("remove {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    let what = format!("installing python-openstackclient {}", client_version());
    let mut environment = Command::new("python3");
    environment.args(["-m", "venv"]).arg(folder);
    run_slowly(&mut environment, "making a virtual environment", "a few seconds")?;
    let mut packages = Command::new(folder.join("bin/python"));
    packages.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--require-hashes",
        "-r",
    ]);
    packages.arg(workspace_root().join("tests/real-openstack/client/requirements.txt"));
    run_slowly(&mut packages, &what, "about a minute with the download")?;
    fs::write(folder.join(LOCK_COPY), LOCK)?;
    Ok(())
}

fn require_python() -> anyhow::Result<()> {
    let output = Command::new("python3")
        .args(["-c", "import sys; print(sys.version_info[1])"])
        .stderr(Stdio::null())
        .output()
        .context(
            "run python3; the openstack client needs it: install Python 3.11 or newer with its venv module",
        )?;
    let minor: u32 = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap_or(0);
    if minor < PYTHON_MINOR_MIN {
        bail!("python3 is 3.{minor}; the locked openstack client needs 3.{PYTHON_MINOR_MIN} or newer");
    }
    Ok(())
}
