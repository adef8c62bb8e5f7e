//! `clouds.yaml`, with `secure.yaml` and `clouds-public.yaml`: where OpenStack's own tools keep clouds and credentials.
//!
//! These files hold passwords, so nothing of them is ever quoted, and their text is zeroised. Which files there are is
//! found by [`Search`]; what they say is put together by [`Documents::entry`], which is pure.

mod entry;
mod search;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

pub use self::{
    entry::{CloudEntry, Documents},
    search::Search,
};

/// The files cannot be used. Nothing in them is quoted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CloudsError {
    /// There is no clouds.yaml.
    #[error("no clouds.yaml was found; looked at {}", .looked.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", "))]
    NoFile {
        /// Where it was looked for.
        looked: Vec<PathBuf>,
    },
    /// A file cannot be read.
    #[error("{}: it cannot be read: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// A file is not what it should be.
    #[error("{file}: it is not the YAML of clouds{place} (not shown, for it may be a secret)")]
    NotClouds {
        /// The file.
        file: String,
        /// Where in it.
        place: String,
    },
    /// Nobody says which cloud.
    #[error("no cloud is chosen, and clouds.yaml has {count}; name one with `cloud` or OS_CLOUD")]
    NoChoice {
        /// How many clouds there are.
        count: usize,
    },
    /// The cloud is not there.
    #[error("clouds.yaml has no cloud {name:?}; it has {}", .known.join(", "))]
    NoCloud {
        /// The cloud.
        name: String,
        /// Those that are there.
        known: Vec<String>,
    },
    /// The cloud refers to a profile that is not there.
    #[error("the cloud {name:?} refers to the profile {profile:?}, which clouds-public.yaml does not have")]
    NoProfile {
        /// The cloud.
        name: String,
        /// The profile.
        profile: String,
    },
}
