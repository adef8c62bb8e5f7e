//! Which certificate the server shows, and how it changes under a running server.

use std::path::Path;
use std::time::{Duration, SystemTime};

use bowline_testkit::deadline;
use http::Method;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio_util::sync::CancellationToken;

use super::client::{Ask, shown_certificate};
use super::fixture::{Fixture, TestServer};
use crate::serving::certs::fingerprint;
use crate::serving::{SniCertKey, start};

/// Writes a pair for `name` and returns its certificate.
fn write_pair(dir: &Path, stem: &str, name: &str) -> CertificateDer<'static> {
    let pair = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    std::fs::write(dir.join(format!("{stem}.key")), pair.signing_key.serialize_pem()).unwrap();
    std::fs::write(dir.join(format!("{stem}.crt")), pair.cert.pem()).unwrap();
    pair.cert.der().clone()
}

fn with_files(dir: &Path) -> Fixture {
    let mut fixture = Fixture::default();
    fixture.config.cert_file = Some(dir.join("tls.crt"));
    fixture.config.key_file = Some(dir.join("tls.key"));
    fixture.timings.cert_poll = Duration::from_millis(5);
    fixture
}

/// Waits until `condition` holds of the server's certificates.
async fn until(server: &TestServer, condition: impl Fn(&TestServer) -> bool) {
    let mut changes = server.server.certs.changes();
    let met = async {
        while !condition(server) {
            changes.changed().await.unwrap();
        }
    };
    tokio::time::timeout(deadline(), met).await.unwrap();
}

async fn start_error(fixture: Fixture) -> String {
    let (config, parts) = fixture.parts().await;
    start(&config, parts, None, CancellationToken::new()).await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_self_signed_certificate_is_renewed_while_running() {
    let mut fixture = Fixture::default();
    fixture.timings.self_signed_rotate_after = Duration::from_millis(300);
    let server = fixture.start().await;
    let first = shown_certificate(server.address, "localhost").await;
    let told = server.server.certs.fingerprint();
    assert_eq!(*told.borrow(), fingerprint(&first));
    until(&server, |server| *server.server.certs.current().default.cert[0] != *first).await;
    assert_ne!(shown_certificate(server.address, "localhost").await, first);
    let renewed =
        async || told.borrow().clone() == fingerprint(&shown_certificate(server.address, "localhost").await);
    // It may be renewed again between the two looks.
    while !renewed().await {}
}

#[tokio::test]
async fn a_client_that_trusts_the_self_signed_certificate_finds_its_names_in_it() {
    let server = Fixture::default().start().await;
    let mut roots = rustls::RootCertStore::empty();
    roots.add(shown_certificate(server.address, "localhost").await).unwrap();
    let config = rustls::ClientConfig::builder_with_provider(crate::serving::tls::provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = tokio_rustls::TlsConnector::from(std::sync::Arc::new(config));
    for (name, trusted) in [("localhost", true), ("127.0.0.1", true), ("elsewhere.example", false)] {
        let stream = tokio::net::TcpStream::connect(server.address).await.unwrap();
        let name = rustls::pki_types::ServerName::try_from(name).unwrap();
        let shaken = connector.connect(name.clone(), stream).await;
        assert_eq!(shaken.is_ok(), trusted, "{name:?}: {:?}", shaken.err());
    }
}

#[tokio::test]
async fn a_self_signed_certificate_is_kept_in_the_certificate_directory() {
    let dir = tempfile::tempdir().unwrap();
    let fixture = || {
        let mut fixture = Fixture::default();
        fixture.config.cert_dir = Some(dir.path().to_owned());
        fixture
    };
    let first = fixture().start().await;
    let shown = shown_certificate(first.address, "localhost").await;
    let kept = CertificateDer::from_pem_file(dir.path().join("cloud-controller-manager.crt")).unwrap();
    assert_eq!(shown, kept);
    let second = fixture().start().await;
    assert_eq!(shown_certificate(second.address, "localhost").await, shown, "used again");
}

#[tokio::test]
async fn an_aged_certificate_in_the_directory_is_replaced_at_start() {
    use crate::serving::certs::self_signed::{files_in, generate, write};
    let dir = tempfile::tempdir().unwrap();
    let two_years_ago = SystemTime::now() - Duration::from_hours(2 * 365 * 24);
    let aged = generate(std::net::Ipv4Addr::LOCALHOST.into(), two_years_ago).unwrap();
    write(&files_in(dir.path()), &aged).await.unwrap();
    let mut fixture = Fixture::default();
    fixture.config.cert_dir = Some(dir.path().to_owned());
    let server = fixture.start().await;
    let aged = CertificateDer::from_pem_slice(aged.cert.as_bytes()).unwrap();
    assert_ne!(shown_certificate(server.address, "localhost").await, aged);
}

#[tokio::test]
async fn a_pair_of_someone_else_in_the_directory_is_used_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let theirs = write_pair(dir.path(), "cloud-controller-manager", "ccm.example");
    let mut fixture = Fixture::default();
    fixture.config.cert_dir = Some(dir.path().to_owned());
    fixture.timings.self_signed_rotate_after = Duration::from_millis(1);
    fixture.timings.cert_poll = Duration::from_millis(5);
    let server = fixture.start().await;
    assert_eq!(shown_certificate(server.address, "localhost").await, theirs);
    let newer = write_pair(dir.path(), "cloud-controller-manager", "ccm.example");
    until(&server, |server| *server.server.certs.current().default.cert[0] == *newer).await;
}

#[tokio::test]
async fn new_files_are_shown_and_bad_ones_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let first = write_pair(dir.path(), "tls", "one.example");
    let server = with_files(dir.path()).start().await;
    assert_eq!(shown_certificate(server.address, "localhost").await, first);

    let second = write_pair(dir.path(), "tls", "two.example");
    until(&server, |server| *server.server.certs.current().default.cert[0] == *second).await;
    assert_eq!(shown_certificate(server.address, "localhost").await, second);

    std::fs::write(dir.path().join("tls.crt"), "half a certif").unwrap();
    until(&server, |server| server.server.certs.problem().is_some()).await;
    assert_eq!(shown_certificate(server.address, "localhost").await, second, "the old one stays");
    let problem = server.server.certs.problem().unwrap();
    assert!(problem.contains("tls.crt"), "{problem}");
    let ready = server.ask(Ask::get("/readyz?verbose")).await;
    assert_eq!(ready.status, 200);
    assert!(ready.body.contains("[!]serving-certificate degraded: "), "{}", ready.body);

    let third = write_pair(dir.path(), "tls", "three.example");
    until(&server, |server| server.server.certs.problem().is_none()).await;
    assert_eq!(shown_certificate(server.address, "localhost").await, third);
}

