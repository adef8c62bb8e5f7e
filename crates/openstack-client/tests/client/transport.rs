//! The real transport on loopback: TLS with an own CA and with client certificates, HTTP/2, proxies, connections kept.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, Version};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use openstack_client::{
    AuthOptions, Client, ClientIdentity, Error, ErrorClass, Outcome, ProxyVariables, Roots, Settings,
    Timeouts, Transport, TransportOptions,
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use secrecy::SecretString;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
};
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
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn pem(&self) -> Vec<u8> {
        self.0.pem().into_bytes()
    }

    /// Certificate and key for `name`.
    fn sign(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.0).unwrap().pem(), key.serialize_pem())
    }
}

/// What a server saw.
#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    requests: Mutex<Vec<(Version, String, Vec<u8>)>>,
}

impl Seen {
    fn requests(&self) -> Vec<(Version, String, Vec<u8>)> {
        self.requests.lock().unwrap().clone()
    }
}

async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

fn answer(seen: &Seen, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let authorization =
        request.headers().get("proxy-authorization").map_or(vec![], |value| value.as_bytes().to_vec());
    seen.requests.lock().unwrap().push((request.version(), request.uri().to_string(), authorization));
    let body = json!({"token": {"expires_at": "2026-11-15T09:00:00Z", "issued_at": "2026-11-15T08:00:00Z", "catalog": []}});
    Response::builder()
        .status(201)
        .header("x-subject-token", "t")
        .body(Full::new(body.to_string().into()))
        .unwrap()
}

