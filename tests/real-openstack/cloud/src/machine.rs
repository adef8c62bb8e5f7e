//! What this machine offers: Debian's packages, the right to install them, a Python.
//!
//! What makes the cloud impossible here is [`Unsupported`], so that a caller can leave it out and say why.

use std::fmt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Context;

/// The Debian packages that the cloud needs.
pub(crate) const DEBIAN_PACKAGES: &str = include_str!("../debian.txt");

/// The oldest Python that the locked packages run on.
const PYTHON_MINOR_MIN: u32 = 11;

/// Names the Python to use.
const PYTHON_VARIABLE: &str = "BOWLINE_PYTHON";

/// The cloud cannot run on this machine; the text says why and what would help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported(pub String);

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unsupported {}

/// A Python that can run the cloud.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Python {
    pub(crate) path: PathBuf,
    pub(crate) version: (u32, u32),
}

/// The name of the account we run as.
pub(crate) fn account() -> anyhow::Result<String> {
    id("-un")
}

/// The name of its group.
pub(crate) fn group() -> anyhow::Result<String> {
    id("-gn")
}

fn id(option: &str) -> anyhow::Result<String> {
    let output = Command::new("id").arg(option).output().context("run `id`")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A command with the rights of root: as it is for root, through `sudo -n` for others.
pub(crate) fn as_root(program: &str) -> anyhow::Result<Option<Command>> {
    if account()? == "root" {
        return Ok(Some(Command::new(program)));
    }
    if !succeeds(Command::new("sudo").args(["-n", "true"])) {
        return Ok(None);
    }
    let mut command = Command::new("sudo");
    command.args(["-n", "--preserve-env=DEBIAN_FRONTEND", program]);
    Ok(Some(command))
}

/// The Debian packages that are not installed.
pub(crate) fn missing_packages() -> anyhow::Result<Vec<&'static str>> {
    let output = Command::new("dpkg-query")
        .args(["--show", "--showformat=${Package} ${db:Status-Status}\n"])
        .stderr(Stdio::null())
        .output()
        .map_err(|_| {
            Unsupported("no dpkg-query: the real OpenStack runs on Debian and its derivatives only".into())
        })?;
    Ok(missing(DEBIAN_PACKAGES, &String::from_utf8_lossy(&output.stdout)))
}

/// The wanted packages that a list of `name status` lines does not show as installed.
fn missing<'a>(wanted: &'a str, shown: &str) -> Vec<&'a str> {
    let installed: Vec<&str> = shown.lines().filter_map(|line| line.strip_suffix(" installed")).collect();
    wanted.lines().filter(|package| !installed.contains(package)).collect()
}

/// A Python of at least 3.11: the one that `BOWLINE_PYTHON` names, or the best that is found.
pub(crate) fn python() -> anyhow::Result<Python> {
    let candidates = match std::env::var_os(PYTHON_VARIABLE).filter(|path| !path.is_empty()) {
        Some(path) => vec![PathBuf::from(path)],
        None => python_candidates(),
    };
    candidates.iter().find_map(examine).ok_or_else(|| {
        let tried: Vec<String> = candidates.iter().map(|path| path.display().to_string()).collect();
        let text = format!(
            "no Python 3.{PYTHON_MINOR_MIN} or newer with its venv module; looked for {}. Install one, or name it in \
             {PYTHON_VARIABLE}",
            tried.join(", ")
        );
        Unsupported(text).into()
    })
}

/// 3.12 first, because the cloud was tried most with it.
fn python_candidates() -> Vec<PathBuf> {
    let mut candidates = vec![PathBuf::from("python3.12")];
    let pyenv = std::env::home_dir().map(|home| home.join(".pyenv/versions"));
    let versions = pyenv.and_then(|folder| std::fs::read_dir(folder).ok());
    let found = versions.into_iter().flatten().flatten().map(|entry| entry.path());
    candidates.extend(
        found.filter(|path| path.to_string_lossy().contains("/3.12")).map(|path| path.join("bin/python3")),
    );
    candidates.extend(["python3.13", "python3.11", "python3"].map(PathBuf::from));
    candidates
}

/// The Python behind a path or name, if it will do.
fn examine(path: &PathBuf) -> Option<Python> {
    let question = "import sys, ensurepip, ssl, venv; print(*sys.version_info[:2], sys.executable)";
    let output = Command::new(path).args(["-c", question]).stderr(Stdio::null()).output().ok()?;
    let answer = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let mut words = answer.splitn(3, ' ');
    let version = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let found = Python { path: words.next()?.into(), version };
    (output.status.success() && version >= (3, PYTHON_MINOR_MIN)).then_some(found)
}

/// Whether a command ends well; what it says is of no interest.
fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_that_was_removed_or_is_half_there_is_missing() {
        let shown = "nginx-light installed\nmemcached config-files\nmariadb-server half-installed\n";
        let wanted = "mariadb-server\nmemcached\nnginx-light\novn-host\n";
        assert_eq!(missing(wanted, shown), ["mariadb-server", "memcached", "ovn-host"]);
    }

    #[test]
    fn a_program_that_is_no_python_is_not_taken_for_one() {
        assert_eq!(examine(&PathBuf::from("/bin/echo")), None);
        assert_eq!(examine(&PathBuf::from("/nowhere/python3")), None);
    }
}
