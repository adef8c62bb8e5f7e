//! The client: one identity in one region of one cloud. Cheap to clone; all clones share token, endpoints and connections.
//!
//! Each call asks the budget, gets the token, finds the endpoint, asks the fence if it changes something, and is sent.
//! After a 401 the token is renewed and the call repeated, once. Nothing else is repeated, unless the handle is a patient one: then
//! what is refused for a moment only is asked for again (`client/patience.rs`).

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
    /// The region of the first endpoint that was used, where none is set.
    region: OnceLock<String>,
    failures: Failures,
}

impl Client {
    /// A client over `transport`. It authenticates with its first call.
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

    /// The same client, whose calls have this priority.
    #[must_use]
    pub fn with_priority(&self, priority: Priority) -> Self {
        Self { priority, ..self.clone() }
    }

    /// The same client, which asks `fence` before each change.
    #[must_use]
    pub fn fenced_by(&self, fence: Arc<dyn WriteFence>) -> Self {
        Self { fence: Some(fence), ..self.clone() }
    }

    /// The same client, which makes a call again, after a moment, that a service refuses for the moment only: any that it is asked to make
    /// some seconds later, and reads also when nobody serves them. For who would have to begin anew otherwise.
    #[must_use]
    pub fn patient(self) -> Self {
        Self { is_patient: true, ..self }
    }

    /// Authenticates if need be, and says who we are to the cloud.
    ///
    /// # Errors
    ///
    /// [`Error`] when Keystone gives no token.
    pub async fn identity(&self) -> Result<TokenIdentity, Error> {
        Ok(self.shared.session.token().await?.identity.clone())
    }

    /// Who we are to the cloud, as far as Keystone stands by it: an error as long as it has refused, or failed, to renew
    /// the token, even if the old one has not run out.
    ///
    /// # Errors
    ///
    /// [`Error`] when Keystone gives no token, or gave none when it was last asked.
    pub async fn undisputed_identity(&self) -> Result<TokenIdentity, Error> {
        Ok(self.shared.session.undisputed_token().await?.identity.clone())
    }

    /// Whether the catalog has an endpoint for `service` that may be used, in the region and the interface that are set.
    ///
    /// # Errors
    ///
    /// [`Error`] when Keystone gives no token.
    pub async fn has(&self, service: Service) -> Result<bool, Error> {
        Ok(matches!(self.offered(service).await?, Offered::Secure | Offered::Insecure { allowed: true }))
    }

    /// The versions that `service` lists at its root.
    ///
    /// # Errors
    ///
    /// [`Error`] when there is no such service or it does not answer so.
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
