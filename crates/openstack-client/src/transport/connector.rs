//! Connections to services: direct or through a proxy, with TLS, under one connect timeout.
//!
//! Through an HTTP proxy, services with TLS are reached with CONNECT, so the proxy cannot read the traffic. Requests to services without
//! TLS are sent to the proxy itself, as in Go's `net/http`, because proxies reject CONNECT to unusual ports.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures::{FutureExt, TryFutureExt, future::BoxFuture};
use http::{Request, Response, Uri, header};
use hyper::{
    body::Incoming,
    rt::{Read, ReadBufCursor, Write},
};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::{
    client::legacy::{
        Client, ResponseFuture,
        connect::{
            Connected, Connection, HttpConnector,
            proxy::{SocksV5, Tunnel},
        },
    },
    rt::{TokioExecutor, TokioIo, TokioTimer},
};
use tokio::{net::TcpStream, time::timeout};
use tower::{BoxError, Service};

use super::{
    Body, TransportError, TransportOptions,
    proxy::{Kind, Proxy, ProxyRules},
    tls,
};

/// A dead connection is detected after about a minute.
const KEEPALIVE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_RETRIES: u32 = 3;
/// Idle connections are closed before the servers close them (after 75 s with most front ends).
const IDLE: Duration = Duration::from_secs(60);

/// Creates a pooled client from the options.
pub(super) fn client(options: &TransportOptions) -> Result<ProxyingClient, TransportError> {
    let rules = options.proxies.rules()?;
    let mut to_proxy = tls::config(options)?;
    let mut to_service = to_proxy.clone();
    to_proxy.alpn_protocols = vec![b"http/1.1".to_vec()];
    to_service.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let tcp = tcp(options.timeouts.connect);
    let to_proxy = HttpsConnector::from((tcp.clone(), to_proxy));
    let way = Way { rules: rules.clone(), tcp, to_proxy };
    let connector =
        InTime { inner: HttpsConnector::from((way, to_service)), limit: options.timeouts.connect };
    let inner = Client::builder(TokioExecutor::new())
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(options.idle_connections)
        .pool_timer(TokioTimer::new())
        .timer(TokioTimer::new())
        .http2_keep_alive_interval(KEEPALIVE)
        .http2_keep_alive_timeout(KEEPALIVE_INTERVAL)
        .build(connector);
    Ok(ProxyingClient { inner, rules })
}

fn tcp(limit: Duration) -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.set_keepalive_interval(Some(KEEPALIVE_INTERVAL));
    tcp.set_keepalive_retries(Some(KEEPALIVE_RETRIES));
    tcp.set_connect_timeout(Some(limit));
    tcp
}

/// The HTTP client. Requests without TLS that go through an HTTP proxy also get its `Proxy-Authorization` header.
#[derive(Clone)]
pub(super) struct ProxyingClient {
    inner: Client<InTime<HttpsConnector<Way>>, Body>,
    rules: ProxyRules,
}

impl Service<Request<Body>> for ProxyingClient {
    type Response = Response<Incoming>;
    type Error = hyper_util::client::legacy::Error;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> ResponseFuture {
        if request.uri().scheme_str() == Some("http") {
            let proxy = self.rules.choose(request.uri());
            if let Some(authorization) = proxy.and_then(|proxy| proxy.authorization.clone()) {
                request.headers_mut().insert(header::PROXY_AUTHORIZATION, authorization);
            }
        }
        self.inner.request(request)
    }
}

/// Makes the connection below the TLS of the service: direct, through a tunnel, or to an HTTP proxy.
#[derive(Clone)]
struct Way {
    rules: ProxyRules,
    tcp: HttpConnector,
    to_proxy: HttpsConnector<HttpConnector>,
}

impl Service<Uri> for Way {
    type Response = Stream;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Stream, BoxError>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, service: Uri) -> Self::Future {
        let Some(proxy) = self.rules.choose(&service) else {
            let connected = self.tcp.call(service);
            return connected
                .map_ok(|tcp| Stream::direct(MaybeHttpsStream::Http(tcp)))
                .map_err(Into::into)
                .boxed();
        };
        let Proxy { kind, address, authorization, login } = proxy.clone();
        match (kind, service.scheme_str()) {
            (Kind::Http, Some("https")) => {
                let mut tunnel = Tunnel::new(address, self.to_proxy.clone());
                if let Some(authorization) = authorization {
                    tunnel = tunnel.with_auth(authorization);
                }
                tunnel.call(service).map_ok(Stream::direct).map_err(Into::into).boxed()
            }
            (Kind::Http, _) => self.to_proxy.call(address).map_ok(Stream::proxied).boxed(),
            (Kind::Socks5, _) => {
                let mut socks = SocksV5::new(address, self.tcp.clone());
                if let Some((user, password)) = login {
                    socks = socks.with_auth(user, password);
                }
                let connected = socks.call(service);
                connected
                    .map_ok(|tcp| Stream::direct(MaybeHttpsStream::Http(tcp)))
                    .map_err(Into::into)
                    .boxed()
            }
        }
    }
}

/// A connection, and whether it ends at a proxy that receives the requests itself, instead of a tunnel.
struct Stream {
    io: MaybeHttpsStream<TokioIo<TcpStream>>,
    proxied: bool,
}

impl Stream {
    fn direct(io: MaybeHttpsStream<TokioIo<TcpStream>>) -> Self {
        Self { io, proxied: false }
    }

    fn proxied(io: MaybeHttpsStream<TokioIo<TcpStream>>) -> Self {
        Self { io, proxied: true }
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        self.io.connected().proxy(self.proxied)
    }
}

impl Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl Write for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

/// Applies the connect timeout to DNS, TCP, proxy and TLS handshake together.
#[derive(Clone)]
struct InTime<C> {
    inner: C,
    limit: Duration,
}

impl<C> Service<Uri> for InTime<C>
where
    C: Service<Uri, Error = BoxError>,
    C::Future: Send + 'static,
    C::Response: 'static,
{
    type Response = C::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<C::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, service: Uri) -> Self::Future {
        let limit = self.limit;
        let connected = self.inner.call(service);
        async move {
            match timeout(limit, connected).await {
                Ok(connected) => connected,
                Err(_late) => Err(format!("no connection within {limit:?}").into()),
            }
        }
        .boxed()
    }
}