/// A Keystone, with TLS if there is an acceptor.
async fn keystone(tls: Option<TlsAcceptor>) -> (SocketAddr, Arc<Seen>) {
    let (listener, address) = listen().await;
    let seen = Arc::new(Seen::default());
    let shared = Arc::clone(&seen);
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            shared.connections.fetch_add(1, Ordering::SeqCst);
            let (seen, tls) = (Arc::clone(&shared), tls.clone());
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

fn acceptor(
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

fn client(url: &str, options: &TransportOptions) -> Client {
    let auth = AuthOptions {
        auth_url: Some(url.to_owned()),
        application_credential_id: Some("ac".into()),
        application_credential_secret: Some(SecretString::from("s3cret-marker")),
        ..AuthOptions::default()
    };
    Client::new(Transport::https(options).unwrap(), Settings::new(auth.resolve().unwrap()))
}

async fn login(url: &str, options: &TransportOptions) -> Result<(), Error> {
    client(url, options).identity().await.map(drop)
}

fn trusting(authority: &Authority) -> TransportOptions {
    TransportOptions { roots: Roots::Pem(authority.pem()), ..TransportOptions::default() }
}

#[tokio::test]
async fn a_cloud_with_its_own_ca_is_believed_only_by_that_ca() {
    let (ours, other) = (Authority::new(), Authority::new());
    let (address, seen) = keystone(Some(acceptor(&ours, "localhost", None, &["h2", "http/1.1"]))).await;
    let url = format!("https://localhost:{}/v3", address.port());
    login(&url, &trusting(&ours)).await.unwrap();
    assert_eq!(seen.requests()[0].0, Version::HTTP_2, "HTTP/2 where it is offered");
    let error = login(&url, &trusting(&other)).await.unwrap_err();
    assert_eq!((error.class(), error.outcome()), (ErrorClass::Transient, Outcome::NotSent));
    assert!(error.to_string().contains("certificate"), "{error}");
    login(&url, &TransportOptions::default()).await.expect_err("the system does not know our CA");
    let insecure = TransportOptions { insecure: true, ..TransportOptions::default() };
    login(&url, &insecure).await.unwrap();
    assert_eq!(seen.requests().len(), 2);
}

#[tokio::test]
async fn a_certificate_for_another_name_is_not_believed() {
    let ours = Authority::new();
    let (address, seen) = keystone(Some(acceptor(&ours, "elsewhere.example", None, &["http/1.1"]))).await;
    let url = format!("https://localhost:{}/v3", address.port());
    login(&url, &trusting(&ours)).await.unwrap_err();
    assert!(seen.requests().is_empty());
}

#[tokio::test]
async fn a_server_without_http_2_is_spoken_to_in_http_1() {
    let ours = Authority::new();
    for protocols in [&["http/1.1"][..], &[]] {
        let (address, seen) = keystone(Some(acceptor(&ours, "localhost", None, protocols))).await;
        login(&format!("https://localhost:{}/v3", address.port()), &trusting(&ours)).await.unwrap();
        assert_eq!(seen.requests()[0].0, Version::HTTP_11);
    }
}

#[tokio::test]
async fn a_cloud_that_wants_to_know_us_is_shown_our_certificate() {
    let (ours, clients) = (Authority::new(), Authority::new());
    let (address, seen) = keystone(Some(acceptor(&ours, "localhost", Some(&clients), &["h2"]))).await;
    let url = format!("https://localhost:{}/v3", address.port());
    login(&url, &trusting(&ours)).await.expect_err("nobody without a certificate");
    let (certificate, key) = clients.sign("ccm");
    let identity =
        ClientIdentity { certificates: certificate.into_bytes(), key: SecretString::from(key.clone()) };
    let options = TransportOptions { identity: Some(identity), ..trusting(&ours) };
    login(&url, &options).await.unwrap();
    assert_eq!(seen.requests().len(), 1);
    let middle = key.lines().nth(1).unwrap();
    assert!(!format!("{options:?}").contains(middle), "the key is not shown");
}

#[test]
fn certificates_and_keys_of_no_use_are_refused_without_being_quoted() {
    let ours = Authority::new();
    let (certificate, _) = ours.sign("ccm");
    let identity = |key: &str| ClientIdentity {
        certificates: certificate.clone().into_bytes(),
        key: SecretString::from(key),
    };
    for options in [
        TransportOptions { roots: Roots::Pem(b"s3cret-marker".to_vec()), ..TransportOptions::default() },
        TransportOptions { roots: Roots::Pem(vec![]), ..TransportOptions::default() },
        TransportOptions { identity: Some(identity("s3cret-marker")), ..trusting(&ours) },
        TransportOptions { identity: Some(identity(&Authority::new().sign("x").1)), ..trusting(&ours) },
    ] {
        let error = Transport::https(&options).map(drop).unwrap_err().to_string();
        assert!(!error.contains("s3cret"), "{error}");
    }
}

/// A proxy that notes what it is asked and makes tunnels to wherever `to` is.
async fn proxy(to: SocketAddr) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let (listener, address) = listen().await;
    let heads = Arc::new(Mutex::new(vec![]));
    let shared = Arc::clone(&heads);
    tokio::spawn(async move {
        while let Ok((mut tcp, _)) = listener.accept().await {
            let heads = Arc::clone(&shared);
            tokio::spawn(async move {
                let head = read_head(&mut tcp).await;
                let tunnel = head.starts_with("CONNECT ");
                heads.lock().unwrap().push(head.clone());
                let mut beyond = TcpStream::connect(to).await.unwrap();
                if tunnel {
                    tcp.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.unwrap();
                } else {
                    beyond.write_all(head.as_bytes()).await.unwrap();
                }
                drop(copy_bidirectional(&mut tcp, &mut beyond).await);
            });
        }
    });
    (address, heads)
}

async fn read_head(tcp: &mut (impl AsyncReadExt + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(tcp.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

#[tokio::test]
async fn a_service_with_tls_is_reached_through_a_tunnel_that_sees_nothing() {
    let ours = Authority::new();
    let (service, seen) = keystone(Some(acceptor(&ours, "keystone.example", None, &["h2"]))).await;
    let (proxy, heads) = proxy(service).await;
    let proxies =
        ProxyVariables { https: format!("http://Aladdin:opensesame@{proxy}"), ..ProxyVariables::default() };
    let options = TransportOptions { proxies, ..trusting(&ours) };
    login("https://keystone.example:5000/v3", &options).await.unwrap();
    let heads = heads.lock().unwrap().clone();
    assert!(heads[0].starts_with("CONNECT keystone.example:5000 HTTP/1.1\r\n"), "{}", heads[0]);
    assert!(heads[0].contains("Basic QWxhZGRpbjpvcGVuc2VzYW1l"), "{}", heads[0]);
    assert_eq!(
        (seen.requests()[0].0, seen.requests()[0].2.len()),
        (Version::HTTP_2, 0),
        "the service does not see them"
    );
    assert!(!format!("{options:?}").contains("opensesame"));
}

#[tokio::test]
async fn a_service_without_tls_is_asked_for_at_the_proxy_itself() {
    let (service, seen) = keystone(None).await;
    let (proxy, heads) = proxy(service).await;
    let proxies = ProxyVariables { http: format!("http://u:p@{proxy}"), ..ProxyVariables::default() };
    let options = TransportOptions { proxies, ..TransportOptions::default() };
    login("http://keystone.example:5000/v3", &options).await.unwrap();
    let head = heads.lock().unwrap()[0].clone();
    assert!(head.starts_with("POST http://keystone.example:5000/v3/auth/tokens HTTP/1.1\r\n"), "{head}");
    assert_eq!(seen.requests()[0].2, b"Basic dTpw");
}

#[tokio::test]
async fn a_proxy_may_itself_want_tls() {
    let ours = Authority::new();
    let (service, seen) = keystone(Some(acceptor(&ours, "keystone.example", None, &["h2"]))).await;
    let (listener, address) = listen().await;
    let tls = acceptor(&ours, "localhost", None, &["http/1.1"]);
    tokio::spawn(async move {
        let (tcp, _) = listener.accept().await.unwrap();
        let mut client = tls.accept(tcp).await.unwrap();
        assert!(read_head(&mut client).await.starts_with("CONNECT keystone.example:443 "));
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        let mut beyond = TcpStream::connect(service).await.unwrap();
        drop(copy_bidirectional(&mut client, &mut beyond).await);
    });
    let proxies = ProxyVariables {
        https: format!("https://localhost:{}", address.port()),
        ..ProxyVariables::default()
    };
    login("https://keystone.example/v3", &TransportOptions { proxies, ..trusting(&ours) }).await.unwrap();
    assert_eq!(seen.requests().len(), 1);
}

/// A SOCKS proxy that wants a login, and what it was told and asked for.
async fn socks(to: SocketAddr) -> (SocketAddr, Arc<Mutex<Vec<u8>>>) {
    let (listener, address) = listen().await;
    let asked = Arc::new(Mutex::new(vec![]));
    let shared = Arc::clone(&asked);
    tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        let hello = take(&mut client, 2, &[]).await;
        take(&mut client, hello[1].into(), &[5, 2]).await;
        let login = take(&mut client, 1 + 1 + 4 + 1 + 8, &[1, 0]).await;
        let request = take(&mut client, 4 + 1 + 16 + 2, &[5, 0, 0, 1, 127, 0, 0, 1, 0, 80]).await;
        shared.lock().unwrap().extend([login, request].concat());
        let mut beyond = TcpStream::connect(to).await.unwrap();
        drop(copy_bidirectional(&mut client, &mut beyond).await);
    });
    (address, asked)
}

async fn take(client: &mut TcpStream, length: usize, reply: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; length];
    client.read_exact(&mut bytes).await.unwrap();
    client.write_all(reply).await.unwrap();
    bytes
}

#[tokio::test]
async fn a_socks_proxy_is_given_the_name_and_resolves_it() {
    let (service, seen) = keystone(None).await;
    let (proxy, asked) = socks(service).await;
    let proxies =
        ProxyVariables { http: format!("socks5://user:password@{proxy}"), ..ProxyVariables::default() };
    login("http://keystone.example:5000/v3", &TransportOptions { proxies, ..TransportOptions::default() })
        .await
        .unwrap();
    assert_eq!(seen.requests()[0].1, "/v3/auth/tokens");
    let asked = String::from_utf8_lossy(&asked.lock().unwrap()).into_owned();
    assert!(
        asked.contains("user") && asked.contains("password") && asked.contains("keystone.example"),
        "{asked:?}"
    );
}

#[tokio::test]
async fn what_no_proxy_names_is_reached_directly() {
    let (service, seen) = keystone(None).await;
    let dead = "http://127.0.0.1:1".to_owned();
    let proxies = ProxyVariables { http: dead.clone(), https: dead, no_proxy: "keystone.example".into() };
    let options = TransportOptions { proxies, ..TransportOptions::default() };
    login(&format!("http://{service}/v3"), &options).await.expect("loopback never goes through a proxy");
    assert_eq!(seen.requests().len(), 1);
}

#[tokio::test]
async fn a_proxy_that_refuses_is_an_error_and_nothing_was_sent() {
    let (listener, address) = listen().await;
    tokio::spawn(async move {
        let (mut tcp, _) = listener.accept().await.unwrap();
        read_head(&mut tcp).await;
        tcp.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n").await.unwrap();
    });
    let proxies = ProxyVariables { https: format!("http://{address}"), ..ProxyVariables::default() };
    let options = TransportOptions { proxies, ..trusting(&Authority::new()) };
    let error = login("https://keystone.example/v3", &options).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::NotSent);
    assert!(error.to_string().contains("proxy authorization required"), "{error}");
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let (service, seen) = keystone(None).await;
    let url = format!("http://{service}/v3");
    let transport = Transport::https(&trusting(&Authority::new())).unwrap();
    for _ in 0..5 {
        let auth = AuthOptions {
            auth_url: Some(url.clone()),
            application_credential_id: Some("ac".into()),
            application_credential_secret: Some(SecretString::from("x")),
            ..AuthOptions::default()
        };
        let client = Client::new(transport.clone(), Settings::new(auth.resolve().unwrap()));
        client.identity().await.unwrap();
    }
    assert_eq!((seen.requests().len(), seen.connections.load(Ordering::SeqCst)), (5, 1));
}

