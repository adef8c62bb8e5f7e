//! One connection from accept to close: TLS handshake, HTTP, timeouts, drain. It knows no endpoint.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::response::Response;
use bytes::Bytes;
use futures::Stream;
use http::{Request, header};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use parking_lot::Mutex;
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::filters::{Chain, KnownCaller, too_many_requests};
use crate::serving::admission::Place;
use crate::serving::config::ServingTimings;
use crate::status::EVENT_STREAM;

/// The limit of a request's headers in bytes. The longest legitimate ones have a token or the headers of a front proxy, a few KiB.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// The HTTP/2 flow-control window in bytes: how much a client may send on a connection or on a stream before it is read. No endpoint reads
/// more than a few bytes.
const HTTP2_WINDOW_BYTES: u32 = 64 * 1024;

/// The state that all connections of a server share.
pub(in crate::serving) struct Connections {
    pub(in crate::serving) acceptor: TlsAcceptor,
    pub(in crate::serving) chain: Arc<Chain>,
    pub(in crate::serving) timings: ServingTimings,
    pub(in crate::serving) http2_max_streams: u32,
}

impl Connections {
    /// Serves `stream` until it ends, is idle for too long, or `drain` is cancelled and its requests are done.
    pub(in crate::serving) async fn serve(
        &self,
        stream: TcpStream,
        place: &Arc<Place>,
        drain: CancellationToken,
    ) {
        let handshake = timeout(self.timings.handshake_timeout, self.acceptor.accept(stream));
        let tls = tokio::select! {
            () = drain.cancelled() => return,
            done = handshake => match done {
                Ok(Ok(tls)) => tls,
                Ok(Err(error)) => return debug!(%error, "TLS handshake failed"),
                Err(_elapsed) => return debug!("TLS handshake took too long"),
            },
        };
        let session = tls.get_ref().1;
        let certificates: Arc<[CertificateDer<'static>]> = session
            .peer_certificates()
            .unwrap_or_default()
            .iter()
            .cloned()
            .map(CertificateDer::into_owned)
            .collect();
        let http2 = session.alpn_protocol() == Some(b"h2".as_slice());
        let activity = Arc::new(Activity::new(http2));
        let (chain, seen, place) = (Arc::clone(&self.chain), Arc::clone(&activity), Arc::clone(place));
        let service = service_fn(move |request: Request<Incoming>| {
            let (chain, certificates, seen) =
                (Arc::clone(&chain), Arc::clone(&certificates), Arc::clone(&seen));
            let running = Running::begin(&seen, &place, !chain.needs_no_review(&request));
            async move {
                let Some(running) = running else { return Ok(too_many_requests()) };
                let response = chain.handle(&certificates, request.map(Body::new)).await;
                if response.extensions().get::<KnownCaller>().is_some() {
                    running.authenticate();
                }
                Ok::<_, std::convert::Infallible>(match is_stream(&response) {
                    true => response.map(|body| Body::from_stream(While(body.into_data_stream(), running))),
                    false => response,
                })
            }
        });
        let http = self.http(http2);
        let io = TokioIo::new(Watched { inner: tls, activity: Arc::clone(&activity) });
        let mut connection = pin!(http.serve_connection(io, service));
        let outcome = tokio::select! {
            ended = connection.as_mut() => ended,
            () = drain.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
            over = activity.over(&self.timings) => {
                if over == Over::SlowHead {
                    return debug!("request head took too long");
                }
                connection.as_mut().graceful_shutdown();
                // A client that does not read the response to its last request is closed after a timeout.
                timeout(activity.limits(&self.timings).head, connection).await.unwrap_or(Ok(()))
            }
        };
        if let Err(error) = outcome {
            debug!(%error, "connection ended");
        }
    }

    /// Builds the HTTP server for one connection. TLS negotiated the protocol, so nothing is guessed from the first bytes.
    fn http(&self, http2: bool) -> Builder<TokioExecutor> {
        let http = Builder::new(TokioExecutor::new());
        let mut http = if http2 { http.http2_only() } else { http.http1_only() };
        // `Activity` enforces the timeout of request headers: hyper's own would also count the idle time before a request.
        http.http1().timer(TokioTimer::new()).header_read_timeout(None).max_buf_size(MAX_HEAD_BYTES);
        http.http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(self.http2_max_streams)
            .initial_stream_window_size(HTTP2_WINDOW_BYTES)
            .initial_connection_window_size(HTTP2_WINDOW_BYTES)
            .max_header_list_size(u32::try_from(MAX_HEAD_BYTES).unwrap_or(u32::MAX));
        http
    }
}

/// Tracks whether a connection is idle, reading headers or serving requests, and since when.
#[derive(Debug)]
struct Activity {
    state: Mutex<State>,
    http2: bool,
}

/// Why a connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    Idle,
    SlowHead,
}

/// The timeouts of a connection.
struct TimeLimits {
    head: Duration,
    idle: Duration,
}

#[derive(Debug)]
struct State {
    running: usize,
    /// Whether the caller was authenticated at least once.
    is_known: bool,
    idle_since: Instant,
    /// When the first byte of incomplete headers arrived (HTTP/1 only, because HTTP/2 frames also arrive without a request).
    head_since: Option<Instant>,
}

