//! An API server on loopback, on a thread of its own, with Nodes and Services that are made when they are asked for: what it
//! allocates is not the client's. It answers lists; its watches say nothing.

use std::convert::Infallible;
use std::future::pending;
use std::net::SocketAddr;
use std::thread::JoinHandle;

use anyhow::{Context, anyhow};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::listing::{is_watch, page};
use crate::objects;

/// How many objects a cluster has.
#[derive(Debug, Clone, Copy)]
pub struct ClusterSize {
    /// Nodes.
    pub nodes: usize,
    /// Services, every tenth of which has a load balancer.
    pub services: usize,
}

/// An API server that is served until it is stopped.
pub(crate) struct ServedCluster {
    /// Where it is.
    pub(crate) url: String,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl ServedCluster {
    /// Serves a cluster of that size.
    pub(crate) fn start(size: ClusterSize) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))));
        let listener = listener.context("listen on loopback")?;
        let url = format!("http://{}", listener.local_addr()?);
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || runtime.block_on(serve(listener, size, stopped)));
        Ok(Self { url, stop, thread })
    }

    /// Ends the serving.
    pub(crate) fn stop(self) -> anyhow::Result<()> {
        drop(self.stop);
        self.thread.join().map_err(|_panic| anyhow!("the API server panicked"))
    }
}

async fn serve(listener: TcpListener, size: ClusterSize, mut stopped: oneshot::Receiver<()>) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = &mut stopped => return,
        };
        let Ok((stream, _)) = accepted else { continue };
        tokio::spawn(async move {
            let server = auto::Builder::new(TokioExecutor::new());
            let service = service_fn(move |request| answer(request, size));
            // A connection that breaks is seen by the client, whose list fails then.
            server.serve_connection(TokioIo::new(stream), service).await.ok();
        });
    }
}

async fn answer(request: Request<Incoming>, size: ClusterSize) -> Result<Response<Full<Bytes>>, Infallible> {
    let query = request.uri().query().unwrap_or_default();
    if is_watch(query) {
        pending::<()>().await;
    }
    let page = match request.uri().path() {
        "/api/v1/nodes" => page(query, size.nodes, objects::node),
        _services => page(query, size.services, objects::service),
    };
    Ok(Response::new(page.into()))
}
