//! An in-memory API server for the tests of this crate: a tower service whose responses come from a closure.
//!
//! It records every request. `collection` is one such closure: a list-and-watch server with faults. There is only this server; features
//! that a test needs are added here.

mod collection;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use http::{HeaderMap, Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;
use tower::{BoxError, Service};

pub(crate) use collection::{Collection, Fault};

/// A request as received by the server.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) headers: HeaderMap,
    /// `Null` if there is no body.
    pub(crate) body: Value,
}

impl Asked {
    pub(crate) fn param(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }

    pub(crate) fn is_watch(&self) -> bool {
        self.param("watch") == Some("true")
    }
}

/// The response of the server to a request.
pub(crate) enum Answer {
    /// A status and a body.
    Json(u16, Value),
    /// A complete response, for tests that set its headers.
    Whole(Response<Full<Bytes>>),
    /// A delayed response.
    Later(BoxFuture<'static, Answer>),
    /// Lines of a stream, until the channel is closed or the time is over. An error breaks the connection.
    Lines { lines: UnboundedReceiver<Result<Value, BoxError>>, until: Option<Instant> },
    /// The connection is refused.
    Refused,
    /// No response, ever.
    Silence,
}

impl Answer {
    pub(crate) fn ok(body: Value) -> Self {
        Self::Json(200, body)
    }

    pub(crate) fn later(answer: impl Future<Output = Self> + Send + 'static) -> Self {
        Self::Later(answer.boxed())
    }

    /// An error `Status` in the format of the API server.
    pub(crate) fn status(code: u16, reason: &str, message: &str) -> Self {
        Self::Json(code, status(code, reason, message))
    }
}

/// A `Status` object.
pub(crate) fn status(code: u16, reason: &str, message: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message})
}

/// The requests that a scripted server received, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Asked>>>);

impl Log {
    pub(crate) fn all(&self) -> Vec<Asked> {
        self.0.lock().clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.0.lock().len()
    }

    pub(crate) fn lists(&self) -> Vec<Asked> {
        self.all().into_iter().filter(|asked| !asked.is_watch()).collect()
    }

    pub(crate) fn watches(&self) -> Vec<Asked> {
        self.all().into_iter().filter(Asked::is_watch).collect()
    }

    fn push(&self, asked: Asked) {
        self.0.lock().push(asked);
    }
}

type Reply = Result<Response<UnsyncBoxBody<Bytes, BoxError>>, BoxError>;

/// A bare client (no layers) whose server is `answer`, and the log of its requests.
pub(crate) fn client(answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> (Client, Log) {
    let (service, log) = service(answer);
    (Client::new(service, "default"), log)
}

/// The server alone, for a test that adds layers.
pub(crate) fn service(answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> (Server, Log) {
    let log = Log::default();
    (Server { answer: Arc::new(answer), log: log.clone() }, log)
}

/// A server without a network. All clones are the same server.
#[derive(Clone)]
pub(crate) struct Server {
    answer: Arc<dyn Fn(&Asked) -> Answer + Send + Sync>,
    log: Log,
}

impl Service<Request<Body>> for Server {
    type Response = Response<UnsyncBoxBody<Bytes, BoxError>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Reply>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let Self { answer, log } = self.clone();
        async move {
            let asked = read(request).await?;
            log.push(asked.clone());
            respond(answer(&asked)).await
        }
        .boxed()
    }
}

async fn read(request: Request<Body>) -> Result<Asked, BoxError> {
    let (parts, body) = request.into_parts();
    let bytes = body.collect_bytes().await?;
    let pairs = parts.uri.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    Ok(Asked {
        method: parts.method,
        path: parts.uri.path().to_owned(),
        // Sufficient for the tests; percent encoding is not decoded.
        query: pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        headers: parts.headers,
        body: if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes)? },
    })
}

async fn respond(mut answer: Answer) -> Reply {
    while let Answer::Later(coming) = answer {
        answer = coming.await;
    }
    let (code, body) = match answer {
        Answer::Json(code, value) => (code, whole(Full::new(Bytes::from(value.to_string())))),
        Answer::Whole(response) => return Ok(response.map(whole)),
        Answer::Lines { lines, until } => (200, stream_of(lines, until)),
        Answer::Refused => return Err("connection refused".into()),
        Answer::Silence | Answer::Later(_) => std::future::pending().await,
    };
    Ok(Response::builder().status(code).body(body)?)
}

fn whole(body: Full<Bytes>) -> UnsyncBoxBody<Bytes, BoxError> {
    body.map_err(BoxError::from).boxed_unsync()
}

fn stream_of(
    lines: UnboundedReceiver<Result<Value, BoxError>>,
    until: Option<Instant>,
) -> UnsyncBoxBody<Bytes, BoxError> {
    let lines = stream::unfold(lines, move |mut lines| async move {
        let next = match until {
            Some(until) => tokio::time::timeout_at(until, lines.recv()).await.ok()?,
            None => lines.recv().await,
        };
        next.map(|line| (line, lines))
    });
    // A full body of one line yields its frame; naming the frame's type would need another crate.
    let frames = lines.filter_map(|line| async move {
        match line {
            Err(broken) => Some(Err(broken)),
            Ok(value) => {
                Full::new(Bytes::from(format!("{value}\n"))).frame().await.map(|f| f.map_err(BoxError::from))
            }
        }
    });
    StreamBody::new(frames).boxed_unsync()
}
