//! Installs what is missing: Debian's packages, and the locked ones from PyPI into a virtual environment.
//!
//! The environment is complete when the copy of the lock file is there, which is written last; anything else is made anew.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;

use crate::interrupt::Interrupt;
use crate::machine::{Unsupported, as_root, missing_packages, python};
use crate::progress::{Progress, run_logged};
use crate::settings::{LOCK, Settings};

/// What installs the rest, with its version and checksums.
const INSTALLER: &str = include_str!("../installer.txt");
const LOCK_COPY: &str = "installed-requirements.txt";

/// Makes sure that everything is there that the services need.
pub(crate) fn install(settings: &Settings, progress: Progress, interrupt: &Interrupt) -> anyhow::Result<()> {
    install_debian(settings, progress, interrupt)?;
    if is_complete(settings) {
        return Ok(());
    }
    install_python(settings, progress, interrupt)
}

/// Whether exactly the locked packages were installed to their end.
fn is_complete(settings: &Settings) -> bool {
    fs::read_to_string(settings.venv().join(LOCK_COPY)).is_ok_and(|copy| copy == LOCK)
}

fn install_debian(settings: &Settings, progress: Progress, interrupt: &Interrupt) -> anyhow::Result<()> {
    let missing = missing_packages()?;
    if missing.is_empty() {
        return Ok(());
    }
    let packages = missing.join(" ");
    progress.say(&format!("installing Debian packages: {packages}"));
    for arguments in [vec!["update", "--quiet"], install_arguments(&missing)] {
        let mut command = as_root("apt-get")?.ok_or_else(|| {
            Unsupported(format!(
                "these Debian packages are missing, and only root may install them (`sudo -n` asks for a password): run \
                 `sudo apt-get install --no-install-recommends {packages}`"
            ))
        })?;
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        run_logged(&mut command, "apt-get", &settings.log("apt"), interrupt)?;
    }
    progress.say("installed Debian packages");
    Ok(())
}

fn install_arguments<'a>(packages: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["install", "--yes", "--quiet", "--no-install-recommends"];
    arguments.extend(packages);
    arguments
}

fn install_python(settings: &Settings, progress: Progress, interrupt: &Interrupt) -> anyhow::Result<()> {
    let python = python()?;
    let (major, minor) = python.version;
    progress.say(&format!("installing OpenStack from PyPI for Python {major}.{minor}, about half a minute"));
    let log = settings.log("install");
    let installer = settings.folder().join("installer");
    remove(&installer)?;
    remove(&settings.venv())?;
    let locks = [("installer.txt", INSTALLER), ("requirements.txt", LOCK)];
    let [installer_lock, lock] = locks.map(|(name, text)| (settings.folder().join(name), text));
    for (file, text) in [&installer_lock, &lock] {
        fs::write(file, text).with_context(|| format!("write {}", file.display()))?;
    }
    let run = |what: &str, program: PathBuf, arguments: &str, lock: Option<&PathBuf>| {
        let mut command = Command::new(program);
        command.args(arguments.split_whitespace()).current_dir(settings.folder());
        // Compiled now, the modules load faster at every start.
        command.env_remove("PYTHONDONTWRITEBYTECODE").env("UV_SYSTEM_CERTS", "1");
        if let Some(lock) = lock {
            command.arg("-r").arg(lock);
        }
        run_logged(&mut command, &format!("installing {what}"), &log, interrupt)
    };
    run("an environment for uv", python.path.clone(), "-m venv installer", None)?;
    let hashes = "-m pip install --quiet --disable-pip-version-check --require-hashes";
    run("uv", installer.join("bin/python"), hashes, Some(&installer_lock.0))?;
    run("an environment for OpenStack", python.path, "-m venv --without-pip venv", None)?;
    // Two packages come as sources: what builds them is checked against the same lock.
    let packages = "pip install --python venv/bin/python --no-cache --compile-bytecode --require-hashes --build-constraints \
                    requirements.txt";
    run("OpenStack", installer.join("bin/uv"), packages, Some(&lock.0))?;
    fs::write(settings.venv().join(LOCK_COPY), LOCK)?;
    remove(&installer)?;
    progress.say("installed OpenStack");
    Ok(())
}

fn remove(folder: &PathBuf) -> anyhow::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("remove {}", folder.display()))?;
    }
    Ok(())
}
