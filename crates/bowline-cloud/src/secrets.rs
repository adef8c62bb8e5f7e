//! Secrets of the cluster that a cloud's configuration points to. The cloud names one and is given what it holds; who reads
//! it, and how, is not the cloud's to know. No client is in scope here.

use std::collections::BTreeMap;
use std::fmt;

use async_trait::async_trait;
use secrecy::SecretSlice;

/// A Secret, as a configuration names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretReference {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The path of the kubeconfig to read it with; empty is the manager's own access.
    pub kubeconfig: String,
}

impl fmt::Display for SecretReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret {}/{}", self.namespace, self.name)
    }
}

/// What a Secret holds, by key. Shown by no `Debug`, zeroised when dropped.
pub type SecretData = BTreeMap<String, SecretSlice<u8>>;

/// A Secret that could not be read. Nothing of it is quoted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// It is not there.
    #[error("{0} is not there; create it, or correct secret-name and secret-namespace")]
    NotFound(SecretReference),
    /// We may not read it.
    #[error(
        "{0} may not be read; grant `get` (and `list` and `watch`, to see changes at once) on it by its name"
    )]
    Forbidden(SecretReference),
    /// Something else.
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
    /// What the Secret holds now.
    async fn read(&self, reference: &SecretReference) -> Result<SecretData, SecretError>;

    /// Returns when the Secret is no longer as it was when it was last read here.
    async fn changed(&self, reference: &SecretReference);
}
