//! The client: one identity in one region of one cloud. Cheap to clone; all clones share token, endpoints and connections.
//!
//! Each call asks the budget, gets the token, finds the endpoint, asks the fence if it changes something, and is sent.
//! After a 401 the token is renewed and the call repeated, once. Nothing else is ever repeated here.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use http::{HeaderName, HeaderValue, StatusCode};
use jiff::Timestamp;
use serde::de::DeserializeOwned;

use crate::{
    ApiMetrics, Budget, Credentials, Error, ErrorClass, Interface, Outcome, PageLimits, Priority, Service,
    TokenIdentity, Transport, Unlimited, WriteFence,
    auth::{Session, Token},
    base_url::BaseUrl,
    call::{Call, Wire, system_clock},
    compute::Compute,
    decode,
    error::RequestLine,
    identity::{self, Version, not_understood},
    key_manager::KeyManager,
    load_balancer::LoadBalancing,
    network::Network,
    paging::{Listed, Pages},
    transport::Answer,
};

/// Tells the time of day. Waiting uses tokio's clock; this one only reads dates that services write.
pub type WallClock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// How long a service is left alone that says "too many requests" and not for how long.
const UNSAID_PAUSE: Duration = Duration::from_secs(5);

/// How a client is made.
#[derive(Clone)]
pub struct Settings {
    credentials: Credentials,
    region: Option<String>,
    interface: Interface,
    user_agent: String,
    metrics: ApiMetrics,
    budget: Arc<dyn Budget>,
    clock: WallClock,
    pages: PageLimits,
}

impl Settings {
    /// The defaults for these credentials: public endpoints of the first region, no budget.
    #[must_use]
    pub fn new(credentials: Credentials) -> Self {
        Self {
            credentials,
            region: None,
            interface: Interface::Public,
            user_agent: concat!("openstack-client/", env!("CARGO_PKG_VERSION")).to_owned(),
            metrics: ApiMetrics::default(),
            budget: Arc::new(Unlimited),
            clock: system_clock(),
            pages: PageLimits::default(),
        }
    }

    /// Endpoints of this region; empty is any.
    #[must_use]
    pub fn region(mut self, region: impl Into<String>) -> Self {
        self.region = Some(region.into()).filter(|region| !region.is_empty());
        self
    }

    /// Endpoints of this interface.
    #[must_use]
    pub fn interface(mut self, interface: Interface) -> Self {
        self.interface = interface;
        self
    }

    /// What requests say in `User-Agent`.
    #[must_use]
    pub fn user_agent(mut self, agent: impl Into<String>) -> Self {
        self.user_agent = agent.into();
        self
    }

    /// Where calls are counted.
    #[must_use]
    pub fn metrics(mut self, metrics: ApiMetrics) -> Self {
        self.metrics = metrics;
        self
    }

    /// Who is asked before each call.
    #[must_use]
    pub fn budget(mut self, budget: Arc<dyn Budget>) -> Self {
        self.budget = budget;
        self
    }

    /// The wall clock.
    #[must_use]
    pub fn clock(mut self, clock: WallClock) -> Self {
        self.clock = clock;
        self
    }

    /// How lists are read.
    #[must_use]
    pub fn pages(mut self, pages: PageLimits) -> Self {
        self.pages = pages;
        self
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("credentials", &self.credentials)
            .field("region", &self.region)
            .field("interface", &self.interface)
            .finish_non_exhaustive()
    }
}

/// A client of a cloud.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
    priority: Priority,
    fence: Option<Arc<dyn WriteFence>>,
}

struct Shared {
    wire: Arc<Wire>,
    session: Session,
    settings: Settings,
    endpoints: Mutex<BTreeMap<Service, Endpoint>>,
}

/// A success, and what it answers.
pub(crate) struct Answered {
    pub(crate) answer: Answer,
    line: RequestLine,
}

