//! Kubernetes API clients for a cloud-controller-manager. Each has a name in its user-agent, its own request budget (QPS limit), a deadline
//! on every request except watches, and client-go's metrics.
//!
//! Nothing here retries: callers have a queue with back-off, or an election with its own timing. kube's default retry is switched off,
//! because it would hide a failing API server for minutes.

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

/// The default deadline of a plain request (not a watch), from sending it to the last byte of the response.
pub const DEFAULT_DEADLINE: Duration = Duration::from_secs(30);

/// In place of the git commit in client-go's user-agent; client-go uses this value if it does not know the commit.
const COMMIT: &str = "unknown";

/// Creates a client of a factory, by name, for an API server in memory.
type Memory = Arc<dyn Fn(&ClientFactory, &str) -> Client + Send + Sync>;

/// Creates clients that differ in name and share everything except their request budget.
#[derive(Clone)]
pub struct ClientFactory {
    config: Config,
    /// Creates clients for an API server in memory; `None` for one on the network.
    memory: Option<Memory>,
    agent: String,
    qps: f64,
    burst: u32,
    deadline: Duration,
    memory_of_answers: AnswerBudget,
    metrics: RestMetrics,
}

impl ClientFactory {
    /// A factory for `config` (see [`load_config`]); `binary` and `version` are part of the user-agent.
    ///
    /// Each client may send `qps` requests per second with bursts of `burst`; a `qps` of zero or less disables the limit.
    #[must_use]
    pub fn new(mut config: Config, binary: &str, version: &str, qps: f64, burst: u32) -> Self {
        config.default_retry = false;
        let agent =
            format!("{binary}/{version} ({}/{}) kubernetes/{COMMIT}", std::env::consts::OS, go_arch());
        let (deadline, metrics) = (DEFAULT_DEADLINE, RestMetrics::default());
        let memory_of_answers = AnswerBudget::of_process();
        Self { config, memory: None, agent, qps, burst, deadline, memory_of_answers, metrics }
    }

    /// The same factory with clients that all talk to `server` and open no connection, for a manager in a simulation.
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

    /// The same factory with another memory budget for responses: for clients that must not wait for the responses of others, and for
    /// tests.
    #[must_use]
    pub fn with_answer_budget(mut self, memory: AnswerBudget) -> Self {
        self.memory_of_answers = memory;
        self
    }

    /// The same factory, recording in `metrics`.
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

    /// A client called `name`, with its own request budget.
    ///
    /// # Errors
    ///
    /// If kube cannot build the client: certificates or keys that cannot be parsed, or an unsupported proxy.
    pub fn client(&self, name: &str) -> Result<Client, kube::Error> {
        if let Some(memory) = &self.memory {
            return Ok(memory(self, name));
        }
        Ok(self.finish(name, ClientBuilder::try_from(self.config.clone())?))
    }

    /// A client called `name` over any service, with the same layers as a network client. For tests and simulations.
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

    /// Adds the layers. The wait for the request budget is outermost, so that it does not count towards the deadline. The metrics are
    /// outside of the deadline, so that they record timeouts.
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

    /// The `User-Agent` header of a client called `name`. It has client-go's form and ends in `/<name>`, which audit filters and flow
    /// schemas can use to distinguish the components of a manager.
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

/// Sets the user-agent. A value that is not valid in a header is omitted, because otherwise every request would fail.
fn name_in(agent: String) -> impl Fn(Request<Body>) -> Request<Body> + Clone + Send + 'static {
    let value = HeaderValue::try_from(agent).ok();
    move |mut request| {
        if let Some(value) = &value {
            request.headers_mut().insert(header::USER_AGENT, value.clone());
        }
        request
    }
}

/// Whether `request` stays open by design. Such a request has its own timeout (`timeoutSeconds`).
pub(crate) fn is_watch(request: &Request<Body>) -> bool {
    let query = request.uri().query().unwrap_or_default();
    query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1" | "follow=true"))
}

/// The architecture as Go names it, which operators search for in audit logs.
fn go_arch() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "powerpc64" => "ppc64le",
        other => other,
    }
}
