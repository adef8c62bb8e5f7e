//! For tests: an API server that is a closure. Every test of this crate that needs a server uses it.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use kube::{Client, client::Body};
use serde_json::{Value, json};
use tower::BoxError;

/// One request as the server saw it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Value,
}

pub(crate) type Answer = Result<Response<Full<Bytes>>, BoxError>;

/// All requests so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Journal(Arc<Mutex<Vec<Seen>>>);

impl Journal {
    pub(crate) fn all(&self) -> Vec<Seen> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

/// A service that journals each request and answers as `handler` says.
pub(crate) fn service<H>(
    handler: H,
) -> (
    impl tower::Service<
        Request<Body>,
        Response = Response<Full<Bytes>>,
        Error = BoxError,
        Future = BoxFuture<'static, Answer>,
    > + Send
    + 'static,
    Journal,
)
where
    H: Fn(Seen) -> BoxFuture<'static, Answer> + Send + Sync + 'static,
{
    let journal = Journal::default();
    let written = journal.clone();
    let handler = Arc::new(handler);
    let service = tower::service_fn(move |request: Request<Body>| -> BoxFuture<'static, Answer> {
        let (handler, written) = (Arc::clone(&handler), written.clone());
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let bytes = body.collect().await?.to_bytes();
            let seen = Seen {
                method: head.method,
                path: head.uri.path().to_owned(),
                headers: head.headers,
                body: serde_json::from_slice(&bytes).unwrap_or(Value::Null),
            };
            written.0.lock().unwrap().push(seen.clone());
            handler(seen).await
        })
    });
    (service, journal)
}

/// A bare client (no layers) on such a service.
pub(crate) fn client<H>(handler: H) -> (Client, Journal)
where
    H: Fn(Seen) -> BoxFuture<'static, Answer> + Send + Sync + 'static,
{
    let (service, journal) = service(handler);
    (Client::new(service, "default"), journal)
}

pub(crate) fn ok(body: &Value) -> Answer {
    answer(StatusCode::OK, body)
}

pub(crate) fn answer(code: StatusCode, body: &Value) -> Answer {
    let bytes = serde_json::to_vec(body)?;
    Ok(Response::builder().status(code).body(Full::new(Bytes::from(bytes)))?)
}

/// A failure as the API server reports it.
pub(crate) fn failure(code: u16, reason: &str, message: &str) -> Answer {
    let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message});
    answer(StatusCode::from_u16(code)?, &body)
}
