//! The live stream: server-sent events with the parts of the page that changed, rendered for the query of each client.
//!
//! The cost is bounded: a limit of streams, at most one rendering per second for each and only after a change, and an end with the process.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures::stream::unfold;
use http::{HeaderValue, StatusCode, header};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::board::StatusPage;
use super::page::parts;
use super::query::Query;
use super::serve::reply;

/// The maximum number of concurrent streams. While things change, each costs one rendering per second.
pub(super) const MOST_STREAMS: usize = 16;

/// How often a stream checks for changes.
const LOOK: Duration = Duration::from_secs(1);

/// How often a stream renders state that changes without a note, such as a rate limit that refills.
const LOOK_ANYWAY: Duration = Duration::from_secs(5);

/// The interval of keep-alive messages, so that proxies do not close the connection as idle.
const STILL_HERE: Duration = Duration::from_secs(15);

/// The longest duration of a stream. The client then reconnects, so that revoked permissions take effect.
const LONGEST: Duration = Duration::from_secs(3600);

/// The content type of a stream.
pub(crate) const EVENT_STREAM: &str = "text/event-stream";

/// Responds with a stream, or with an error if too many streams are open.
pub(super) fn answer(page: &StatusPage, query: Query, shutdown: CancellationToken) -> Response {
    let Ok(place) = page.0.streams.clone().try_acquire_owned() else {
        let text = format!(
            "{MOST_STREAMS} others watch this page live already; reload it to see changes, or try later\n"
        );
        let mut refused = reply(StatusCode::SERVICE_UNAVAILABLE, "text/plain; charset=utf-8", text);
        refused.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("30"));
        return refused;
    };
    let watching = Watching {
        page: page.clone(),
        query,
        shutdown,
        sent: BTreeMap::new(),
        version: None,
        drawn: Instant::now(),
        spoke: Instant::now(),
        ends: Instant::now() + LONGEST,
        _place: place,
    };
    let frames = unfold(Some(watching), |watching| async {
        let mut watching = watching?;
        let frame = watching.next().await;
        let goes_on = frame.is_some().then_some(watching);
        // Sends the last event, then ends the stream.
        let bytes = frame.unwrap_or_else(|| Bytes::from_static(b"event: bye\ndata: {}\n\n"));
        Some((Ok::<_, Infallible>(bytes), goes_on))
    });
    reply(StatusCode::OK, EVENT_STREAM, Body::from_stream(frames))
}

/// The state of one stream.
struct Watching {
    page: StatusPage,
    query: Query,
    shutdown: CancellationToken,
    /// A digest of each part as last sent.
    sent: BTreeMap<&'static str, u64>,
    version: Option<(u64, u64, u64)>,
    drawn: Instant,
    spoke: Instant,
    ends: Instant,
    _place: OwnedSemaphorePermit,
}

impl Watching {
    /// The next frame; `None` at the end of the stream.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.shutdown.is_cancelled() || Instant::now() >= self.ends {
                return None;
            }
            if self.is_due() {
                if let Some(frame) = self.draw() {
                    self.spoke = Instant::now();
                    return Some(frame);
                }
            } else if self.spoke.elapsed() >= STILL_HERE {
                self.spoke = Instant::now();
                return Some(Bytes::from_static(b": still here\n\n"));
            }
            let until = self.shutdown.clone();
            tokio::select! { () = until.cancelled() => {}, () = sleep(LOOK) => {} }
        }
    }

    fn is_due(&self) -> bool {
        self.version != Some(self.page.0.version()) || self.drawn.elapsed() >= LOOK_ANYWAY
    }

    /// Renders the parts that changed since they were last sent.
    fn draw(&mut self) -> Option<Bytes> {
        self.version = Some(self.page.0.version());
        self.drawn = Instant::now();
        let is_first = self.sent.is_empty();
        let overview = self.page.overview(&self.query);
        let mut changed = serde_json::Map::new();
        for part in parts(&overview, &self.query) {
            let (id, content) = (part.id, part.into_content());
            let digest = digest(&content);
            if self.sent.insert(id, digest) != Some(digest) {
                changed.insert(id.to_owned(), content.into());
            }
        }
        let data = serde_json::Value::Object(changed);
        let is_empty = data.as_object().is_some_and(serde_json::Map::is_empty);
        let retry = if is_first { "retry: 2000\n" } else { "" };
        (!is_empty).then(|| format!("{retry}event: parts\ndata: {data}\n\n").into())
    }
}

fn digest(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
