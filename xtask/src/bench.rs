//! The benchmark of cloud-controller-managers: `bench/`.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use anyhow::Context;

use crate::binaries::Binaries;
use crate::image::{PROFILE, SHIPPED};
use crate::kubernetes;
use crate::run::{cargo, run};

/// Builds what is measured as it is shipped, and the benchmark, and becomes the benchmark: it is the one to be interrupted, and cleans up.
pub(crate) fn bench(arguments: &[OsString]) -> anyhow::Result<()> {
    let here = std::env::current_exe()?;
    let folder = here.parent().and_then(Path::parent).context("the target folder of this program")?;
    let mut arguments = arguments.to_vec();
    if !only_shows(&arguments) {
        kubernetes::ensure()?;
        let occm = Binaries::locate()?.occm;
        arguments = with_ccms(&arguments, &folder.join(PROFILE).join("bowline"), occm.as_deref());
    }
    if arguments.iter().any(|argument| argument.to_string_lossy().starts_with("bowline=")) {
        run(&mut cargo(&SHIPPED))?;
    }
    run(&mut cargo(&["build", "--locked", "--release", "--package", "bowline-bench", "--bin", "ccm-bench"]))?;
    let program = folder.join("release").join("ccm-bench");
    Err(Command::new(program).args(arguments).exec()).context("start the benchmark")
}

/// Whether nothing is to be measured, only what was measured before to be shown: `--with`, and where to, and nothing else.
fn only_shows(arguments: &[OsString]) -> bool {
    let (mut shows, mut is_value) = (false, false);
    for argument in arguments {
        let text = argument.to_string_lossy();
        let (flag, value) = text.split_once('=').map_or((&*text, None), |(flag, value)| (flag, Some(value)));
        match (is_value, flag) {
            (true, _) => is_value = false,
            (false, "--with" | "--out") => {
                shows |= flag == "--with";
                is_value = value.is_none();
            }
            (false, _) => return false,
        }
    }
    shows
}

/// The arguments with `bowline` and `occm` behind `--ccm`, which may have flags of their own, replaced by where those are; ours is
/// measured if no other is named.
fn with_ccms(arguments: &[OsString], ours: &Path, occm: Option<&Path>) -> Vec<OsString> {
    let located = |text: &str| {
        let (name, flags) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let path = match name {
            "bowline" => ours,
            "occm" => occm?,
            _ => return None,
        };
        Some(OsString::from(format!("{name}={} {flags}", path.display()).trim_end()))
    };
    let flag = OsStr::new("--ccm");
    let mut found = Vec::new();
    let mut is_given = false;
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy();
        let subject = match text.strip_prefix("--ccm=") {
            Some(subject) => Some(OsString::from(subject)),
            None if argument == flag => arguments.next().cloned(),
            None => None,
        };
        is_given |= subject.is_some() || argument == "--help";
        match subject {
            Some(subject) => {
                let found_by_name = located(&subject.to_string_lossy());
                found.extend([flag.to_owned(), found_by_name.unwrap_or(subject)]);
            }
            None => found.push(argument.clone()),
        }
    }
    if !is_given {
        found.extend([Some(flag.to_owned()), located("bowline")].into_iter().flatten());
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
        assert_eq!(with(&["--ccm=bowline"]), ["--ccm", "bowline=/t/bowline"]);
        assert_eq!(with(&["--ccm", "bowline --v=2 --x"]), ["--ccm", "bowline=/t/bowline --v=2 --x"]);
        assert_eq!(with(&["--ccm=occm --v=2"]), ["--ccm", "occm=/c/occm --v=2"]);
        assert_eq!(with(&["--ccm=mine=/bowline --v=2"]), ["--ccm", "mine=/bowline --v=2"]);
    }

    #[test]
    fn who_only_wants_to_see_what_was_measured_measures_nothing() {
        let only_shows =
            |arguments: &[&str]| only_shows(&arguments.iter().map(OsString::from).collect::<Vec<_>>());
        assert!(only_shows(&["--with", "old.json"]) && only_shows(&["--with=old.json", "--out", "there"]));
        assert!(!only_shows(&[]) && !only_shows(&["--out", "there"]));
        assert!(!only_shows(&["--with", "old.json", "--nodes", "5"]));
        assert!(!only_shows(&["--with", "old.json", "--ccm=bowline"]));
    }
}
