//! Makes sure that a browser is there for the test of the status page: Debian's Chromium.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use crate::run::run_slowly;

/// The browser, if there is one: what the test starts.
pub(crate) fn located() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("chromium")).find(|file| file.is_file())
}

/// Finds it, or installs it where that is possible. Where it is not, the page goes untested, and that is said.
pub(crate) fn ensure() -> anyhow::Result<()> {
    if located().is_none() {
        let mut install = Command::new("apt-get");
        install.args(["install", "--yes", "--quiet", "--no-install-recommends", "chromium"]);
        // In a group of its own: when the tests end early, packages that are half installed would be left behind.
        install.env("DEBIAN_FRONTEND", "noninteractive").process_group(0);
        if let Err(problem) = run_slowly(&mut install, "installing Chromium", "a minute with the download") {
            println!("      NOT TESTED, the status page in a browser: {problem:#}");
        }
    }
    if let Some(place) = located() {
        println!("      {}", place.display());
    }
    Ok(())
}
