//! The benchmark of cloud-controller-managers: `bench/`.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use anyhow::Context;

use crate::binaries::Binaries;
use crate::kubernetes;
use crate::run::{cargo, run};

/// Builds what is needed, optimised as it is shipped, and becomes the benchmark: it is the one to be interrupted, and cleans up.
pub(crate) fn bench(arguments: &[OsString]) -> anyhow::Result<()> {
    kubernetes::ensure()?;
    let here = std::env::current_exe()?;
    let folder = here.parent().and_then(Path::parent).context("the target folder of this program")?;
    let folder = folder.join("release");
    let occm = Binaries::locate()?.occm;
    let arguments = with_ccms(arguments, &folder.join("bowline"), occm.as_deref());
    let mut build = vec!["build", "--workspace", "--locked", "--release", "--bin", "ccm-bench"];
    if arguments.iter().any(|argument| argument.to_string_lossy().starts_with("bowline=")) {
        build.extend(["--bin", "bowline"]);
    }
    run(&mut cargo(&build))?;
    Err(Command::new(folder.join("ccm-bench")).args(arguments).exec()).context("start the benchmark")
}

/// The arguments with `--ccm bowline` and `--ccm occm` replaced by where those are; ours is measured if no other is named.
fn with_ccms(arguments: &[OsString], ours: &Path, occm: Option<&Path>) -> Vec<OsString> {
    let located = |name: &str, path: &Path| OsString::from(format!("{name}={}", path.display()));
    let flag = OsStr::new("--ccm");
    let mut found = Vec::new();
    let mut is_ccm = false;
    for argument in arguments {
        found.push(match (is_ccm, argument.to_str(), occm) {
            (true, Some("bowline"), _) => located("bowline", ours),
            (true, Some("occm"), Some(occm)) => located("occm", occm),
            _ => argument.clone(),
        });
        is_ccm = argument == flag;
    }
    let is_given = arguments.iter().any(|argument| {
        argument == flag || argument.to_string_lossy().starts_with("--ccm=") || argument == "--help"
    });
    if !is_given {
        found.extend([flag.to_owned(), located("bowline", ours)]);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(arguments: &[&str]) -> Vec<OsString> {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        with_ccms(&arguments, Path::new("/t/bowline"), Some(Path::new("/c/occm")))
    }

    #[test]
    fn ours_is_measured_unless_another_is_named() {
        assert_eq!(with(&["--nodes", "5"]), ["--nodes", "5", "--ccm", "bowline=/t/bowline"]);
        assert_eq!(with(&["--ccm", "other=/o"]), ["--ccm", "other=/o"]);
    }

    #[test]
    fn ours_and_occm_are_found_by_name() {
        let found = with(&["--ccm", "bowline", "--ccm", "occm"]);
        assert_eq!(found, ["--ccm", "bowline=/t/bowline", "--ccm", "occm=/c/occm"]);
    }
}
