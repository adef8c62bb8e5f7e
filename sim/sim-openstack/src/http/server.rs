//! The cloud as an HTTP server, HTTP/1.1 and HTTP/2 without TLS.

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::SimService;

/// Serves until `stop` is cancelled, then ends open connections after their present request.
///
/// # Errors
/// When the listener fails.
pub async fn serve(
    listener: TcpListener,
    service: SimService,
    stop: CancellationToken,
) -> std::io::Result<()> {
    let server = auto::Builder::new(TokioExecutor::new());
    let graceful = GracefulShutdown::new();
    loop {
        let (stream, _) = tokio::select! {
            accepted = listener.accept() => accepted?,
            () = stop.cancelled() => break,
        };
        let handler = TowerToHyperService::new(service.clone());
        let connection = server.serve_connection_with_upgrades(TokioIo::new(stream), handler).into_owned();
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // A connection that breaks is the client's concern, or was an injected fault.
            connection.await.ok();
        });
    }
    graceful.shutdown().await;
    Ok(())
}