#[tokio::test]
async fn a_server_that_accepts_and_is_silent_is_given_up_within_the_limits() {
    let (listener, address) = listen().await;
    tokio::spawn(async move {
        let mut kept = vec![];
        while let Ok((tcp, _)) = listener.accept().await {
            kept.push(tcp);
        }
    });
    let timeouts = Timeouts {
        connect: Duration::from_millis(300),
        total: Duration::from_secs(30),
        ..Timeouts::default()
    };
    let options = TransportOptions { timeouts, ..trusting(&Authority::new()) };
    let error = login(&format!("https://localhost:{}/v3", address.port()), &options).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::NotSent);
    assert!(error.to_string().contains("no connection within 300ms"), "{error}");
    let timeouts = Timeouts { read: Duration::from_millis(300), ..Timeouts::default() };
    let options = TransportOptions { timeouts, ..trusting(&Authority::new()) };
    let error = login(&format!("http://{address}/v3"), &options).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown);
    assert!(error.to_string().contains("nothing was heard for 300ms"), "{error}");
}

#[tokio::test]
async fn nobody_at_home_is_an_error_and_nothing_was_sent() {
    let (listener, address) = listen().await;
    drop(listener);
    let error = login(&format!("http://{address}/v3"), &trusting(&Authority::new())).await.unwrap_err();
    assert_eq!((error.class(), error.outcome()), (ErrorClass::Transient, Outcome::NotSent));
    assert!(!error.to_string().contains("s3cret"), "{error}");
}
