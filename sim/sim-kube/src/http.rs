//! The server on a socket: plain HTTP on a listener, for kubectl and other processes. And its kubeconfig.
//!
//! Every answer carries the date by the clock of the cluster, as Go's HTTP server writes it: a cluster whose clock is off says so itself.

use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use http::{HeaderValue, Request, Response, header};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tower::{BoxError, Service as _};

use crate::server::{SimBody, SimKube};

/// How often in a row a listener may fail before it is given up; single faults (a client that left, a moment without
/// file descriptors) pass.
const ACCEPT_ATTEMPTS: u32 = 100;
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until the future is dropped; connections end with it.
///
/// # Errors
/// When the listener keeps failing.
pub async fn serve(server: SimKube, listener: TcpListener) -> std::io::Result<()> {
    let mut connections = JoinSet::new();
    let mut failed = 0;
    loop {
        let socket = match listener.accept().await {
            Ok((socket, _)) => socket,
            Err(error) if failed >= ACCEPT_ATTEMPTS => return Err(error),
            Err(_) => {
                failed += 1;
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        failed = 0;
        if socket.set_nodelay(true).is_err() {
            continue; // the client has left already
        }
        let service = Dated(server.clone());
        connections.spawn(async move {
            let builder = Builder::new(TokioExecutor::new());
            // A connection that breaks is the client's affair; it is logged nowhere, as nobody could act on it.
            drop(builder.serve_connection(TokioIo::new(socket), service).await);
        });
        while connections.try_join_next().is_some() {}
    }
}

/// The server, whose answers carry the date.
struct Dated(SimKube);

impl hyper::service::Service<Request<Incoming>> for Dated {
    type Response = Response<SimBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let mut server = self.0.clone();
        Box::pin(async move { Ok(dated(server.call(request).await?, server.now())) })
    }
}

/// An answer that was given at this time.
fn dated(mut response: Response<SimBody>, now: Timestamp) -> Response<SimBody> {
    let date = now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    if let Ok(date) = HeaderValue::from_str(&date) {
        response.headers_mut().insert(header::DATE, date);
    }
    response
}

/// A kubeconfig that leads to the server.
#[must_use]
pub fn kubeconfig(address: SocketAddr) -> String {
    format!(
        "apiVersion: v1\nkind: Config\nclusters:\n- name: sim-kube\n  cluster:\n    server: http://{address}\n\
         users:\n- name: admin\n  user: {{}}\ncontexts:\n- name: sim-kube\n  context:\n    cluster: sim-kube\n    \
         user: admin\ncurrent-context: sim-kube\n"
    )
}
