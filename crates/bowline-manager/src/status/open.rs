//! The status page without authentication, for the playground: over plain HTTP, on loopback only, and no other page.

use std::net::SocketAddr;

use axum::Router;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::board::StatusPage;
use super::loopback;
use super::serve::{PAGE, to_page};

/// Why the page cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The address is not a loopback address, so others could read the page.
    #[error(
        "the status page without authentication is only for loopback, and {0} is not: use 127.0.0.1 or [::1], or look at \
         /bowline on the secure port"
    )]
    NotLoopback(SocketAddr),
    /// The address cannot be used.
    #[error("the status page cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The I/O error.
        source: std::io::Error,
    },
}

/// A page that is being served.
#[derive(Debug)]
pub struct OpenPage {
    /// The address that it is served on.
    pub address: SocketAddr,
    task: JoinHandle<()>,
}

impl OpenPage {
    /// Waits until the page is closed, after its shutdown token was cancelled.
    pub async fn ended(self) {
        if let Err(error) = self.task.await {
            warn!(%error, "the open status page did not end by itself");
        }
    }
}

/// Serves the page on `address` until `shutdown`. Port 0 selects a free port.
///
/// # Errors
///
/// [`OpenError`] if the address is not a loopback address or cannot be used.
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
    Ok(OpenPage { address, task: tokio::spawn(loopback::serve(listener, routes, shutdown)) })
}
