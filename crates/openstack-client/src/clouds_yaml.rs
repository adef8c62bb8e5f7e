//! `clouds.yaml`, with `secure.yaml` and `clouds-public.yaml`: the files in which OpenStack's tools keep clouds and credentials.
//!
//! These files contain passwords, so their content is never quoted and the text is zeroised. [`Search`] finds and reads the files;
//! [`Documents::entry`], which is pure, merges them.

mod entry;
mod search;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

pub use self::{
    entry::{CloudEntry, Documents},
    search::Search,
};

/// Why the files cannot be used. The content is not quoted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CloudsError {
    /// No clouds.yaml was found.
    #[error("no clouds.yaml was found; looked at {}", .looked.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", "))]
    NoFile {
        /// The paths that were tried.
        looked: Vec<PathBuf>,
    },
    /// A file cannot be read.
    #[error("{}: it cannot be read: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        why: String,
    },
    /// A file is not valid YAML, or has another structure than a list of clouds.
    #[error("{file}: it is not the YAML of clouds{place} (not shown, for it may be a secret)")]
    NotClouds {
        /// The file.
        file: String,
        /// Line and column; empty if unknown.
        place: String,
    },
    /// No cloud is selected, and the files do not have exactly one.
    #[error("no cloud is chosen, and clouds.yaml has {count}; name one with `cloud` or OS_CLOUD")]
    NoChoice {
        /// The number of clouds in clouds.yaml.
        count: usize,
    },
    /// clouds.yaml has no such cloud.
    #[error("clouds.yaml has no cloud {name:?}; it has {}", .known.join(", "))]
    NoCloud {
        /// The requested cloud.
        name: String,
        /// The clouds in clouds.yaml.
        known: Vec<String>,
    },
    /// The cloud refers to a profile that clouds-public.yaml does not have.
    #[error("the cloud {name:?} refers to the profile {profile:?}, which clouds-public.yaml does not have")]
    NoProfile {
        /// The cloud.
        name: String,
        /// The profile.
        profile: String,
    },
}