#[tokio::test]
async fn a_mounted_secret_that_swaps_its_links_is_followed() {
    let dir = tempfile::tempdir().unwrap();
    let versions = ["v1", "v2"].map(|version| {
        let path = dir.path().join(version);
        std::fs::create_dir(&path).unwrap();
        let cert = write_pair(&path, "tls", "ccm.example");
        (path, cert)
    });
    let data = dir.path().join("..data");
    std::os::unix::fs::symlink(&versions[0].0, &data).unwrap();
    let server = with_files(&data).start().await;
    assert_eq!(shown_certificate(server.address, "localhost").await, versions[0].1);
    let next = dir.path().join("..data_tmp");
    std::os::unix::fs::symlink(&versions[1].0, &next).unwrap();
    std::fs::rename(&next, &data).unwrap();
    until(&server, |server| *server.server.certs.current().default.cert[0] == *versions[1].1).await;
}

#[tokio::test]
async fn at_start_a_bad_pair_is_an_error_that_names_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let missing = start_error(with_files(dir.path())).await;
    assert!(missing.contains("tls.crt") && missing.contains("cannot read"), "{missing}");

    write_pair(dir.path(), "tls", "one.example");
    std::fs::write(dir.path().join("tls.key"), "not a key").unwrap();
    let bad_key = start_error(with_files(dir.path())).await;
    assert!(bad_key.contains("tls.key") && bad_key.contains("private key"), "{bad_key}");

    write_pair(dir.path(), "other", "two.example");
    std::fs::copy(dir.path().join("other.key"), dir.path().join("tls.key")).unwrap();
    let mismatch = start_error(with_files(dir.path())).await;
    assert!(mismatch.contains("cannot be used together"), "{mismatch}");

    let mut half = with_files(dir.path());
    half.config.key_file = None;
    assert!(start_error(half).await.contains("must be given together"));
}

#[tokio::test]
async fn the_server_name_chooses_the_certificate() {
    let dir = tempfile::tempdir().unwrap();
    let default = write_pair(dir.path(), "tls", "default.example");
    let exact = write_pair(dir.path(), "exact", "from-the-certificate.example");
    let wild = write_pair(dir.path(), "wild", "ignored.example");
    let pair = |stem: &str, names: &str| -> SniCertKey {
        let file = |end| dir.path().join(format!("{stem}.{end}")).display().to_string();
        format!("{},{}{names}", file("crt"), file("key")).parse().unwrap()
    };
    let mut fixture = with_files(dir.path());
    fixture.config.sni_cert_keys = vec![pair("exact", ""), pair("wild", ":*.wild.example,plain.example")];
    let server = fixture.start().await;
    for (name, expected) in [
        ("from-the-certificate.example", &exact),
        ("a.wild.example", &wild),
        ("plain.example", &wild),
        ("a.b.wild.example", &default),
        ("ignored.example", &default),
        ("elsewhere.example", &default),
    ] {
        assert_eq!(&shown_certificate(server.address, name).await, expected, "{name}");
    }
}

#[tokio::test]
async fn tls_settings_are_checked_before_anything_listens() {
    let mut fixture = Fixture::default();
    fixture.config.cipher_suites = vec!["TLS_MADE_UP".to_owned()];
    assert!(start_error(fixture).await.contains("TLS_MADE_UP"));
    let mut fixture = Fixture::default();
    fixture.config.min_tls_version = "VersionTLS13".to_owned();
    fixture.config.curve_preferences = vec![29, 4588];
    let server = fixture.start().await;
    assert_eq!(server.status(Ask { method: Method::HEAD, ..Ask::get("/healthz") }).await, 200);
}

#[tokio::test]
async fn an_expired_certificate_is_served_and_reported() {
    let dir = tempfile::tempdir().unwrap();
    let mut params = rcgen::CertificateParams::new(vec!["old.example".to_owned()]).unwrap();
    params.not_before = rcgen::date_time_ymd(2020, 1, 1);
    params.not_after = rcgen::date_time_ymd(2021, 1, 1);
    let key = rcgen::KeyPair::generate().unwrap();
    std::fs::write(dir.path().join("tls.key"), key.serialize_pem()).unwrap();
    std::fs::write(dir.path().join("tls.crt"), params.self_signed(&key).unwrap().pem()).unwrap();
    let server = with_files(dir.path()).start().await;
    let ready = server.ask(Ask::get("/readyz?verbose").token("good")).await;
    assert_eq!(ready.status, 200);
    assert!(ready.body.contains("[!]serving-certificate degraded: the serving certificate has expired"));
    let anonymous = server.ask(Ask::get("/readyz?verbose")).await.body;
    assert!(anonymous.contains("[!]serving-certificate degraded: reason withheld"), "{anonymous}");
}
