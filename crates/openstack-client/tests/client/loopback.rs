//! Servers on loopback: a certificate authority, and a Keystone that notes what it sees.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use http::{Request, Response, Version};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use openstack_client::{AuthOptions, Client, Error, Roots, Settings, Transport, TransportOptions};
use parking_lot::Mutex;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use secrecy::SecretString;
use serde_json::json;
use tokio::net::TcpListener;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        RootCertStore, ServerConfig,
        crypto::aws_lc_rs,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
        server::WebPkiClientVerifier,
    },
};

/// A certificate authority and what it signed.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn pem(&self) -> Vec<u8> {
        self.0.pem().into_bytes()
    }

    /// Certificate and key for `name`.
    pub(crate) fn sign(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.0).unwrap().pem(), key.serialize_pem())
    }
}

/// What a server saw.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) connections: AtomicUsize,
    requests: Mutex<Vec<(Version, String, Vec<u8>)>>,
}

impl Seen {
    pub(crate) fn requests(&self) -> Vec<(Version, String, Vec<u8>)> {
        self.requests.lock().clone()
    }
}

pub(crate) async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

pub(crate) fn answer(seen: &Seen, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let authorization =
        request.headers().get("proxy-authorization").map_or(vec![], |value| value.as_bytes().to_vec());
    seen.requests.lock().push((request.version(), request.uri().to_string(), authorization));
    let body = json!({"token": {"expires_at": "2026-11-15T09:00:00Z", "issued_at": "2026-11-15T08:00:00Z", "catalog": []}});
    Response::builder()
        .status(201)
        .header("x-subject-token", "t")
        .body(Full::new(body.to_string().into()))
        .unwrap()
}

/// A Keystone, with TLS if there is an acceptor.
pub(crate) async fn keystone(tls: Option<TlsAcceptor>) -> (SocketAddr, Arc<Seen>) {
    serving(tls, |_address| answer).await
}

/// A Keystone with TLS in whose catalog Neutron is at the same address and Nova at `target`; Neutron redirects everything to `target`.
pub(crate) async fn redirecting(tls: TlsAcceptor, target: String) -> (SocketAddr, Arc<Seen>) {
    serving(Some(tls), move |address| {
        let target = target.clone();
        move |seen: &Seen, request: &Request<Incoming>| {
            let response = answer(seen, request);
            if !request.uri().path().ends_with("/auth/tokens") {
                let redirect = Response::builder().status(307).header("location", &target);
                return redirect.body(Full::default()).unwrap();
            }
            let endpoint = |kind: &str, url: &str| {
                json!({"type": kind, "endpoints": [{"interface": "public", "region": "R", "url": url}]})
            };
            let own = format!("https://localhost:{}", address.port());
            let body = json!({"token": {"expires_at": "2026-11-15T09:00:00Z", "issued_at": "2026-11-15T08:00:00Z",
                "catalog": [endpoint("network", &own), endpoint("compute", &target)]}});
            response.map(|_empty| Full::new(body.to_string().into()))
        }
    })
    .await
}

/// A server that answers every request as `answer` makes it of its own address.
async fn serving<A>(tls: Option<TlsAcceptor>, answer: impl FnOnce(SocketAddr) -> A) -> (SocketAddr, Arc<Seen>)
where
    A: Fn(&Seen, &Request<Incoming>) -> Response<Full<Bytes>> + Clone + Send + Sync + 'static,
{
    let (listener, address) = listen().await;
    let (seen, answer) = (Arc::new(Seen::default()), answer(address));
    let shared = Arc::clone(&seen);
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            shared.connections.fetch_add(1, Ordering::SeqCst);
            let (seen, tls, answer) = (Arc::clone(&shared), tls.clone(), answer.clone());
            tokio::spawn(async move {
                let service = hyper::service::service_fn(move |request| {
                    let response = answer(&seen, &request);
                    async move { Ok::<_, std::convert::Infallible>(response) }
                });
                let server = auto::Builder::new(TokioExecutor::new());
                // A client that goes away in the middle is what some of these tests are about.
                match tls {
                    Some(tls) => {
                        let Ok(stream) = tls.accept(tcp).await else { return };
                        drop(server.serve_connection(TokioIo::new(stream), service).await);
                    }
                    None => drop(server.serve_connection(TokioIo::new(tcp), service).await),
                }
            });
        }
    });
    (address, seen)
}

pub(crate) fn acceptor(
    authority: &Authority,
    name: &str,
    clients: Option<&Authority>,
    protocols: &[&str],
) -> TlsAcceptor {
    let (certificate, key) = authority.sign(name);
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = match clients {
        Some(clients) => {
            let mut roots = RootCertStore::empty();
            roots.add(CertificateDer::from_pem_slice(&clients.pem()).unwrap()).unwrap();
            builder.with_client_cert_verifier(
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap(),
            )
        }
        None => builder.with_no_client_auth(),
    };
    let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let mut config = builder.with_single_cert(chain, key).unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

pub(crate) fn client(url: &str, options: &TransportOptions) -> Client {
    let auth = AuthOptions {
        auth_url: Some(url.to_owned()),
        application_credential_id: Some("ac".into()),
        application_credential_secret: Some(SecretString::from("s3cret-marker")),
        ..AuthOptions::default()
    };
    Client::new(Transport::https(options).unwrap(), Settings::new(auth.resolve().unwrap()))
}

pub(crate) async fn login(url: &str, options: &TransportOptions) -> Result<(), Error> {
    client(url, options).identity().await.map(drop)
}

pub(crate) fn trusting(authority: &Authority) -> TransportOptions {
    TransportOptions { roots: Roots::Pem(authority.pem()), ..TransportOptions::default() }
}
