//! A simulated OpenStack on loopback, on a thread of its own: what it allocates is not the client's. It counts the bytes of
//! the bodies that it sends.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use anyhow::{Context, anyhow};
use http::{Method, Request, Response};
use hyper::body::{Body, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use jiff::Timestamp;
use openstack_client::clouds_yaml::Documents;
use openstack_client::{Client, Settings, Transport, TransportOptions};
use sim_openstack::{Config, EstateSize, Latencies, Service, SimBody, SimService, clouds_yaml, seed};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tower::ServiceExt;
use zeroize::Zeroizing;

/// A cloud that is served until it is asked what it saw.
pub(crate) struct ServedCloud {
    /// Where and as whom to log in: the cloud `sim` of this `clouds.yaml`.
    pub(crate) clouds_yaml: String,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<Seen>,
}

/// What the cloud saw.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    /// Requests for a page of servers.
    pub(crate) list_requests: u64,
    /// All requests: logging in and finding the service as well.
    pub(crate) requests: u64,
    /// The bytes of all bodies that were answered.
    pub(crate) bytes: u64,
}

/// A client of the cloud `sim` of this `clouds.yaml`.
pub(crate) fn client(clouds_yaml: &str) -> anyhow::Result<Client> {
    let documents = Documents { clouds: Zeroizing::new(clouds_yaml.to_owned()), ..Documents::default() };
    let settings = Settings::new(documents.entry(Some("sim"))?.auth.resolve()?);
    Ok(Client::new(Transport::https(&TransportOptions::default())?, settings))
}

impl ServedCloud {
    /// Makes a cloud with that many servers, and serves it.
    pub(crate) fn start(servers: usize) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))));
        let listener = listener.context("listen on loopback")?;
        let mut config = Config::at(&format!("http://{}", listener.local_addr()?));
        config.latencies = Latencies::none();
        let clouds_yaml = clouds_yaml(&config);
        let (stop, stopped) = oneshot::channel();
        let (cloud, _) = seed(config, Timestamp::now(), &EstateSize { servers, ..EstateSize::default() });
        let thread = std::thread::spawn(move || {
            runtime.block_on(serve(listener, SimService::on_tokio_time(cloud), stopped))
        });
        Ok(Self { clouds_yaml, stop, thread })
    }

    /// Ends the serving, and says what was seen.
    pub(crate) fn stop(self) -> anyhow::Result<Seen> {
        // A server that has ended already says why through its thread.
        drop(self.stop);
        self.thread.join().map_err(|_panic| anyhow!("the simulated cloud panicked"))
    }
}

async fn serve(listener: TcpListener, sim: SimService, mut stopped: oneshot::Receiver<()>) -> Seen {
    let bytes = Arc::new(AtomicU64::new(0));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = &mut stopped => break,
        };
        let Ok((stream, _)) = accepted else { continue };
        let counter = Arc::clone(&bytes);
        let count = move |response: Response<SimBody>| {
            counter.fetch_add(response.body().size_hint().exact().unwrap_or_default(), Ordering::Relaxed);
            response
        };
        let counted = ServiceExt::<Request<Incoming>>::map_response(sim.clone(), count);
        tokio::spawn(async move {
            let server = auto::Builder::new(TokioExecutor::new());
            // A connection that breaks is seen by the client, whose list fails then.
            server.serve_connection(TokioIo::new(stream), TowerToHyperService::new(counted)).await.ok();
        });
    }
    let bytes = bytes.load(Ordering::Relaxed);
    sim.with(|cloud| Seen {
        list_requests: cloud.log().count(Service::Compute, &Method::GET, "/v2.1/servers/detail"),
        requests: cloud.log().total(),
        bytes,
    })
}
