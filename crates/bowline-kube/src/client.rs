//! Clients of the Kubernetes API as a cloud-controller-manager needs them: each with a name in its user-agent, its
//! own request budget, a deadline on every plain request, and client-go's metrics.
//!
//! Nothing here retries: a caller has a queue with back-off, or an election with its own clock. kube's default retry,
//! which would hide a failing server for minutes, is switched off.

mod body;
mod deadline;
mod kubeconfig;
mod load;
mod measure;
mod memory;
mod paths;
mod proxy;
mod readable;
pub mod service_account;
#[cfg(test)]
mod tests;
mod throttle;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body_util::BodyExt;
use kube::{
    Client, Config,
    client::{Body, ClientBuilder},
};
use tower::{BoxError, Service, util::MapRequestLayer};

pub(crate) use self::deadline::TakenApart;
pub(crate) use self::throttle::FencedBy;
pub use self::{
    body::{PassingBody, WholeBody},
    deadline::{DeadlineExceeded, DeadlineLayer, is_deadline},
    load::{ConfigError, load_as_kubectl, load_config},
    measure::{MeasureLayer, RestMetrics},
    memory::{AnswerBudget, AnswerTooLarge},
    proxy::ProxyError,
    readable::{UnreadableAnswer, describe},
    service_account::{ServiceAccountClients, ServiceAccountError},
    throttle::ThrottleLayer,
};

/// How long a plain request may take, from sending it to the last byte of the answer, unless told otherwise.
pub const DEFAULT_DEADLINE: Duration = Duration::from_secs(30);

/// What stands where client-go has the commit it was built from; this is its word for not knowing one.
const COMMIT: &str = "unknown";

/// Makes a client of a factory, by its name, for an API server in memory.
type Memory = Arc<dyn Fn(&ClientFactory, &str) -> Client + Send + Sync>;

/// Makes clients that differ in name and share everything but their request budget.
#[derive(Clone)]
pub struct ClientFactory {
    config: Config,
    /// Where the API server is, if not at the end of a network.
    memory: Option<Memory>,
    agent: String,
    qps: f64,
    burst: u32,
    deadline: Duration,
    memory_of_answers: AnswerBudget,
    metrics: RestMetrics,
}

impl ClientFactory {
    /// A factory for `config` (see [`load_config`]); `binary` and `version` go into the user-agent.
    ///
    /// Each client may send `qps` requests a second with bursts of `burst`; a `qps` of zero or less is no limit.
    #[must_use]
    pub fn new(mut config: Config, binary: &str, version: &str, qps: f64, burst: u32) -> Self {
        config.default_retry = false;
        let agent =
            format!("{binary}/{version} ({}/{}) kubernetes/{COMMIT}", std::env::consts::OS, go_arch());
        let (deadline, metrics) = (DEFAULT_DEADLINE, RestMetrics::default());
        let memory_of_answers = AnswerBudget::of_process();
        Self { config, memory: None, agent, qps, burst, deadline, memory_of_answers, metrics }
    }

    /// The same factory, whose clients all talk to `server` and open no connection: for a manager inside of a simulation.
    #[must_use]
    pub fn in_memory<S, B>(mut self, server: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError> + 'static,
        B: BodyExt<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        self.memory = Some(Arc::new(move |factory, name| factory.wrap(name, server.clone())));
        self
    }

    /// The same factory with another deadline for plain requests.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// The same factory with another budget for the memory of answers: for clients that must not wait for the answers of others, and
    /// for tests.
    #[must_use]
    pub fn with_answer_budget(mut self, memory: AnswerBudget) -> Self {
        self.memory_of_answers = memory;
        self
    }

    /// The same factory, counting into `metrics`.
    #[must_use]
    pub fn with_metrics(mut self, metrics: RestMetrics) -> Self {
        self.metrics = metrics;
        self
    }

    /// The configuration that the clients are made from.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// A client called `name`, with a request budget of its own.
    ///
    /// # Errors
    ///
    /// When kube cannot build its stack: certificates or keys that do not parse, a proxy it cannot use.
    pub fn client(&self, name: &str) -> Result<Client, kube::Error> {
        if let Some(memory) = &self.memory {
            return Ok(memory(self, name));
        }
        Ok(self.finish(name, ClientBuilder::try_from(self.config.clone())?))
    }

    /// A client called `name` over any service, with the same layers as a real one. For tests and simulations.
    pub fn wrap<S, B>(&self, name: &str, service: S) -> Client
    where
        S: Service<Request<Body>, Response = Response<B>> + Send + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError> + 'static,
        B: BodyExt<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        self.finish(name, ClientBuilder::new(service, self.config.default_namespace.clone()))
    }

    /// Puts the layers on: the wait for the budget is outermost, so that it eats nothing of the deadline, and the
    /// metrics are outside the deadline, so that they see it pass.
    fn finish<S, B>(&self, name: &str, builder: ClientBuilder<S>) -> Client
    where
        S: Service<Request<Body>, Response = Response<B>> + Send + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError> + 'static,
        B: BodyExt<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let host = self.config.cluster_url.authority().map_or_else(String::new, ToString::to_string);
        builder
            .with_layer(&DeadlineLayer::new(self.deadline, self.memory_of_answers.clone()))
            .with_layer(&MeasureLayer::new(self.metrics.clone(), host.clone()))
            .with_layer(&ThrottleLayer::new(self.qps, self.burst, self.metrics.clone(), host))
            .with_layer(&MapRequestLayer::new(name_in(self.user_agent(name))))
            .build()
    }

    /// What a client called `name` says in its `User-Agent` header. It has the form of client-go's, and ends in
    /// `/<name>`: audit filters and flow schemas tell the parts of a manager apart by that end.
    #[must_use]
    pub fn user_agent(&self, name: &str) -> String {
        format!("{}/{name}", self.agent)
    }
}

impl fmt::Debug for ClientFactory {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ClientFactory").field("config", &self.config).finish_non_exhaustive()
    }
}

/// Sets the user-agent; one that cannot stand in a header is left out rather than failing every request.
fn name_in(agent: String) -> impl Fn(Request<Body>) -> Request<Body> + Clone + Send + 'static {
    let value = HeaderValue::try_from(agent).ok();
    move |mut request| {
        if let Some(value) = &value {
            request.headers_mut().insert(header::USER_AGENT, value.clone());
        }
        request
    }
}

/// Whether `request` stays open by design. Such a request has a timeout of its own (`timeoutSeconds`).
pub(crate) fn is_watch(request: &Request<Body>) -> bool {
    let query = request.uri().query().unwrap_or_default();
    query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1" | "follow=true"))
}

/// The architecture in Go's words, which are what operators search their audit logs for.
fn go_arch() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "powerpc64" => "ppc64le",
        other => other,
    }
}
