//! The server itself: listens, accepts, and ends when told to. Which connections are kept is decided in `admission`. It must never end the process.

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

/// Waiting connections the kernel keeps.
const BACKLOG: u32 = 1024;

/// Why serving cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServingError {
    /// No certificate.
    #[error(transparent)]
    Certificate(#[from] CertError),
    /// Bad TLS settings.
    #[error(transparent)]
    Tls(#[from] TlsSettingError),
    /// The address cannot be had.
    #[error("cannot listen on {address}: {source} (see --bind-address and --secure-port)")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's reason.
        source: std::io::Error,
    },
}

/// What the server is made of.
pub struct ServerParts {
    /// Says who asks.
    pub authenticator: Arc<Authenticator>,
    /// Says what they may.
    pub authorizer: Arc<Authorizer>,
    /// What is shown.
    pub endpoints: Endpoints,
    /// Checks behind the health endpoints; gains one for the serving certificate.
    pub health: Arc<HealthRegistry>,
    /// Where reload failures are counted.
    pub metrics: ServingMetrics,
    /// Periods and deadlines.
    pub timings: ServingTimings,
}

/// A server that runs.
#[derive(Debug)]
pub struct RunningServer {
    /// Where it listens.
    pub address: SocketAddr,
    /// The certificates it shows.
    pub certs: Arc<CertStore>,
    task: JoinHandle<()>,
}

impl RunningServer {
    /// Returns when the server has ended after its shutdown token was cancelled.
    pub async fn ended(self) {
        if let Err(error) = self.task.await {
            warn!(%error, "the server's task did not end by itself");
        }
    }
}

/// Starts serving until `shutdown`. Port 0 means no server, unless a `listener` is handed in.
///
/// # Errors
/// If a certificate, a TLS setting or the address cannot be used.
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

/// A certificate that cannot be replaced is worth knowing long before it expires, and no reason to stop working.
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
    // Always, as Go's listeners do: a restart must not wait for the connections of the last run to time out. That is
    // all `permit_address_sharing` asks for.
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
        // Connections that had to make room close before the next one is accepted.
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

/// The next connection; `None` at shutdown.
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
                    // Usually out of file descriptors: some will be free in a while.
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
