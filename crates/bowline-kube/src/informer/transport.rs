//! The client an informer talks through: the caller's client with ears, a deadline and a pace.
//!
//! kube's watcher hides quiet reconnects and bookmarks, waits without end for the answer to a list or to the start of a
//! watch, and restarts a watch that ends at once without a pause. Here each of the three is put right, once, below it:
//! every good answer and every frame is noted as contact, every answer has a deadline, watches start at a limited rate.
//! It would have whole pages of a list in memory, several times over: objects are taken out of them as they come.
//! It also passes over half an event in silence, and goes on at an empty version after a bookmark without one: from either on
//! objects would be missing, so a watch that has the one is broken off, and one that asks for the other is sent back to a list.

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

/// Watches that may start in quick succession, as after a rolling restart of API servers.
const WATCH_BURST: u32 = 5;
/// Watches that may start in the long run. A healthy watch lasts a minute; one that ends at once must not be a storm.
const WATCHES_PER_SECOND: f64 = 0.2;

/// An answer that did not come in time.
#[derive(Debug, Clone, Error)]
#[error("no answer from the API server within {} s to GET {path}: is it reachable, is it overloaded?", .after.as_secs())]
struct NoAnswer {
    path: String,
    after: Duration,
}

type HeardBody = UnsyncBoxBody<Bytes, BoxError>;
/// Takes in one object of a list, as it stands in the answer.
pub(super) type Take = Arc<dyn Fn(&str) -> Result<(), serde_json::Error> + Send + Sync>;

/// What an answer consists of.
enum Content {
    List(Items),
    Events(Lines),
    Refusal,
}

impl Content {
    /// What of the bytes is handed on.
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
        // A watch may be quiet for long, and the watcher has a timer for that. A list may not.
        let frame_deadline = (!is_watch).then_some(self.answer_deadline);
        let content = match is_watch {
            true => Content::Events(Lines::default()),
            false if response.status().is_success() => Content::List(Items::default()),
            false => Content::Refusal,
        };
        Ok(response.map(|body| self.hear(body, content, frame_deadline, no_answer)))
    }

    /// Notes every frame of a body as contact, and ends the body with an error if one does not come in time or cannot be.
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

/// Whether a watch is asked for without the version that it begins at.
fn begins_nowhere(request: &Request<Body>) -> bool {
    let query = request.uri().query().unwrap_or_default();
    !query
        .split('&')
        .any(|pair| pair.strip_prefix("resourceVersion=").is_some_and(|version| !version.is_empty()))
}

/// What the API server answers where a version is not known any more: the watcher lists again.
fn gone() -> Result<Response<HeardBody>, BoxError> {
    let status = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","code":410,"reason":"Gone","message":"a bookmark had no version"}"#;
    let body = Full::new(Bytes::from_static(status.as_bytes())).map_err(BoxError::from);
    Ok(Response::builder().status(StatusCode::GONE).body(body.boxed_unsync())?)
}
