//! The HTTP layer of an informer: wraps the caller's client with contact tracking, timeouts and a rate limit.
//!
//! kube's watcher does not report bookmarks and successful reconnects, waits forever for the response to a list or the start of a watch,
//! and restarts without a pause a watch that ends at once. This layer corrects all three: it records every successful response and every
//! frame as contact, sets a timeout for every response, and limits the rate of watch starts. kube would also hold whole pages of a list in
//! memory, several times; this layer extracts objects while they arrive. kube also skips half an event without an error, and continues at
//! an empty version after a bookmark without a version. In both cases the cache would miss objects, so this layer aborts the watch in the
//! first case and answers with 410 in the second, which makes the watcher list again.

use std::sync::Arc;
use std::time::Duration;

use bowline_core::TokenBucket;
use bytes::Bytes;
use futures::stream;
use http::{Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use thiserror::Error;
use tokio::time::{Instant, timeout};
use tower::{BoxError, service_fn};

use super::health::Contact;
use super::items::Items;
use super::lines::Lines;
use super::metrics::Meter;
use crate::client::{TakenApart, is_watch};

/// The burst of watch starts, for example after a rolling restart of API servers.
const WATCH_BURST: u32 = 5;
/// The long-term rate of watch starts. A healthy watch lasts a minute; watches that end at once must not become a request storm.
const WATCHES_PER_SECOND: f64 = 0.2;

/// A response did not arrive before its deadline.
#[derive(Debug, Clone, Error)]
#[error("no answer from the API server within {} s to GET {path}: is it reachable, is it overloaded?", .after.as_secs())]
struct NoAnswer {
    path: String,
    after: Duration,
}

type HeardBody = UnsyncBoxBody<Bytes, BoxError>;
/// Receives one object of a list as JSON text.
pub(super) type Take = Arc<dyn Fn(&str) -> Result<(), serde_json::Error> + Send + Sync>;

/// The kind of a response, which decides how its body is read.
enum Content {
    List(Items),
    Events(Lines),
    Refusal,
}

impl Content {
    /// Reads bytes of the body and returns those that are passed on to kube.
    fn heard(&mut self, data: Bytes, take: &Take) -> Result<Bytes, BoxError> {
        match self {
            Self::List(items) => Ok(items.take_out(&data, |object| take(object))?.into()),
            Self::Events(lines) => {
                lines.take_in(&data)?;
                Ok(data)
            }
            Self::Refusal => Ok(data),
        }
    }
}

struct Transport {
    client: Client,
    contact: Arc<Contact>,
    meter: Meter,
    answer_deadline: Duration,
    take: Take,
    watch_pace: Mutex<TokenBucket>,
    started: Instant,
}

/// Wraps `client` for one informer.
pub(super) fn wrap(
    client: Client,
    contact: Arc<Contact>,
    meter: Meter,
    answer_deadline: Duration,
    take: Take,
) -> Client {
    let namespace = client.default_namespace().to_owned();
    let transport = Arc::new(Transport {
        client,
        contact,
        meter,
        answer_deadline,
        take,
        watch_pace: Mutex::new(TokenBucket::new(WATCHES_PER_SECOND, WATCH_BURST)),
        started: Instant::now(),
    });
    let service = service_fn(move |request| {
        let transport = Arc::clone(&transport);
        async move { transport.send(request).await }
    });
    Client::new(service, namespace)
}

impl Transport {
    async fn send(self: Arc<Self>, mut request: Request<Body>) -> Result<Response<HeardBody>, BoxError> {
        let is_watch = is_watch(&request);
        if is_watch && begins_nowhere(&request) {
            return gone();
        }
        if is_watch {
            self.keep_pace().await;
            self.meter.watch();
        }
        if !is_watch {
            request.extensions_mut().insert(TakenApart);
        }
        let no_answer = NoAnswer { path: request.uri().path().to_owned(), after: self.answer_deadline };
        let answer = timeout(self.answer_deadline, self.client.send(request)).await;
        let response = answer.map_err(|_| no_answer.clone())??;
        if response.status().is_success() {
            self.contact.heard();
        }
        // A watch may be silent for long, and kube's watcher has a timer for that. A list may not.
        let frame_deadline = (!is_watch).then_some(self.answer_deadline);
        let content = match is_watch {
            true => Content::Events(Lines::default()),
            false if response.status().is_success() => Content::List(Items::default()),
            false => Content::Refusal,
        };
        Ok(response.map(|body| self.hear(body, content, frame_deadline, no_answer)))
    }

    /// Records every frame of a body as contact. The body ends with an error if a frame is late or malformed.
    fn hear(
        self: Arc<Self>,
        body: Body,
        content: Content,
        deadline: Option<Duration>,
        no_answer: NoAnswer,
    ) -> HeardBody {
        let frames = stream::unfold(Some((body, content)), move |rest| {
            let (transport, no_answer) = (Arc::clone(&self), no_answer.clone());
            async move {
                let (mut body, mut content) = rest?;
                let next = match deadline {
                    None => body.frame().await,
                    Some(deadline) => match timeout(deadline, body.frame()).await {
                        Ok(next) => next,
                        Err(_) => return Some((Err(BoxError::from(no_answer)), None)),
                    },
                };
                let frame = match next? {
                    Ok(frame) => frame,
                    Err(error) => return Some((Err(BoxError::from(error)), Some((body, content)))),
                };
                transport.contact.heard();
                let mut broken = None;
                let frame = frame.map_data(|data| match content.heard(data, &transport.take) {
                    Ok(data) => data,
                    Err(error) => {
                        broken = Some(error);
                        Bytes::new()
                    }
                });
                match broken {
                    Some(broken) => Some((Err(broken), None)),
                    None => Some((Ok(frame), Some((body, content)))),
                }
            }
        });
        BodyExt::boxed_unsync(StreamBody::new(frames))
    }

    async fn keep_pace(&self) {
        let now = self.started.elapsed();
        let wait = self.watch_pace.lock().take(now);
        tokio::time::sleep(wait).await;
    }
}

/// Whether a watch request has no resource version to start from.
fn begins_nowhere(request: &Request<Body>) -> bool {
    let query = request.uri().query().unwrap_or_default();
    !query
        .split('&')
        .any(|pair| pair.strip_prefix("resourceVersion=").is_some_and(|version| !version.is_empty()))
}

/// The response of an API server for an expired resource version: the watcher then lists again.
fn gone() -> Result<Response<HeardBody>, BoxError> {
    let status = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","code":410,"reason":"Gone","message":"a bookmark had no version"}"#;
    let body = Full::new(Bytes::from_static(status.as_bytes())).map_err(BoxError::from);
    Ok(Response::builder().status(StatusCode::GONE).body(body.boxed_unsync())?)
}
