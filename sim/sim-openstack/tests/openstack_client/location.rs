//! Where the `openstack` command-line client is: in the cache folder that `cargo xtask openstack-client` fills.
//!
//! Only looks; it must not install. Uses nothing but `std`, because `xtask` compiles this same file: there is one
//! definition of the version and of the folder.

use std::path::{Path, PathBuf};

/// The packages with their versions and checksums: the one place where they are written.
pub(crate) const LOCK: &str = include_str!("../../../../tests/real-openstack/client/requirements.txt");

/// The name of the copy of the lock file that says what a folder holds. It is written last.
pub(crate) const LOCK_COPY: &str = "installed-requirements.txt";

/// The version of python-openstackclient.
pub(crate) fn client_version() -> &'static str {
    let pinned = LOCK.lines().find_map(|line| line.strip_prefix("python-openstackclient=="));
    pinned.and_then(|rest| rest.split_whitespace().next()).unwrap_or("unknown")
}

/// The virtual environment of the client, below the folder for everything that is too slow to make again.
pub(crate) fn client_folder(cache_folder: &Path) -> PathBuf {
    cache_folder.join(format!("openstack-client-{}", client_version()))
}

/// The client, if exactly the locked packages were installed to their end.
///
/// # Errors
/// When they were not; the message says what to run.
pub(crate) fn locate(cache_folder: &Path) -> Result<PathBuf, String> {
    let folder = client_folder(cache_folder);
    let complete = std::fs::read_to_string(folder.join(LOCK_COPY)).is_ok_and(|copy| copy == LOCK);
    if complete {
        return Ok(folder.join("bin/openstack"));
    }
    Err(format!(
        "no openstack client {} in {}: run `cargo xtask openstack-client`, which installs it there with Python 3.11 or \
         newer",
        client_version(),
        folder.display()
    ))
}
