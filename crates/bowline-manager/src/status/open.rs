//! The status page without asking who looks: over plain HTTP, on loopback only, and nothing else than that page. For the playground.
//!
//! A browser may be made to ask loopback by a page from elsewhere: only requests that name loopback as their host are answered.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use axum::routing::get;
use http::{HeaderValue, Request, StatusCode, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;
use tracing::{debug, info, warn};

use super::board::StatusPage;
use super::serve::{PAGE, reply};

/// Connections at once: a person and some windows.
const MOST_CONNECTIONS: usize = 64;

/// How long a request head may take, and a connection to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why the page cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Others could see it.
    #[error(
        "the status page without authentication is only for loopback, and {0} is not: use 127.0.0.1 or [::1], or look at \
         /bowline on the secure port"
    )]
    NotLoopback(SocketAddr),
    /// The address cannot be had.
    #[error("the status page cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's reason.
        source: std::io::Error,
    },
}

/// A page that is open.
#[derive(Debug)]
pub struct OpenPage {
    /// Where it is.
    pub address: SocketAddr,
    task: JoinHandle<()>,
}

impl OpenPage {
    /// Returns when it is closed, after its shutdown token was cancelled.
    pub async fn ended(self) {
        if let Err(error) = self.task.await {
            warn!(%error, "the open status page did not end by itself");
        }
    }
}

/// Serves the page on `address` until `shutdown`. Port 0 is any that is free.
///
/// # Errors
///
/// [`OpenError`] if the address is not loopback, or cannot be had.
pub async fn serve(
    page: &StatusPage,
    address: SocketAddr,
    shutdown: CancellationToken,
) -> Result<OpenPage, OpenError> {
    if !address.ip().is_loopback() {
        return Err(OpenError::NotLoopback(address));
    }
    let failed = |source| OpenError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let mut routes = Router::new().route("/", get(async || to_page()));
    for (path, route) in page.routes(&shutdown) {
        routes = routes.route(path, route);
    }
    info!(url = format!("http://{address}{PAGE}"), "the status page is open");
    Ok(OpenPage { address, task: tokio::spawn(accept(listener, routes, shutdown)) })
}

fn to_page() -> Response {
    let mut response = reply(StatusCode::TEMPORARY_REDIRECT, "text/plain; charset=utf-8", "see /bowline\n");
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static(PAGE));
    response
}

async fn accept(listener: TcpListener, routes: Router, shutdown: CancellationToken) {
    let (slots, tracker) = (Arc::new(Semaphore::new(MOST_CONNECTIONS)), TaskTracker::new());
    let next = async || {
        let slot = slots.clone().acquire_owned().await.ok()?;
        let (stream, _) = listener.accept().await.ok()?;
        Some((stream, slot))
    };
    while let Some(next) = shutdown.run_until_cancelled(next()).await {
        let Some((stream, slot)) = next else { continue };
        let (routes, shutdown) = (routes.clone(), shutdown.clone());
        tracker.spawn(async move {
            connection(stream, routes, shutdown).await;
            drop(slot);
        });
    }
    tracker.close();
    if timeout(PATIENCE, tracker.wait()).await.is_err() {
        info!("connections to the open status page were left to the end of the process");
    }
}

async fn connection(stream: TcpStream, routes: Router, shutdown: CancellationToken) {
    let service = service_fn(move |request: Request<Incoming>| {
        let routes = routes.clone();
        async move { Ok::<_, Infallible>(respond(routes, request.map(Body::new)).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    let mut connection = std::pin::pin!(http.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        debug!(%error, "connection ended");
    }
}

async fn respond(routes: Router, request: Request<Body>) -> Response {
    if !names_loopback(request.headers().get(header::HOST)) {
        let text = "only requests for localhost are answered here\n";
        return reply(StatusCode::MISDIRECTED_REQUEST, "text/plain; charset=utf-8", text);
    }
    match routes.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// Whether a request is for loopback, by name or by address, on whatever port.
fn names_loopback(host: Option<&HeaderValue>) -> bool {
    let Some(host) = host.and_then(|host| host.to_str().ok()) else { return false };
    let without_port = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = without_port.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_answered() {
        for (host, answered) in [
            ("127.0.0.1:8080", true),
            ("localhost", true),
            ("LOCALHOST:1", true),
            ("[::1]:8080", true),
            ("127.8.9.1", true),
            ("evil.example:8080", false),
            ("localhost.evil.example", false),
            ("192.0.2.1", false),
            ("", false),
        ] {
            assert_eq!(names_loopback(HeaderValue::from_str(host).ok().as_ref()), answered, "{host}");
        }
        assert!(!names_loopback(None));
    }
}