impl Answered {
    /// The error that it is after all.
    pub(crate) fn not_understood(&self, why: &str, what: &str) -> Error {
        not_understood(&self.answer, why, what).at(self.line.clone())
    }
}

/// Where a service lives, and what the catalog said when that was found out.
#[derive(Clone)]
struct Endpoint {
    published: String,
    base: BaseUrl,
}

impl Client {
    /// A client over `transport`. It authenticates with its first call.
    #[must_use]
    pub fn new(transport: Transport, settings: Settings) -> Self {
        let user_agent = HeaderValue::try_from(&settings.user_agent).ok();
        let wire = Arc::new(Wire { transport, user_agent, clock: Arc::clone(&settings.clock) });
        let session =
            Session::new(Arc::clone(&wire), Arc::clone(&settings.budget), settings.credentials.clone());
        let endpoints = Mutex::default();
        Self {
            shared: Arc::new(Shared { wire, session, settings, endpoints }),
            priority: Priority::User,
            fence: None,
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

    /// Authenticates if need be, and says who we are to the cloud.
    ///
    /// # Errors
    ///
    /// [`Error`] when Keystone gives no token.
    pub async fn identity(&self) -> Result<TokenIdentity, Error> {
        Ok(self.shared.session.token().await?.identity.clone())
    }

    /// Whether the catalog has `service` in the region and the interface that are set.
    ///
    /// # Errors
    ///
    /// [`Error`] when Keystone gives no token.
    pub async fn has(&self, service: Service) -> Result<bool, Error> {
        let token = self.shared.session.token().await?;
        let settings = &self.shared.settings;
        Ok(token.catalog.find(service, settings.interface, settings.region.as_deref()).is_ok())
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
        let root = match service {
            Service::Identity => self.shared.settings.credentials.auth_url.without_version(),
            _ => self.published(service, &*self.shared.session.token().await?)?.1.without_version(),
        };
        identity::list_versions(&self.shared.wire, service, &root).await
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

    /// Makes a call whose answer says nothing.
    pub(crate) async fn done(&self, call: Call) -> Result<(), Error> {
        let measured = self.shared.settings.metrics.start(call.request);
        measured.end(self.run(&call).await.map(drop))
    }

    /// Makes a call whose answer holds a `T` below `key`.
    pub(crate) async fn fetch<T: DeserializeOwned>(&self, call: Call, key: &'static str) -> Result<T, Error> {
        let measured = self.shared.settings.metrics.start(call.request);
        let fetched = async {
            let answered = self.run(&call).await?;
            decode::unwrap(&answered.answer.body, key).map_err(|why| answered.not_understood(&why, key))
        };
        measured.end(fetched.await)
    }

    /// Makes a call whose answer is a list in pages.
    pub(crate) fn pages<T: Listed>(&self, call: Call) -> Pages<T> {
        Pages::new(self.clone(), call, self.shared.settings.pages)
    }

    pub(crate) fn metrics(&self) -> &ApiMetrics {
        &self.shared.settings.metrics
    }

    /// Makes a call, and once more with a new token if the one it had is refused.
    pub(crate) async fn run(&self, call: &Call) -> Result<Answered, Error> {
        let budget = &self.shared.settings.budget;
        budget.acquire(call.service, self.priority).await;
        let token = self.shared.session.token().await?;
        let (answer, base) = self.send(call, &token).await?;
        let (answer, base, token) = if answer.status == StatusCode::UNAUTHORIZED {
            let token = self.shared.session.renew(&token).await?;
            budget.acquire(call.service, self.priority).await;
            let (answer, base) = self.send(call, &token).await?;
            (answer, base, token)
        } else {
            (answer, base, token)
        };
        if call.ok.contains(&answer.status.as_u16()) {
            return Ok(Answered { answer, line: call.line(base.path()) });
        }
        let error =
            self.shared.wire.judge(call.service, &answer, Some(token.secret())).at(call.line(base.path()));
        if error.class() == ErrorClass::Throttled {
            budget.throttled(call.service, error.retry_after().unwrap_or(UNSAID_PAUSE));
        }
        Err(error)
    }

    async fn send(&self, call: &Call, token: &Token) -> Result<(Answer, BaseUrl), Error> {
        let base = self.endpoint(call.service, token).await?;
        let line = call.line(base.path());
        let mut headers = call.headers.clone();
        let value = token.header().map_err(|why| Error::invalid(why).at(line.clone()))?;
        headers.insert(HeaderName::from_static("x-auth-token"), value);
        if let Some(fence) = self.fence.as_ref().filter(|_| call.is_mutation()) {
            // Nothing waits between the answer and the sending.
            fence.check().map_err(|closed| {
                Error::new(ErrorClass::Fenced, Outcome::NotSent, format!("not writing: {}", closed.0))
                    .at(line.clone())
            })?;
        }
        let uri = base.uri(&call.path, &call.query_text());
        let answer = self.shared.wire.send(&line, uri, headers, call.body.clone()).await?;
        Ok((answer, base))
    }

    /// Where the resources of `service` live. Asked of the catalog of the newest token, so that a cloud may move.
    async fn endpoint(&self, service: Service, token: &Token) -> Result<BaseUrl, Error> {
        if service == Service::Identity {
            return self.shared.session.keystone().await;
        }
        let (published, url) = self.published(service, token)?;
        if let Some(known) = self.known_endpoint(service, published) {
            return Ok(known);
        }
        let base = self.resolve(service, url).await?;
        let endpoint = Endpoint { published: published.to_owned(), base: base.clone() };
        self.shared.endpoints.lock().unwrap_or_else(PoisonError::into_inner).insert(service, endpoint);
        Ok(base)
    }

    fn known_endpoint(&self, service: Service, published: &str) -> Option<BaseUrl> {
        let endpoints = self.shared.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        endpoints.get(&service).filter(|known| known.published == published).map(|known| known.base.clone())
    }

    fn published<'t>(&self, service: Service, token: &'t Token) -> Result<(&'t str, BaseUrl), Error> {
        let settings = &self.shared.settings;
        let url = token
            .catalog
            .find(service, settings.interface, settings.region.as_deref())
            .map_err(|why| Error::new(ErrorClass::Unsupported, Outcome::NotSent, why))?;
        let base = BaseUrl::parse(&format!("the {service} endpoint in the catalog"), url)
            .map_err(|error| Error::invalid(error.to_string()))?;
        Ok((url, base))
    }

    /// The base below which resources live. An endpoint may be published with its version or without.
    async fn resolve(&self, service: Service, url: BaseUrl) -> Result<BaseUrl, Error> {
        if let Some(major) = url.major().filter(|major| *major != service.major()) {
            let wanted = service.major();
            return Err(Error::new(
                ErrorClass::Unsupported,
                Outcome::NotSent,
                format!("the catalog publishes version {major} of {service}, but version {wanted} is needed"),
            ));
        }
        match service {
            // Nova's version may be v2 or v2.1, and may be followed by the project.
            Service::Compute if url.major().is_some() => Ok(url),
            Service::Compute => {
                self.shared.settings.budget.acquire(service, self.priority).await;
                let versions = identity::list_versions(&self.shared.wire, service, &url).await?;
                let fitting = versions.iter().filter(|version| version.major() == Some(service.major()));
                let best = fitting.max_by_key(|version| (version.status.is_usable(), version.number()));
                let best = best.ok_or_else(|| {
                    let message = format!("{url} lists no version {} of {service}", service.major());
                    Error::new(ErrorClass::Unsupported, Outcome::Refused, message)
                })?;
                Ok(url.with_segment(best.segment.as_deref().unwrap_or(service.version_segment())))
            }
            _ => Ok(url.without_version().with_segment(service.version_segment())),
        }
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
