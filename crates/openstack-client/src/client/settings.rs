//! How a client is made: whose it is, where it looks, and who is asked and told.

use std::{fmt, sync::Arc};

use jiff::Timestamp;

use crate::{
    ApiMetrics, Budget, Credentials, Interface, Nobody, PageLimits, Unlimited, Witness, call::system_clock,
};

/// Tells the time of day. Waiting uses tokio's clock; this one only reads dates that services write.
pub type WallClock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// How a client is made.
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
    /// The defaults for these credentials: public endpoints of the first region, no budget.
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

    /// Whether tokens from a Keystone with TLS are sent to endpoints without it. Anybody on the way reads them there.
    #[must_use]
    pub fn insecure_endpoints(mut self, allowed: bool) -> Self {
        self.insecure_endpoints = allowed;
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

    /// Who is told of each request.
    #[must_use]
    pub fn witness(mut self, witness: Arc<dyn Witness>) -> Self {
        self.witness = witness;
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
