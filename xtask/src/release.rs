//! The files of a release in one folder: images with their SBOMs, the chart, what else is in `deploy/`, and checksums of all of them.
//!
//! It uploads and signs nothing: docs/guides/release.md tells what comes then.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::binaries::cache_folder;
use crate::image::{archive, image};
use crate::run::{run, workspace_root};
use crate::tools_location::helm;

/// The file with the checksums.
const SUMS: &str = "SHA256SUMS";

/// Gathers a release. A binary that is there already is packed in place of one that is built; then there is one architecture.
pub(crate) fn release(architectures: &[String], binary: Option<&Path>, out: &Path) -> anyhow::Result<()> {
    if binary.is_some() && architectures.len() > 1 {
        bail!("one binary is for one architecture, and there are {}", architectures.len());
    }
    if fs::read_dir(out).is_ok_and(|mut files| files.next().is_some()) {
        bail!("{} is not empty; wanted a new folder, so that nothing old is signed", out.display());
    }
    fs::create_dir_all(out).with_context(|| format!("create {}", out.display()))?;
    let out = out.canonicalize().with_context(|| format!("find {}", out.display()))?;
    for architecture in architectures {
        image(architecture, binary, &out)?;
    }
    let chart = chart(&out)?;
    let files = deploy(&out)?;
    println!("      {}\n      {}", chart.display(), files.display());
    sums(&out)
}

/// The chart, which has to be of this version.
fn chart(out: &Path) -> anyhow::Result<PathBuf> {
    let helm = helm(&cache_folder()).map_err(anyhow::Error::msg)?;
    let source = workspace_root().join("deploy/chart");
    run(Command::new(helm).arg("package").arg(source).arg("--destination").arg(out))?;
    let place = out.join(format!("bowline-{}.tgz", env!("CARGO_PKG_VERSION")));
    if !place.is_file() {
        bail!("the chart is not of version {}; change deploy/chart/Chart.yaml", env!("CARGO_PKG_VERSION"));
    }
    Ok(place)
}

/// Manifests, kustomize, alerts and the dashboard, as they are checked in.
fn deploy(out: &Path) -> anyhow::Result<PathBuf> {
    let place = out.join(format!("bowline-{}-deploy.tar", env!("CARGO_PKG_VERSION")));
    archive(&workspace_root().join("deploy"), &place)?;
    run(Command::new("gzip").args(["--no-name", "--best"]).arg(&place))?;
    Ok(place.with_extension("tar.gz"))
}

fn sums(out: &Path) -> anyhow::Result<()> {
    let mut names: Vec<_> =
        fs::read_dir(out)?.map(|entry| entry.map(|entry| entry.file_name())).collect::<Result<_, _>>()?;
    names.sort();
    let output = Command::new("sha256sum").args(&names).current_dir(out).output().context("run sha256sum")?;
    if !output.status.success() {
        bail!("sha256sum failed ({})", output.status);
    }
    fs::write(out.join(SUMS), &output.stdout)?;
    println!("      {}: {} files", out.join(SUMS).display(), names.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_all_files_and_can_be_checked() {
        let folder = std::env::temp_dir().join(format!("bowline-release-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("b"), "two").unwrap();
        fs::write(folder.join("a"), "one").unwrap();
        sums(&folder).unwrap();
        let checked =
            Command::new("sha256sum").args(["--check", SUMS]).current_dir(&folder).output().unwrap();
        assert_eq!(String::from_utf8(checked.stdout).unwrap(), "a: OK\nb: OK\n");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_folder_that_has_something_in_it_and_two_architectures_of_one_binary_are_refused() {
        let folder = std::env::temp_dir().join(format!("bowline-release-old-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("old"), "").unwrap();
        let both = ["amd64", "arm64"].map(str::to_owned);
        let refused =
            |architectures, binary| release(architectures, binary, &folder).unwrap_err().to_string();
        assert!(refused(&both[..1], None).contains("not empty"));
        assert!(refused(&both, Some(Path::new("bowline"))).contains("one architecture"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
