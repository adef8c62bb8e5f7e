//! The client: one identity in one region of one cloud. Cheap to clone; clones share the token, the endpoints and the connections.
//!
//! A call acquires a permit of the budget, gets the token, resolves the endpoint, checks the fence if it is a mutation, and is sent. After
//! a 401 the token is renewed and the call repeated once. Other errors are not retried, except by clients made with [`Client::patient`],
//! which retry calls that a service refused temporarily (`client/patience.rs`).

mod endpoints;
mod patience;
mod run;
mod settings;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, OnceLock},
};

use http::HeaderValue;
use parking_lot::Mutex;

use self::endpoints::Endpoint;
pub use self::endpoints::Offered;
use self::patience::Failures;
pub use self::settings::{Settings, WallClock};
use crate::{
    Error, Priority, Service, TokenIdentity, Transport, WriteFence,
    auth::Session,
    call::Wire,
    compute::Compute,
    identity::{self, Version},
    key_manager::KeyManager,
    load_balancer::LoadBalancing,
    network::Network,
};

/// A client of a cloud.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
    priority: Priority,
    fence: Option<Arc<dyn WriteFence>>,
    is_patient: bool,
}

struct Shared {
    wire: Arc<Wire>,
    session: Session,
    settings: Settings,
    endpoints: Mutex<BTreeMap<Service, Endpoint>>,
    /// The region of the first endpoint that was resolved; used if no region is configured.
    region: OnceLock<String>,
    failures: Failures,
}

impl Client {
    /// Creates a client over `transport`. It authenticates with its first call.
    #[must_use]
    pub fn new(transport: Transport, settings: Settings) -> Self {
        let user_agent = HeaderValue::try_from(&settings.user_agent).ok();
        let (clock, witness) = (Arc::clone(&settings.clock), Arc::clone(&settings.witness));
        let wire = Arc::new(Wire { transport, user_agent, clock, witness });
        let session =
            Session::new(Arc::clone(&wire), Arc::clone(&settings.budget), settings.credentials.clone());
        let (endpoints, region, failures) = (Mutex::default(), OnceLock::new(), Failures::default());
        Self {
            shared: Arc::new(Shared { wire, session, settings, endpoints, region, failures }),
            priority: Priority::User,
            fence: None,
            is_patient: false,
        }
    }

    /// The same client with another call priority.
    #[must_use]
    pub fn with_priority(&self, priority: Priority) -> Self {
        Self { priority, ..self.clone() }
    }

    /// The same client, which checks `fence` before each mutation.
    #[must_use]
    pub fn fenced_by(&self, fence: Arc<dyn WriteFence>) -> Self {
        Self { fence: Some(fence), ..self.clone() }
    }

    /// The same client, which retries a call that a service refused temporarily: after a short `Retry-After` (a mutation only if the
    /// service certainly did not execute it), and a read also after a 502 or 503 without `Retry-After`. For callers whose work would
    /// otherwise have to start again.
    #[must_use]
    pub fn patient(self) -> Self {
        Self { is_patient: true, ..self }
    }

    /// The identity of the token. Authenticates if necessary.
    ///
    /// # Errors
    ///
    /// [`Error`] if Keystone issues no token.
    pub async fn identity(&self) -> Result<TokenIdentity, Error> {
        Ok(self.shared.session.token().await?.identity.clone())
    }

    /// Like [`Self::identity`], but fails while the last attempt to renew the token has failed, even if the old token is still valid.
    ///
    /// # Errors
    ///
    /// [`Error`] if Keystone issues no token, or if the last token request failed and must not be repeated yet.
    pub async fn undisputed_identity(&self) -> Result<TokenIdentity, Error> {
        Ok(self.shared.session.undisputed_token().await?.identity.clone())
    }

    /// Whether the catalog has a usable endpoint of `service` in the configured region and interface.
    ///
    /// # Errors
    ///
    /// [`Error`] if Keystone issues no token.
    pub async fn has(&self, service: Service) -> Result<bool, Error> {
        Ok(matches!(self.offered(service).await?, Offered::Secure | Offered::Insecure { allowed: true }))
    }

    /// The versions that `service` lists at its root URL.
    ///
    /// # Errors
    ///
    /// [`Error`] if the catalog has no such service or its answer is no list of versions.
    pub async fn versions(&self, service: Service) -> Result<Vec<Version>, Error> {
        let measured = self.shared.settings.metrics.start("version_list");
        measured.end(self.list_versions(service).await)
    }

    async fn list_versions(&self, service: Service) -> Result<Vec<Version>, Error> {
        self.shared.settings.budget.acquire(service, self.priority).await;
        let wire = &self.shared.wire;
        if service == Service::Identity {
            let root = self.shared.settings.credentials.auth_url.without_version();
            return identity::list_versions(wire, service, &root, None).await;
        }
        let token = self.shared.session.token().await?;
        let root = self.published(service, &token)?.1.without_version();
        identity::list_versions(wire, service, &root, Some(&token)).await
    }

    /// Nova.
    #[must_use]
    pub fn compute(&self) -> Compute {
        Compute::new(self.clone())
    }

    /// Neutron.
    #[must_use]
    pub fn network(&self) -> Network {
        Network(self.clone())
    }

    /// Octavia.
    #[must_use]
    pub fn load_balancer(&self) -> LoadBalancing {
        LoadBalancing(self.clone())
    }

    /// Barbican.
    #[must_use]
    pub fn key_manager(&self) -> KeyManager {
        KeyManager(self.clone())
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("settings", &self.shared.settings)
            .field("priority", &self.priority)
            .finish_non_exhaustive()
    }
}
