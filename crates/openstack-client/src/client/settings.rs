//! The settings of a client: credentials, endpoint selection, hooks and limits.

use std::{fmt, sync::Arc};

use jiff::Timestamp;

use crate::{
    ApiMetrics, Budget, Credentials, Interface, Nobody, PageLimits, Unlimited, Witness, call::system_clock,
};

/// Returns the current time. Only used to interpret dates from services; pauses use tokio's clock.
pub type WallClock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The settings of a client.
#[derive(Clone)]
pub struct Settings {
    pub(super) credentials: Credentials,
    pub(super) region: Option<String>,
    pub(super) interface: Interface,
    pub(super) insecure_endpoints: bool,
    pub(super) user_agent: String,
    pub(super) metrics: ApiMetrics,
    pub(super) budget: Arc<dyn Budget>,
    pub(super) witness: Arc<dyn Witness>,
    pub(super) clock: WallClock,
    pub(super) pages: PageLimits,
}

impl Settings {
    /// Defaults for these credentials: public endpoints in the first region of the catalog, no rate limit.
    #[must_use]
    pub fn new(credentials: Credentials) -> Self {
        Self {
            credentials,
            region: None,
            interface: Interface::Public,
            insecure_endpoints: false,
            user_agent: concat!("openstack-client/", env!("CARGO_PKG_VERSION")).to_owned(),
            metrics: ApiMetrics::default(),
            budget: Arc::new(Unlimited),
            witness: Arc::new(Nobody),
            clock: system_clock(),
            pages: PageLimits::default(),
        }
    }

    /// The region of the endpoints; empty means any.
    #[must_use]
    pub fn region(mut self, region: impl Into<String>) -> Self {
        self.region = Some(region.into()).filter(|region| !region.is_empty());
        self
    }

    /// The interface of the endpoints.
    #[must_use]
    pub fn interface(mut self, interface: Interface) -> Self {
        self.interface = interface;
        self
    }

    /// Whether tokens from a Keystone with TLS are sent to endpoints without TLS, where they can be read on the network. Default: false.
    #[must_use]
    pub fn insecure_endpoints(mut self, allowed: bool) -> Self {
        self.insecure_endpoints = allowed;
        self
    }

    /// The `User-Agent` of requests.
    #[must_use]
    pub fn user_agent(mut self, agent: impl Into<String>) -> Self {
        self.user_agent = agent.into();
        self
    }

    /// The metrics that count calls.
    #[must_use]
    pub fn metrics(mut self, metrics: ApiMetrics) -> Self {
        self.metrics = metrics;
        self
    }

    /// The rate limiter that is asked before each call.
    #[must_use]
    pub fn budget(mut self, budget: Arc<dyn Budget>) -> Self {
        self.budget = budget;
        self
    }

    /// The observer that is notified of each request.
    #[must_use]
    pub fn witness(mut self, witness: Arc<dyn Witness>) -> Self {
        self.witness = witness;
        self
    }

    /// The wall clock; replaced in tests.
    #[must_use]
    pub fn clock(mut self, clock: WallClock) -> Self {
        self.clock = clock;
        self
    }

    /// The limits for reading lists.
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
