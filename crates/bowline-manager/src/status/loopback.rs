//! Plain HTTP on loopback, for a browser on the same machine.
//!
//! A malicious web page could make a browser send requests to loopback (DNS rebinding), so only requests with a loopback `Host` are served.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, Request, StatusCode, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;
use tracing::{debug, info};

use super::serve::reply;

/// The maximum number of concurrent connections: enough for one user with several windows.
const MOST_CONNECTIONS: usize = 64;

/// The timeout of a request's headers, and of closing a connection.
const PATIENCE: Duration = Duration::from_secs(5);

/// Serves requests until `shutdown`. The caller must make sure that the listener is on loopback.
pub async fn serve(listener: TcpListener, routes: Router, shutdown: CancellationToken) {
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
        info!("connections to the status page on loopback were left to the end of the process");
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

/// Whether the `Host` header is a loopback name or address, with any port.
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
