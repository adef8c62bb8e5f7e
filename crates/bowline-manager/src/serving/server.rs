//! The server: listens, accepts connections, and shuts down on request. `admission` decides which connections are kept. The server must
//! never end the process.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::{JoinHandle, yield_now};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, info, warn};

use super::admission::Admission;
use super::authn::Authenticator;
use super::authz::Authorizer;
use super::certs::keeper::CertKeeper;
use super::certs::pair::is_expired;
use super::certs::{CertError, CertStore};
use super::config::{DEFAULT_HTTP2_STREAMS, ServingConfig, ServingTimings};
use super::health::{CheckOutcome, CheckSets, HealthRegistry};
use super::http::connection::Connections;
use super::http::endpoints::Endpoints;
use super::http::filters::Chain;
use super::metrics::ServingMetrics;
use super::tls::{self, TlsSettingError};

/// The length of the kernel's queue of connections that are not accepted yet.
const BACKLOG: u32 = 1024;

/// Why the server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServingError {
    /// There is no usable certificate.
    #[error(transparent)]
    Certificate(#[from] CertError),
    /// The TLS settings are invalid.
    #[error(transparent)]
    Tls(#[from] TlsSettingError),
    /// The address cannot be used.
    #[error("cannot listen on {address}: {source} (see --bind-address and --secure-port)")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The I/O error.
        source: std::io::Error,
    },
}

/// The components of the server.
pub struct ServerParts {
    /// Authenticates callers.
    pub authenticator: Arc<Authenticator>,
    /// Authorizes requests.
    pub authorizer: Arc<Authorizer>,
    /// The pages to serve.
    pub endpoints: Endpoints,
    /// The checks behind the health endpoints; the server adds one for its certificate.
    pub health: Arc<HealthRegistry>,
    /// The metrics of the server.
    pub metrics: ServingMetrics,
    /// Intervals, timeouts and limits.
    pub timings: ServingTimings,
}

/// A running server.
#[derive(Debug)]
pub struct RunningServer {
    /// The address that it listens on.
    pub address: SocketAddr,
    /// The certificates that it serves.
    pub certs: Arc<CertStore>,
    task: JoinHandle<()>,
}

impl RunningServer {
    /// Waits until the server has ended, after its shutdown token was cancelled.
    pub async fn ended(self) {
        if let Err(error) = self.task.await {
            warn!(%error, "the server's task did not end by itself");
        }
    }
}

/// Starts the server, which runs until `shutdown` is cancelled. Returns `None` for port 0, unless a `listener` is given.
///
/// # Errors
/// If the certificate, the TLS settings or the address cannot be used.
pub async fn start(
    config: &ServingConfig,
    parts: ServerParts,
    listener: Option<TcpListener>,
    shutdown: CancellationToken,
) -> Result<Option<RunningServer>, ServingError> {
    if config.port == 0 && listener.is_none() {
        info!("serving is off (--secure-port=0)");
        return Ok(None);
    }
    let ServerParts { authenticator, authorizer, endpoints, health, metrics, timings } = parts;
    let admission = Arc::new(Admission::new(timings.connections.clone(), metrics.clone()));
    let keeper = CertKeeper::open(config, timings.clone(), metrics, tls::provider()).await?;
    let certs = keeper.store();
    let tls = tls::server_config(config, Arc::clone(&certs) as _)?;
    let wanted = SocketAddr::new(config.bind_address, config.port);
    let listener = match listener {
        Some(listener) => listener,
        None => listen(config, wanted).map_err(|source| ServingError::Listen { address: wanted, source })?,
    };
    let address = listener.local_addr().unwrap_or(wanted);
    report_certificate_problems(&health, &certs);
    let chain =
        Chain { authenticator: Arc::clone(&authenticator), authorizer, routes: endpoints.routes(health) };
    let connections = Arc::new(Connections {
        acceptor: TlsAcceptor::from(Arc::new(tls)),
        chain: Arc::new(chain),
        timings: timings.clone(),
        http2_max_streams: match config.http2_max_streams {
            0 => DEFAULT_HTTP2_STREAMS,
            streams => streams,
        },
    });
    info!(%address, "serving");
    let task = tokio::spawn(async move {
        tokio::join!(
            keeper.run(shutdown.clone()),
            authenticator.run(&timings, shutdown.clone()),
            accept(listener, admission, connections, timings.drain, shutdown.clone()),
        );
    });
    Ok(Some(RunningServer { address, certs, task }))
}

/// Adds a `/readyz` check for the certificate. It only degrades: a certificate that cannot be replaced should be known long before it
/// expires, but the process still works.
fn report_certificate_problems(health: &HealthRegistry, certs: &Arc<CertStore>) {
    let certs = Arc::clone(certs);
    health.add("serving-certificate", CheckSets::READY_ONLY, move || match certs.problem() {
        None if is_expired(&certs.current().default, SystemTime::now()) => {
            CheckOutcome::Degraded("the serving certificate has expired; nobody renewed its files".to_owned())
        }
        None => CheckOutcome::Healthy,
        Some(_) => {
            CheckOutcome::Degraded("the newest certificate files cannot be used; see the log".to_owned())
        }
    });
}

fn listen(config: &ServingConfig, address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // Always set, as Go's listeners do: a restart must not wait until the old connections time out. This is all that
    // `permit_address_sharing` would do.
    socket.set_reuseaddr(true)?;
    #[cfg(unix)]
    socket.set_reuseport(config.permit_port_sharing)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

async fn accept(
    listener: TcpListener,
    admission: Arc<Admission>,
    connections: Arc<Connections>,
    drain_limit: Duration,
    shutdown: CancellationToken,
) {
    let tracker = TaskTracker::new();
    let cut = CancellationToken::new();
    while let Some((stream, peer)) = next_connection(&listener, &shutdown).await {
        let place = Arc::new(admission.admit(peer.ip()));
        let (connections, drain, cut) = (Arc::clone(&connections), shutdown.clone(), cut.clone());
        tracker.spawn(async move {
            tokio::select! {
                () = cut.cancelled() => {}
                () = place.taken() => debug!(%peer, "closed, because other connections need the place"),
                () = connections.serve(stream, &place, drain) => {}
            }
        });
        // Lets connections that must make room close before the next one is accepted.
        yield_now().await;
    }
    drop(listener);
    tracker.close();
    if timeout(drain_limit, tracker.wait()).await.is_err() {
        info!(connections = tracker.len(), "connections cut at shutdown");
        cut.cancel();
        tracker.wait().await;
    }
}

/// Accepts the next connection; `None` at shutdown.
async fn next_connection(
    listener: &TcpListener,
    shutdown: &CancellationToken,
) -> Option<(TcpStream, SocketAddr)> {
    let next = async {
        loop {
            match listener.accept().await {
                Ok(accepted) => return accepted,
                Err(error) if is_the_clients(error.kind()) => {}
                Err(error) => {
                    // Usually no file descriptors are left; some will be free after a while.
                    warn!(%error, "cannot accept connections");
                    sleep(Duration::from_secs(1)).await;
                }
            }
        }
    };
    shutdown.run_until_cancelled(next).await
}

fn is_the_clients(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::ConnectionRefused)
}
