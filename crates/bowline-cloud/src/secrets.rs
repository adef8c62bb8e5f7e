//! Kubernetes Secrets that the configuration of a cloud refers to. The cloud passes a reference and receives the contents. The Kubernetes
//! client stays outside of this crate.

use std::collections::BTreeMap;
use std::fmt;

use async_trait::async_trait;
use secrecy::SecretSlice;

/// A reference to a Secret, from the configuration.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretReference {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The path of the kubeconfig to read the Secret with; empty for the credentials of the manager.
    pub kubeconfig: String,
}

impl fmt::Display for SecretReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret {}/{}", self.namespace, self.name)
    }
}

/// The contents of a Secret by key. `Debug` does not show them, and they are zeroized when dropped.
pub type SecretData = BTreeMap<String, SecretSlice<u8>>;

/// Why a Secret could not be read. Contains nothing of its contents.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// The Secret does not exist.
    #[error("{0} is not there; create it, or correct secret-name and secret-namespace")]
    NotFound(SecretReference),
    /// The manager has no permission to read the Secret.
    #[error(
        "{0} may not be read; grant `get` (and `list` and `watch`, to see changes at once) on it by its name"
    )]
    Forbidden(SecretReference),
    /// Any other error.
    #[error("{reference} could not be read: {why}")]
    Failed {
        /// The Secret.
        reference: SecretReference,
        /// Why.
        why: String,
    },
}

/// Reads Secrets for a cloud.
#[async_trait]
pub trait SecretReader: Send + Sync {
    /// Reads the current contents.
    async fn read(&self, reference: &SecretReference) -> Result<SecretData, SecretError>;

    /// Returns when the Secret differs from its state at the last [`read`](Self::read), also if it was created or deleted.
    async fn changed(&self, reference: &SecretReference);
}
