//! The Kubernetes clients of the process. Each has its own user-agent and its own rate limit; with `--use-service-account-credentials`, the
//! client of each controller also has its own identity.

use bowline_kube::client::{AnswerBudget, ClientFactory, ServiceAccountClients, ServiceAccountError};
use bowline_kube::clock::Clock;
use kube::Client;

/// Memory for responses to an elector, in bytes. An elector sends one request at a time, and a response about a Lease can be up to 1 MiB.
const LEASE_ANSWER_BYTES: usize = 2 << 20;

/// A client could not be created.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    /// The client configuration is invalid.
    #[error("cannot make a client for the API server: {0}")]
    Configuration(#[from] kube::Error),
    /// The credentials of a controller's ServiceAccount could not be obtained.
    #[error(transparent)]
    ServiceAccount(#[from] ServiceAccountError),
}

/// Creates clients. Clones share their state.
#[derive(Clone)]
pub(crate) struct Clients {
    factory: ClientFactory,
    /// Present if each controller uses its own ServiceAccount.
    accounts: Option<ServiceAccountClients>,
}

impl Clients {
    /// Creates clients with `factory`. With `own_accounts`, each controller authenticates as its own ServiceAccount.
    ///
    /// # Errors
    ///
    /// If the client configuration is invalid.
    pub(crate) fn new(factory: ClientFactory, own_accounts: bool, clock: Clock) -> Result<Self, ClientError> {
        let accounts = match own_accounts {
            true => {
                Some(ServiceAccountClients::new(factory.clone(), factory.client("service-accounts")?, clock))
            }
            false => None,
        };
        Ok(Self { factory, accounts })
    }

    /// A client with the identity of the process.
    ///
    /// # Errors
    ///
    /// If the client configuration is invalid.
    pub(crate) fn root(&self, name: &str) -> Result<Client, ClientError> {
        Ok(self.factory.client(name)?)
    }

    /// A client for an elector. It has its own memory limit for responses, so that other responses that never end cannot cost the Lease.
    ///
    /// # Errors
    ///
    /// If the client configuration is invalid.
    pub(crate) fn leader_election(&self) -> Result<Client, ClientError> {
        let factory = self.factory.clone().with_answer_budget(AnswerBudget::new(LEASE_ANSWER_BYTES));
        Ok(factory.client("leader-election")?)
    }

    /// A client for a controller.
    ///
    /// # Errors
    ///
    /// If the client configuration is invalid, or the credentials of the controller's ServiceAccount cannot be obtained.
    pub(crate) async fn controller(&self, name: &str) -> Result<Client, ClientError> {
        match &self.accounts {
            Some(accounts) => Ok(accounts.client(name).await?),
            None => self.root(name),
        }
    }
}
