//! An API server on loopback, on a thread of its own, with Nodes and Services that are made when they are asked for: what it
//! allocates is not the client's. It answers lists; its watches say nothing.

use std::convert::Infallible;
use std::future::pending;

use bowline_testkit::http::{Bound, Server};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;

use crate::listing::{is_watch, page};
use crate::objects;
use crate::own_thread::OwnThread;

/// How many objects a cluster has.
#[derive(Debug, Clone, Copy)]
pub struct ClusterSize {
    /// Nodes.
    pub nodes: usize,
    /// Services, every tenth of which has a load balancer.
    pub services: usize,
}

/// An API server that is served until it is dropped.
pub(crate) struct ServedCluster {
    /// The server.
    pub(crate) server: Server,
    _thread: OwnThread,
}

impl ServedCluster {
    /// Serves a cluster of that size.
    pub(crate) fn start(size: ClusterSize) -> anyhow::Result<Self> {
        let thread = OwnThread::start()?;
        let server = {
            let _there = thread.enter();
            Bound::new()?.serve(move |request| answer(request, size))?
        };
        Ok(Self { server, _thread: thread })
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
