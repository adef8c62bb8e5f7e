//! The clients of the process: each with a name of its own in the user-agent and a request budget of its own.

use bowline_kube::client::ClientFactory;
use kube::Client;

/// A client could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    /// The configuration cannot be used.
    #[error("cannot make a client for the API server: {0}")]
    Configuration(#[from] kube::Error),
}

/// Makes clients. Clones share what they need.
#[derive(Clone)]
pub(crate) struct Clients {
    factory: ClientFactory,
}

impl Clients {
    /// All clients have the identity of the configuration.
    #[must_use]
    pub(crate) fn new(factory: ClientFactory) -> Self {
        Self { factory }
    }

    /// A client with the process's own identity.
    ///
    /// # Errors
    ///
    /// If the configuration cannot be used.
    pub(crate) fn root(&self, name: &str) -> Result<Client, ClientError> {
        Ok(self.factory.client(name)?)
    }

    /// A client for a controller.
    ///
    /// # Errors
    ///
    /// If the configuration cannot be used.
    pub(crate) async fn controller(&self, name: &str) -> Result<Client, ClientError> {
        self.root(name)
    }
}
