//! An HTTP server on loopback for a closure that answers requests. It counts the bytes of its connections.

use std::net::{Ipv4Addr, TcpListener as StdListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::io::{InspectReader, InspectWriter};
use tokio_util::sync::{CancellationToken, DropGuard};

/// An error of a body or of a closure; the connection breaks then.
type Broken = Box<dyn std::error::Error + Send + Sync>;

/// The bytes of all connections of a server. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct Wire {
    received: Arc<AtomicU64>,
    sent: Arc<AtomicU64>,
}

impl Wire {
    /// The bytes that the server received and sent since the last call.
    #[must_use]
    pub fn take(&self) -> (u64, u64) {
        (self.received.swap(0, Ordering::Relaxed), self.sent.swap(0, Ordering::Relaxed))
    }

    fn count(&self, stream: TcpStream) -> impl AsyncRead + AsyncWrite + Unpin + Send + 'static {
        let add = |counter: Arc<AtomicU64>| {
            move |bytes: &[u8]| {
                counter.fetch_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX), Ordering::Relaxed);
            }
        };
        let reader = InspectReader::new(stream, add(Arc::clone(&self.received)));
        InspectWriter::new(reader, add(Arc::clone(&self.sent)))
    }
}

/// A free port on loopback that is taken. Nothing is answered before [`serve`](Self::serve).
#[derive(Debug)]
pub struct Bound {
    /// The root of all addresses, such as `http://127.0.0.1:41234`.
    pub url: String,
    /// What the server will count.
    pub wire: Wire,
    listener: StdListener,
}

/// A server. It ends with its connections when it is dropped.
#[derive(Debug)]
pub struct Server {
    /// The root of all addresses, such as `http://127.0.0.1:41234`.
    pub url: String,
    _stop: DropGuard,
}

impl Bound {
    /// Takes a free port.
    ///
    /// # Errors
    /// When none is free.
    pub fn new() -> std::io::Result<Self> {
        let listener = StdListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        Ok(Self { url: format!("http://{}", listener.local_addr()?), wire: Wire::default(), listener })
    }

    /// Serves on the runtime that this is called in. An error of `answer` breaks the connection.
    ///
    /// # Errors
    /// When the runtime cannot listen.
    pub fn serve<F, A, B, E>(self, answer: F) -> std::io::Result<Server>
    where
        F: Fn(Request<Incoming>) -> A + Clone + Send + 'static,
        A: Future<Output = Result<Response<B>, E>> + Send + 'static,
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Broken>,
        E: Into<Broken> + 'static,
    {
        let Self { url, wire, listener } = self;
        let listener = TcpListener::from_std(listener)?;
        let stop = CancellationToken::new();
        let accept = accept(listener, wire, answer, stop.clone());
        tokio::spawn(stop.clone().run_until_cancelled_owned(accept));
        Ok(Server { url, _stop: stop.drop_guard() })
    }
}

async fn accept<F, A, B, E>(listener: TcpListener, wire: Wire, answer: F, stop: CancellationToken)
where
    F: Fn(Request<Incoming>) -> A + Clone + Send + 'static,
    A: Future<Output = Result<Response<B>, E>> + Send + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Broken>,
    E: Into<Broken> + 'static,
{
    while let Ok((stream, _)) = listener.accept().await {
        // Small answers are sent at once, as a real server does. A connection that has ended already is seen below.
        stream.set_nodelay(true).ok();
        let (stream, service) = (TokioIo::new(wire.count(stream)), service_fn(answer.clone()));
        let connection = async move {
            // A connection that breaks is the client's concern, or a test wants it.
            auto::Builder::new(TokioExecutor::new()).serve_connection(stream, service).await.ok();
        };
        tokio::spawn(stop.clone().run_until_cancelled_owned(connection));
    }
}

/// A request with its whole body.
///
/// # Errors
/// When the connection breaks before the body is complete.
pub async fn whole<B: Body>(request: Request<B>) -> Result<Request<Bytes>, B::Error> {
    let (parts, body) = request.into_parts();
    Ok(Request::from_parts(parts, body.collect().await?.to_bytes()))
}
