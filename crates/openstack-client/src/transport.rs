//! The HTTP transport: any `tower` service that answers requests, with limits for time and memory.
//!
//! Independent of OpenStack. Each request is sent once, without retries; redirects are not followed.

mod connector;
mod exchange;
mod memory;
mod proxy;
mod tls;

use std::{error::Error as StdError, fmt, time::Duration};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use hyper::body::Body as HttpBody;
use tower::{BoxError, Service as TowerService, ServiceExt, util::BoxCloneSyncService};

pub use self::memory::AnswerBudget;
pub(crate) use self::{
    exchange::{Answer, ExchangeError},
    memory::AnswerKind,
};
pub use self::{
    proxy::{ProxyError, ProxyVariables},
    tls::{ClientIdentity, Roots, TlsError},
};

/// The body of requests, which is completely in memory.
pub type Body = Full<Bytes>;

type AnyService = BoxCloneSyncService<Request<Body>, Response<UnsyncBoxBody<Bytes, BoxError>>, BoxError>;

/// Timeouts. Each applies independently of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// DNS, TCP, proxy and TLS handshake together.
    pub connect: Duration,
    /// The longest time without data while waiting for an answer or reading it.
    pub read: Duration,
    /// From sending a request to the last byte of its answer.
    pub total: Duration,
}

impl Timeouts {
    /// Timeouts for calls that may take `total` altogether.
    #[must_use]
    pub fn within(total: Duration) -> Self {
        Self { connect: Self::default().connect.min(total), read: total, total }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            read: Duration::from_secs(60),
            total: Duration::from_secs(60),
        }
    }
}

/// The options of [`Transport::https`].
#[derive(Debug, Clone)]
pub struct TransportOptions {
    /// The CA certificates.
    pub roots: Roots,
    /// The client certificate; `None` if the cloud needs none.
    pub identity: Option<ClientIdentity>,
    /// Accept any server certificate. For test clouds only; a warning is logged.
    pub insecure: bool,
    /// The proxies.
    pub proxies: ProxyVariables,
    /// The timeouts.
    pub timeouts: Timeouts,
    /// The number of idle connections that are kept per host.
    pub idle_connections: usize,
}

impl Default for TransportOptions {
    fn default() -> Self {
        Self {
            roots: Roots::System,
            identity: None,
            insecure: false,
            proxies: ProxyVariables::default(),
            timeouts: Timeouts::default(),
            idle_connections: 16,
        }
    }
}

/// The transport cannot be created from its options.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// Certificates or keys are invalid.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A proxy URL is invalid.
    #[error(transparent)]
    Proxy(#[from] ProxyError),
}

/// Sends requests and reads their answers.
#[derive(Clone)]
pub struct Transport {
    service: AnyService,
    timeouts: Timeouts,
    memory: AnswerBudget,
}

impl Transport {
    /// A transport over any service that answers requests, such as a simulator, a recording, or a stack of layers.
    pub fn new<S, B>(service: S, timeouts: Timeouts) -> Self
    where
        S: TowerService<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError>,
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let service = service.map_err(Into::into).map_response(|response: Response<B>| {
            response.map(|body| body.map_err(Into::into).boxed_unsync())
        });
        Self { service: BoxCloneSyncService::new(service), timeouts, memory: AnswerBudget::of_process() }
    }

    /// The same transport with another memory budget for answers. For tests.
    #[must_use]
    pub fn with_answer_budget(mut self, memory: AnswerBudget) -> Self {
        self.memory = memory;
        self
    }

    /// A transport over the network: pooled connections with keep-alive, and HTTP/2 if the server supports it.
    ///
    /// # Errors
    ///
    /// [`TransportError`] if certificates, keys or proxy URLs are invalid.
    pub fn https(options: &TransportOptions) -> Result<Self, TransportError> {
        Ok(Self::new(connector::client(options)?, options.timeouts))
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport").field("timeouts", &self.timeouts).finish_non_exhaustive()
    }
}

/// An error with its causes as one message, truncated.
fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut below = error.source();
    while let Some(cause) = below {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        below = cause.source();
    }
    crate::error::fault::clean(&text, 400)
}