impl Activity {
    fn new(http2: bool) -> Self {
        let state = State { running: 0, is_known: false, idle_since: Instant::now(), head_since: None };
        Self { state: Mutex::new(state), http2 }
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock())
    }

    fn bytes_read(&self) {
        if !self.http2 {
            self.change(|state| {
                if state.running == 0 && state.head_since.is_none() {
                    state.head_since = Some(Instant::now());
                }
            });
        }
    }

    fn begin_request(&self) {
        self.change(|state| {
            state.running += 1;
            state.head_since = None;
        });
    }

    fn end_request(&self) {
        self.change(|state| {
            state.running = state.running.saturating_sub(1);
            state.idle_since = Instant::now();
        });
    }

    /// The timeouts of this connection, which are longer once its caller has authenticated.
    fn limits(&self, timings: &ServingTimings) -> TimeLimits {
        let (head, idle) = (timings.header_timeout, timings.idle_timeout);
        match self.change(|state| state.is_known) {
            true => TimeLimits { head, idle },
            false => TimeLimits {
                head: head.min(timings.anonymous_header_timeout),
                idle: idle.min(timings.anonymous_idle_timeout),
            },
        }
    }

    /// When the connection times out if nothing happens, and why; `None` while a request is in progress.
    fn deadline(&self, limits: &TimeLimits) -> Option<(Instant, Over)> {
        self.change(|state| match (state.running, state.head_since) {
            (0, Some(since)) => Some((since + limits.head, Over::SlowHead)),
            (0, None) => Some((state.idle_since + limits.idle, Over::Idle)),
            _ => None,
        })
    }

    /// Returns once a timeout has passed.
    async fn over(&self, timings: &ServingTimings) -> Over {
        loop {
            // Checking again after the shorter timeout keeps this check out of the path of requests.
            let (now, limits) = (Instant::now(), self.limits(timings));
            let next = now + limits.head.min(limits.idle);
            match self.deadline(&limits) {
                Some((deadline, over)) if deadline <= now => return over,
                Some((deadline, _)) => sleep_until(deadline.min(next)).await,
                None => sleep_until(next).await,
            }
        }
    }
}

/// Whether a response is an event stream. Its request counts as in progress until the stream ends.
fn is_stream(response: &Response) -> bool {
    let content_type = response.headers().get(header::CONTENT_TYPE);
    content_type.is_some_and(|found| found.as_bytes() == EVENT_STREAM.as_bytes())
}

/// A stream that keeps its request in progress.
struct While(BodyDataStream, #[expect(dead_code, reason = "held to the end of the stream")] Running);

impl Stream for While {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.0).poll_next(cx)
    }
}

/// A request in progress.
struct Running {
    activity: Arc<Activity>,
    place: Arc<Place>,
    counted: bool,
}

impl Running {
    /// `None` if the request is `counted` and too many are in progress.
    fn begin(activity: &Arc<Activity>, place: &Arc<Place>, counted: bool) -> Option<Self> {
        activity.begin_request();
        if !place.begin_request(counted) {
            activity.end_request();
            return None;
        }
        Some(Self { activity: Arc::clone(activity), place: Arc::clone(place), counted })
    }

    fn authenticate(&self) {
        self.activity.change(|state| state.is_known = true);
        self.place.authenticate();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.activity.end_request();
        self.place.end_request(self.counted);
    }
}

/// A stream that records when bytes arrive.
struct Watched<S> {
    inner: S,
    activity: Arc<Activity>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.activity.bytes_read();
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timings() -> ServingTimings {
        ServingTimings::default()
    }

    fn of_known_caller() -> Activity {
        let activity = Activity::new(false);
        activity.change(|state| state.is_known = true);
        activity
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_requests_is_over_after_the_idle_time() {
        let (activity, start) = (of_known_caller(), Instant::now());
        assert_eq!(activity.over(&timings()).await, Over::Idle);
        assert_eq!(start.elapsed(), Duration::from_secs(90));
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_trickles_in_is_over_long_before_the_idle_time() {
        let (activity, start) = (of_known_caller(), Instant::now());
        activity.bytes_read();
        assert_eq!(activity.over(&timings()).await, Over::SlowHead);
        assert_eq!(start.elapsed(), Duration::from_secs(32));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_long_for_a_caller_who_has_not_authenticated() {
        let (activity, start) = (Activity::new(false), Instant::now());
        assert_eq!(activity.over(&timings()).await, Over::Idle);
        assert_eq!(start.elapsed(), Duration::from_secs(10));
        let (activity, start) = (Activity::new(false), Instant::now());
        activity.bytes_read();
        assert_eq!(activity.over(&timings()).await, Over::SlowHead);
        assert_eq!(start.elapsed(), Duration::from_secs(5));
    }

    #[tokio::test(start_paused = true)]
    async fn a_running_request_keeps_the_connection_and_idle_time_counts_from_its_end() {
        let (activity, start) = (of_known_caller(), Instant::now());
        activity.bytes_read();
        activity.begin_request();
        let limits = timings();
        let end = async {
            tokio::time::sleep(Duration::from_secs(200)).await;
            activity.end_request();
        };
        let (over, ()) = tokio::join!(activity.over(&limits), end);
        assert_eq!(over, Over::Idle);
        assert_eq!(start.elapsed(), Duration::from_secs(290));
    }
}
