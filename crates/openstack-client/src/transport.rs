//! The way to a cloud: any `tower` service that answers HTTP requests, with limits on time and size around it.
//!
//! Nothing here knows OpenStack. A request is sent once; nothing is retried and no redirect is followed.

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

/// The body of every request: it is there as a whole.
pub type Body = Full<Bytes>;

type AnyService = BoxCloneSyncService<Request<Body>, Response<UnsyncBoxBody<Bytes, BoxError>>, BoxError>;

/// How long things may take. Each is a limit of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Name, connection, proxy and TLS together.
    pub connect: Duration,
    /// The longest silence while an answer is awaited or read.
    pub read: Duration,
    /// From sending a request to the last byte of its answer.
    pub total: Duration,
}

impl Timeouts {
    /// Limits for calls that may take this long altogether.
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

/// How the real transport is made.
#[derive(Debug, Clone)]
pub struct TransportOptions {
    /// Whose certificates are believed.
    pub roots: Roots,
    /// Our own certificate.
    pub identity: Option<ClientIdentity>,
    /// Believe any certificate. For test clouds only; a warning is logged.
    pub insecure: bool,
    /// The proxies.
    pub proxies: ProxyVariables,
    /// The limits on time.
    pub timeouts: Timeouts,
    /// Idle connections that are kept per host.
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

/// The transport cannot be made from its options.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// Certificates or keys are of no use.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A proxy is of no use.
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
    /// A transport over any service that answers requests: a simulator, a recording, or a stack of layers.
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

    /// The same transport with another budget for the memory of its answers. For tests.
    #[must_use]
    pub fn with_answer_budget(mut self, memory: AnswerBudget) -> Self {
        self.memory = memory;
        self
    }

    /// The real transport: pooled connections with keep-alive, HTTP/2 where the server offers it.
    ///
    /// # Errors
    ///
    /// [`TransportError`] when certificates, keys or proxies cannot be used.
    pub fn https(options: &TransportOptions) -> Result<Self, TransportError> {
        Ok(Self::new(connector::client(options)?, options.timeouts))
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport").field("timeouts", &self.timeouts).finish_non_exhaustive()
    }
}

/// An error with all that is below it, for a person; bounded.
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
