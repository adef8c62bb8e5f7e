//! Servers on loopback in the place of others: one that records all requests, and TLS in front of another. What they show is valid for
//! `localhost`.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_util::task::AbortOnDropHandle;

/// A self-signed certificate for `localhost`, and the server side of TLS with it.
pub(crate) struct Tls {
    pub(crate) certificate: CertificateDer<'static>,
    acceptor: TlsAcceptor,
}

impl Tls {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let pair = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
        let certificate = pair.cert.der().clone();
        let key = PrivateKeyDer::try_from(pair.signing_key.serialize_der()).map_err(anyhow::Error::msg)?;
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key)?;
        Ok(Self { certificate, acceptor: TlsAcceptor::from(Arc::new(config)) })
    }

    /// Serves TLS on a free port, and forwards what it carries to an address without TLS.
    pub(crate) async fn forward(&self, address: String) -> anyhow::Result<(u16, AbortOnDropHandle<()>)> {
        let acceptor = self.acceptor.clone();
        serve(move |client| {
            let (acceptor, address) = (acceptor.clone(), address.clone());
            async move {
                // A client that goes away ends its own connection only.
                if let (Ok(mut client), Ok(mut server)) =
                    (acceptor.accept(client).await, TcpStream::connect(address).await)
                {
                    copy_bidirectional(&mut client, &mut server).await.ok();
                }
            }
        })
        .await
    }
}

/// A server that answers every request with 401, and records what it receives.
pub(crate) struct Recorder {
    pub(crate) port: u16,
    received: Arc<Mutex<String>>,
    _serving: AbortOnDropHandle<()>,
}

impl Recorder {
    /// Starts one with or without TLS.
    pub(crate) async fn start(tls: Option<&Tls>) -> anyhow::Result<Self> {
        let received = Arc::<Mutex<String>>::default();
        let (acceptor, record) = (tls.map(|tls| tls.acceptor.clone()), received.clone());
        let serving = serve(move |client| {
            let (acceptor, record) = (acceptor.clone(), record.clone());
            async move {
                match acceptor {
                    None => refuse_all(client, &record).await,
                    // A client that refuses the certificate sends no request.
                    Some(acceptor) => match acceptor.accept(client).await {
                        Ok(client) => refuse_all(client, &record).await,
                        Err(_refused) => {}
                    },
                }
            }
        });
        let (port, _serving) = serving.await?;
        Ok(Self { port, received, _serving })
    }

    /// What it received since the last call.
    pub(crate) fn take(&self) -> String {
        std::mem::take(&mut *self.received.lock())
    }
}

async fn refuse_all(mut client: impl AsyncRead + AsyncWrite + Unpin, record: &Mutex<String>) {
    let mut buffer = [0; 8192];
    while let Ok(bytes @ 1..) = client.read(&mut buffer).await {
        let text = String::from_utf8_lossy(&buffer[..bytes]);
        record.lock().push_str(&text);
        client.write_all(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n").await.ok();
    }
}

/// Accepts connections on a free port of loopback, and handles each in a task of its own.
async fn serve<F>(
    handle: impl Fn(TcpStream) -> F + Send + 'static,
) -> anyhow::Result<(u16, AbortOnDropHandle<()>)>
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let serving = tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(handle(client));
        }
    });
    Ok((port, AbortOnDropHandle::new(serving)))
}
