//! The clients of the process: each with a name of its own in the user-agent and a request budget of its own, and with
//! `--use-service-account-credentials`, each controller's with an identity of its own.

use bowline_kube::client::{AnswerBudget, ClientFactory, ServiceAccountClients, ServiceAccountError};
use bowline_kube::clock::Clock;
use kube::Client;

/// Memory for the answers to an elector, which sends one request at a time. An answer about a Lease may have 1 MiB.
const LEASE_ANSWER_BYTES: usize = 2 << 20;

/// A client could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    /// The configuration cannot be used.
    #[error("cannot make a client for the API server: {0}")]
    Configuration(#[from] kube::Error),
    /// A controller's own identity cannot be had.
    #[error(transparent)]
    ServiceAccount(#[from] ServiceAccountError),
}

/// Makes clients. Clones share what they need.
#[derive(Clone)]
pub(crate) struct Clients {
    factory: ClientFactory,
    /// Present if controllers have identities of their own.
    accounts: Option<ServiceAccountClients>,
}

impl Clients {
    /// Clients of `factory`; with `own_accounts`, controllers act as ServiceAccounts of their own.
    ///
    /// # Errors
    ///
    /// If the configuration cannot be used.
    pub(crate) fn new(factory: ClientFactory, own_accounts: bool, clock: Clock) -> Result<Self, ClientError> {
        let accounts = match own_accounts {
            true => {
                Some(ServiceAccountClients::new(factory.clone(), factory.client("service-accounts")?, clock))
            }
            false => None,
        };
        Ok(Self { factory, accounts })
    }

    /// A client with the process's own identity.
    ///
    /// # Errors
    ///
    /// If the configuration cannot be used.
    pub(crate) fn root(&self, name: &str) -> Result<Client, ClientError> {
        Ok(self.factory.client(name)?)
    }

    /// A client for an elector. The memory for its answers is its own: other answers that do not end must not cost the Lease.
    ///
    /// # Errors
    ///
    /// If the configuration cannot be used.
    pub(crate) fn leader_election(&self) -> Result<Client, ClientError> {
        let factory = self.factory.clone().with_answer_budget(AnswerBudget::new(LEASE_ANSWER_BYTES));
        Ok(factory.client("leader-election")?)
    }

    /// A client for a controller.
    ///
    /// # Errors
    ///
    /// If the configuration cannot be used, or the controller's identity cannot be had.
    pub(crate) async fn controller(&self, name: &str) -> Result<Client, ClientError> {
        match &self.accounts {
            Some(accounts) => Ok(accounts.client(name).await?),
            None => self.root(name),
        }
    }
}
