//! Clients that act as ServiceAccounts (`--use-service-account-credentials`), so that each controller needs only its own RBAC permissions
//! and has its own name in the audit log.
//!
//! The root identity creates the accounts and requests their tokens. These clients use neither its token nor its certificate. A token is
//! never logged, and no `Debug` output contains it.

#[cfg(test)]
mod tests;
mod token;

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use kube::{
    Client, Config,
    client::{Body, ClientBuilder},
    config::AuthInfo,
};
use parking_lot::RwLock;
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};
use tokio_util::sync::{CancellationToken, DropGuard};
use tower::{
    BoxError, Service,
    util::{MapRequestLayer, MapResponseLayer},
};

pub use self::token::ServiceAccountError;
use self::token::{Grant, Grantor};
use super::ClientFactory;
use crate::clock::Clock;

/// The namespace of the ServiceAccounts, as upstream.
pub const NAMESPACE: &str = "kube-system";
/// The pause between two rounds of requesting a token: an API server in trouble must not be overloaded, and the last fifth of a token's
/// life has room for many rounds.
const PAUSE: Duration = Duration::from_secs(30);

/// Creates clients that act as ServiceAccounts in [`NAMESPACE`].
#[derive(Clone)]
pub struct ServiceAccountClients {
    factory: ClientFactory,
    grantor: Grantor,
}

impl ServiceAccountClients {
    /// Clients like those of `factory`, but with tokens that `root` requests. `root` should be a client of the same factory, so that its
    /// requests have a deadline. `clock` is used to compute the remaining life of a token.
    #[must_use]
    pub fn new(factory: ClientFactory, root: Client, clock: Clock) -> Self {
        Self { factory, grantor: Grantor::new(root, clock) }
    }

    /// A client that acts as the ServiceAccount `name`, which is created if it does not exist.
    ///
    /// A background task renews its token; the task ends when the last clone of the client is dropped.
    ///
    /// # Errors
    ///
    /// [`ServiceAccountError`] after four attempts, or if kube cannot build the client.
    pub async fn client(&self, name: &str) -> Result<Client, ServiceAccountError> {
        let builder = ClientBuilder::try_from(without_identity(self.factory.config())).map_err(|source| {
            ServiceAccountError::Stack { name: name.to_owned(), source: Box::new(source) }
        })?;
        self.finish(name, builder).await
    }

    /// Same as [`Self::client`], over any service. For tests and simulations.
    ///
    /// # Errors
    ///
    /// Same as [`Self::client`].
    pub async fn wrap<S, B>(&self, name: &str, service: S) -> Result<Client, ServiceAccountError>
    where
        S: Service<Request<Body>, Response = Response<B>> + Send + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError> + 'static,
        B: BodyExt<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        self.finish(name, ClientBuilder::new(service, self.factory.config().default_namespace.clone())).await
    }

    /// The token layer is innermost, so that a request that waited for its budget carries the latest token.
    async fn finish<S, B>(&self, name: &str, builder: ClientBuilder<S>) -> Result<Client, ServiceAccountError>
    where
        S: Service<Request<Body>, Response = Response<B>> + Send + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError> + 'static,
        B: BodyExt<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let credential = self.credential(name).await?;
        let builder = builder
            .with_layer(&MapRequestLayer::new(sign(Arc::clone(&credential))))
            .with_layer(&MapResponseLayer::new(heed_refusal::<B>(credential)));
        Ok(self.factory.finish(&format!("system:serviceaccount:{NAMESPACE}:{name}"), builder))
    }

    async fn credential(&self, name: &str) -> Result<Arc<Credential>, ServiceAccountError> {
        let grant = self.grantor.grant(name).await?;
        let end = CancellationToken::new();
        let credential = Arc::new(Credential {
            header: RwLock::new(grant.header),
            refused: Arc::default(),
            _end: end.clone().drop_guard(),
        });
        let keeper = Keeper {
            name: name.to_owned(),
            grantor: self.grantor.clone(),
            credential: Arc::downgrade(&credential),
            refused: Arc::clone(&credential.refused),
        };
        let fresh_for = grant.fresh_for;
        tokio::spawn(async move { end.run_until_cancelled(keeper.keep(fresh_for)).await });
        Ok(credential)
    }
}

impl std::fmt::Debug for ServiceAccountClients {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServiceAccountClients").field("host", &self.factory.config().cluster_url).finish()
    }
}

/// The credentials of one client. The client owns it; dropping it ends the task that renews it.
struct Credential {
    header: RwLock<HeaderValue>,
    refused: Arc<Notify>,
    _end: DropGuard,
}

/// Renews the credentials of one client.
struct Keeper {
    name: String,
    grantor: Grantor,
    credential: Weak<Credential>,
    refused: Arc<Notify>,
}

impl Keeper {
    /// Renews the token when it reaches its renewal time or is refused. Until that succeeds, the old token stays in use.
    async fn keep(self, mut fresh_for: Duration) {
        loop {
            sleep(fresh_for.min(PAUSE)).await;
            // A refusal means that the account or the signing key of the API server was replaced: waiting would not help.
            drop(timeout(fresh_for.saturating_sub(PAUSE), self.refused.notified()).await);
            fresh_for = match self.grantor.grant(&self.name).await {
                Ok(grant) => self.replace(grant),
                Err(error) => {
                    tracing::warn!(account = self.name, %error, "cannot renew a token; the old one stays in use");
                    PAUSE
                }
            };
        }
    }

    fn replace(&self, grant: Grant) -> Duration {
        if let Some(credential) = self.credential.upgrade() {
            *credential.header.write() = grant.header;
        }
        grant.fresh_for
    }
}

fn sign(credential: Arc<Credential>) -> impl Fn(Request<Body>) -> Request<Body> + Clone + Send + 'static {
    move |mut request| {
        let header = credential.header.read().clone();
        request.headers_mut().insert(header::AUTHORIZATION, header);
        request
    }
}

/// Wakes the renewal task when the API server does not accept the token.
fn heed_refusal<B>(
    credential: Arc<Credential>,
) -> impl Fn(Response<B>) -> Response<B> + Clone + Send + 'static {
    move |response| {
        if response.status() == StatusCode::UNAUTHORIZED {
            credential.refused.notify_one();
        }
        response
    }
}

/// The configuration without credentials.
fn without_identity(config: &Config) -> Config {
    let mut config = config.clone();
    config.auth_info = AuthInfo::default();
    config
}
