//! The proxy between a CCM and the API server: HTTP on loopback to the one, TLS to the other. It changes nothing that either says, so
//! that encodings and compression are the CCM's own; it counts. The one thing that it adds is the CCM's token, where it is missing:
//! client-go sends none without TLS.

use std::io;

use anyhow::Context;
use http::header::{AUTHORIZATION, CONNECTION, HOST};
use http::uri::{Authority, Scheme};
use http::{HeaderValue, Request, Response, Uri};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::Connect;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use kube::Config;
use kube::client::ConfigExt;
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::kube_request::{class, name};
use super::traffic::Traffic;

/// A running proxy.
pub struct Proxy {
    /// Where it listens.
    pub url: String,
    /// What passed.
    pub traffic: Traffic,
    _stop: DropGuard,
}

impl Proxy {
    /// Starts one in front of the server that this configuration names, for somebody with this token.
    ///
    /// # Errors
    /// When no port is free, or the configuration has no usable authority.
    pub async fn start(config: &Config, token: &str) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let address = config.cluster_url.authority().context("the API server has no address")?.clone();
        let mut credentials = HeaderValue::from_str(&format!("Bearer {token}"))?;
        credentials.set_sensitive(true);
        let server = Server { address, credentials };
        let client = Client::builder(TokioExecutor::new()).build(config.rustls_https_connector()?);
        let (stop, traffic) = (CancellationToken::new(), Traffic::default());
        let serve = serve(listener, client, server, traffic.clone(), stop.clone());
        tokio::spawn(stop.clone().run_until_cancelled_owned(serve));
        Ok(Self { url, traffic, _stop: stop.drop_guard() })
    }
}

#[derive(Clone)]
struct Server {
    address: Authority,
    credentials: HeaderValue,
}

async fn serve<C: Connect + Clone + Send + Sync + 'static>(
    listener: TcpListener,
    client: Client<C, Incoming>,
    server: Server,
    traffic: Traffic,
    stop: CancellationToken,
) {
    while let Ok((stream, _)) = listener.accept().await {
        // Small answers at once, as a real server does.
        stream.set_nodelay(true).ok();
        let stream = traffic.counted(stream);
        let (client, server, traffic) = (client.clone(), server.clone(), traffic.clone());
        let answer =
            service_fn(move |request| forward(client.clone(), server.clone(), traffic.clone(), request));
        let connection = async move {
            // A connection that breaks is the CCM's concern.
            auto::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), answer)
                .await
                .ok();
        };
        tokio::spawn(stop.clone().run_until_cancelled_owned(connection));
    }
}

async fn forward<C: Connect + Clone + Send + Sync + 'static>(
    client: Client<C, Incoming>,
    server: Server,
    traffic: Traffic,
    mut request: Request<Incoming>,
) -> io::Result<Response<Incoming>> {
    let (at, name) = (Instant::now(), name(request.method(), request.uri()));
    let mut parts = request.uri().clone().into_parts();
    (parts.scheme, parts.authority) = (Some(Scheme::HTTPS), Some(server.address));
    *request.uri_mut() = Uri::from_parts(parts).map_err(io::Error::other)?;
    // These belong to one connection.
    request.headers_mut().remove(HOST);
    request.headers_mut().remove(CONNECTION);
    request.headers_mut().entry(AUTHORIZATION).or_insert(server.credentials);
    *request.version_mut() = http::Version::HTTP_11;
    let mut answer = client.request(request).await.map_err(io::Error::other)?;
    traffic.add(class(&name), name, at, answer.status().as_u16());
    *answer.version_mut() = http::Version::HTTP_11;
    answer.headers_mut().remove(CONNECTION);
    Ok(answer)
}
