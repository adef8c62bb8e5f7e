//! Where the configuration comes from: something that can be read, and that tells when reading again may give something
//! else. [`Site`] is the real one: files, the Secret that they may point to, and the environment.

mod assemble;
mod files;
mod site;
#[cfg(test)]
mod tests;

use async_trait::async_trait;
use bowline_cloud::SecretError;
use openstack_client::AuthOptionsError;
use openstack_client::clouds_yaml::CloudsError;

pub use self::files::{POLL, SETTLE};
pub use self::site::Site;
use super::connection::Configuration;
use super::problem::Problems;

/// Where a configuration comes from.
#[async_trait]
pub trait ConfigSource: Send + Sync {
    /// The configuration as it is now.
    async fn read(&self) -> Result<Configuration, LoadError>;

    /// Returns when it may no longer be what was last read here, also if that failed.
    async fn changed(&self);
}

/// A configuration that cannot be used. Nothing secret is quoted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// No file was given.
    #[error("no configuration was given; name a cloud.conf with --cloud-config")]
    NoFile,
    /// A file cannot be read.
    #[error("{path}: it cannot be read: {why}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        why: String,
    },
    /// The text of cloud.conf is wrong.
    #[error(transparent)]
    Problems(#[from] Problems),
    /// The Secret cannot be read.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The Secret holds nothing of use.
    #[error("{0} has neither `clouds.conf` nor `clouds.yaml`; add one of them")]
    EmptySecret(String),
    /// A Secret is named, but nobody can read it.
    #[error(
        "cloud.conf names {0}, but there is no access to a cluster here; give a kubeconfig, or remove secret-name"
    )]
    NoSecretReader(String),
    /// clouds.yaml cannot be used.
    #[error(transparent)]
    Clouds(#[from] CloudsError),
    /// The interface in clouds.yaml is none.
    #[error("clouds.yaml: interface: wanted public, internal or admin")]
    Interface,
    /// Credentials that cannot be used.
    #[error("credentials: {0}")]
    Auth(#[from] AuthOptionsError),
    /// It took too long, which a Secret can.
    #[error("reading the configuration took longer than {seconds} seconds")]
    Slow {
        /// How long was waited.
        seconds: u64,
    },
    /// Several of these.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Several(Vec<LoadError>),
}

impl LoadError {
    /// Whether a Secret that is named is not there for us, now and until somebody changes that.
    fn says_absent(&self) -> bool {
        use SecretError::{Forbidden, NotFound};
        matches!(
            self,
            Self::Secret(NotFound(_) | Forbidden(_)) | Self::EmptySecret(_) | Self::NoSecretReader(_)
        )
    }
}
