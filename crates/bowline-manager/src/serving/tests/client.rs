//! A small HTTPS client that trusts any server and tells which certificate it was shown.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::serving::tls;

/// A client certificate and its key.
pub(super) struct ClientCert {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: PrivateKeyDer<'static>,
}

/// One request.
pub(super) struct Ask<'a> {
    pub(super) method: Method,
    pub(super) path: &'a str,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) cert: Option<&'a ClientCert>,
    pub(super) body: &'static str,
    pub(super) http2: bool,
}

impl<'a> Ask<'a> {
    pub(super) fn get(path: &'a str) -> Self {
        let (method, headers) = (Method::GET, Vec::new());
        Self { method, path, headers, cert: None, body: "", http2: false }
    }

    pub(super) fn token(mut self, token: &str) -> Self {
        self.headers.push(("authorization", format!("Bearer {token}")));
        self
    }

    pub(super) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(super) fn cert(mut self, cert: &'a ClientCert) -> Self {
        self.cert = Some(cert);
        self
    }
}

/// Its answer.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

/// A TLS connection to the server, asking for `server_name`.
pub(super) async fn connect(
    address: SocketAddr,
    server_name: &str,
    cert: Option<&ClientCert>,
    alpn: &[&[u8]],
) -> TlsStream<TcpStream> {
    connect_from(Ipv4Addr::UNSPECIFIED, address, server_name, cert, alpn).await.unwrap()
}

/// The same from a source address: on loopback, every address of 127.0.0.0/8 can stand for a machine.
pub(super) async fn connect_from(
    source: Ipv4Addr,
    address: SocketAddr,
    server_name: &str,
    cert: Option<&ClientCert>,
    alpn: &[&[u8]],
) -> std::io::Result<TlsStream<TcpStream>> {
    let builder = ClientConfig::builder_with_provider(tls::provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(TrustAnyone));
    let mut config = match cert {
        Some(cert) => {
            // Not the usual builder method, which refuses a certificate with the key of another.
            let key = tls::provider().key_provider.load_private_key(cert.key.clone_key()).unwrap();
            let shown = CertifiedKey::new(cert.chain.clone(), key);
            builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(shown)))
        }
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((source, 0).into())?;
    let stream = socket.connect(address).await?;
    let name = ServerName::try_from(server_name.to_owned()).unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

/// The leaf the server shows for `server_name`.
pub(super) async fn shown_certificate(address: SocketAddr, server_name: &str) -> CertificateDer<'static> {
    let stream = connect(address, server_name, None, &[]).await;
    stream.get_ref().1.peer_certificates().unwrap()[0].clone().into_owned()
}

/// Sends one request on a connection of its own.
pub(super) async fn send(address: SocketAddr, ask: Ask<'_>) -> Reply {
    send_from(Ipv4Addr::UNSPECIFIED, address, ask).await
}

/// The same from a source address.
pub(super) async fn send_from(source: Ipv4Addr, address: SocketAddr, ask: Ask<'_>) -> Reply {
    let alpn: &[&[u8]] = if ask.http2 { &[b"h2"] } else { &[b"http/1.1"] };
    let stream = connect_from(source, address, "localhost", ask.cert, alpn).await.unwrap();
    let stream = TokioIo::new(stream);
    let uri = if ask.http2 { format!("https://localhost{}", ask.path) } else { ask.path.to_owned() };
    let mut request = Request::builder().method(ask.method).uri(uri);
    if !ask.http2 {
        request = request.header("host", "localhost");
    }
    for (name, value) in ask.headers {
        request = request.header(name, value);
    }
    let request = request.body(Full::new(Bytes::from_static(ask.body.as_bytes()))).unwrap();
    let response = if ask.http2 {
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.unwrap();
        tokio::spawn(connection);
        sender.send_request(request).await.unwrap()
    } else {
        let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        sender.send_request(request).await.unwrap()
    };
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Reply { status: parts.status, headers: parts.headers, body: String::from_utf8(body.to_vec()).unwrap() }
}

#[derive(Debug)]
struct TrustAnyone;

impl ServerCertVerifier for TrustAnyone {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        tls::provider().signature_verification_algorithms.supported_schemes()
    }
}
