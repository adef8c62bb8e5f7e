//! Who gets in, and what they get.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bowline_testkit::deadline;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::client::{Ask, connect};
use super::fixture::{Access, Authority, Broken, Fixture, Lookup, Tokens};
use crate::serving::{AuthConfigLookup, ServingMetrics};

#[tokio::test]
async fn health_is_open_to_everyone_and_metrics_are_not() {
    let server = Fixture::default().start().await;
    for path in ["/healthz", "/livez", "/readyz"] {
        let reply = server.ask(Ask::get(path)).await;
        assert_eq!((reply.status.as_u16(), reply.body.as_str()), (200, "ok"), "{path}");
    }
    let reply = server.ask(Ask::get("/metrics")).await;
    assert_eq!(reply.status, 403);
    let body: serde_json::Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!(body["message"], r#"forbidden: User "system:anonymous" cannot get path "/metrics""#);
    assert_eq!(body["kind"], "Status");
}

#[tokio::test]
async fn a_good_token_gets_what_its_owner_may() {
    let server = Fixture::default().start().await;
    assert_eq!(server.status(Ask::get("/metrics").token("good")).await, 200);
    assert_eq!(
        server.status(Ask::get("/configz").token("admin")).await,
        200,
        "system:masters needs no review"
    );
    assert_eq!(server.status(Ask::get("/metrics").token(&server.loopback_token)).await, 200);
    let put = Ask { method: http::Method::PUT, body: "4", ..Ask::get("/debug/flags/v").token("good") };
    assert_eq!(server.status(put).await, 403, "readers may only get");
}

#[tokio::test]
async fn a_token_that_is_not_accepted_is_401_even_on_open_paths() {
    let server = Fixture::default().start().await;
    for token in ["bad", "down"] {
        assert_eq!(server.status(Ask::get("/healthz").token(token)).await, 401, "{token}");
    }
    let basic = Ask::get("/healthz").header("authorization", "Basic Zm9vOmJhcg==");
    assert_eq!(server.status(basic).await, 200, "not a kind of credential that is known here");
}

#[tokio::test]
async fn without_a_reviewer_tokens_are_ignored_and_only_open_paths_are_served() {
    let server = Fixture { tokens: None, access: None, ..Fixture::default() }.start().await;
    assert_eq!(server.status(Ask::get("/healthz").token("bad")).await, 200);
    assert_eq!(server.status(Ask::get("/metrics").token("good")).await, 403);
    assert_eq!(server.status(Ask::get("/metrics").token(&server.loopback_token)).await, 200);
}

#[tokio::test]
async fn broken_reviews_leave_health_open_and_make_metrics_500() {
    let mut fixture = Fixture {
        tokens: Some(Arc::new(Broken)),
        access: Some(Arc::new(Broken)),
        lookup: Some(Arc::new(Broken)),
        ..Fixture::default()
    };
    fixture.authn.skip_lookup = true;
    let server = fixture.start().await;
    assert_eq!(server.status(Ask::get("/healthz")).await, 200);
    assert_eq!(server.status(Ask::get("/metrics")).await, 500);
}

#[tokio::test]
async fn an_allow_listed_path_is_served_with_broken_reviews() {
    let mut fixture = Fixture { access: Some(Arc::new(Broken)), ..Fixture::default() };
    fixture.authz.always_allow_paths = vec!["/healthz".to_owned(), "/metrics*".to_owned()];
    let server = fixture.start().await;
    assert_eq!(server.status(Ask::get("/metrics")).await, 200);
    assert_eq!(server.status(Ask::get("/metrics/slis")).await, 200);
    assert_eq!(server.status(Ask::get("/readyz")).await, 500, "no longer on the list");
}

#[tokio::test]
async fn reviews_are_remembered_for_a_while() {
    let (tokens, access) = (Arc::new(Tokens::default()), Arc::new(Access::default()));
    let fixture =
        Fixture { tokens: Some(tokens.clone()), access: Some(access.clone()), ..Fixture::default() };
    let server = fixture.start().await;
    for _ in 0..3 {
        assert_eq!(server.status(Ask::get("/metrics").token("good")).await, 200);
        assert_eq!(server.status(Ask::get("/metrics").token("bad")).await, 401);
    }
    assert_eq!(tokens.calls.load(Ordering::SeqCst), 2);
    assert_eq!(access.calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_client_certificate_names_user_and_groups() {
    let (ours, other) = (Authority::new("clients"), Authority::new("others"));
    let lookup = Lookup::with(&[("client-ca-file", ours.pem.clone())]);
    let server = Fixture { lookup: Some(lookup), ..Fixture::default() }.start().await;
    let reader = ours.client("jane", &["readers"]);
    assert_eq!(server.status(Ask::get("/metrics").cert(&reader)).await, 200);
    let nobody = ours.client("joe", &["writers"]);
    let reply = server.ask(Ask::get("/metrics").cert(&nobody)).await;
    assert_eq!(reply.status, 403);
    assert!(reply.body.contains(r#"User \"joe\""#), "{}", reply.body);
    let master = ours.client("root", &["system:masters"]);
    assert_eq!(server.status(Ask::get("/configz").cert(&master)).await, 200);

    let stranger = other.client("root", &["system:masters"]);
    assert_eq!(server.status(Ask::get("/healthz").cert(&stranger)).await, 401);
    let stranger_with_token = Ask::get("/metrics").cert(&stranger).token("good");
    assert_eq!(server.status(stranger_with_token).await, 200, "another credential may still be accepted");
}

#[tokio::test]
async fn a_client_certificate_without_its_key_ends_the_connection() {
    let ours = Authority::new("clients");
    let lookup = Lookup::with(&[("client-ca-file", ours.pem.clone())]);
    let server = Fixture { lookup: Some(lookup), ..Fixture::default() }.start().await;
    let mut stolen = ours.client("root", &["system:masters"]);
    stolen.key = ours.client("joe", &[]).key;
    let mut stream = connect(server.address, "localhost", Some(&stolen), &[]).await;
    let mut answer = Vec::new();
    // In TLS 1.3 the client believes the handshake done before the server has judged it: the refusal comes here.
    let asked =
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await;
    let read = stream.read_to_end(&mut answer).await;
    assert!(asked.is_err() || read.is_err(), "{}", String::from_utf8_lossy(&answer));
    assert!(answer.is_empty(), "{}", String::from_utf8_lossy(&answer));
}

#[tokio::test]
async fn without_authorities_client_certificates_are_ignored() {
    let server = Fixture::default().start().await;
    let stranger = Authority::new("others").client("root", &["system:masters"]);
    assert_eq!(server.status(Ask::get("/healthz").cert(&stranger)).await, 200);
    assert_eq!(server.status(Ask::get("/metrics").cert(&stranger)).await, 403);
}

fn front_proxy_lookup(proxies: &Authority, clients: &Authority) -> Arc<dyn AuthConfigLookup> {
    Lookup::with(&[
        ("client-ca-file", clients.pem.clone()),
        ("requestheader-client-ca-file", proxies.pem.clone()),
        ("requestheader-allowed-names", r#"["front-proxy-client"]"#.to_owned()),
        ("requestheader-username-headers", r#"["X-Remote-User"]"#.to_owned()),
        ("requestheader-group-headers", r#"["X-Remote-Group"]"#.to_owned()),
        ("requestheader-extra-headers-prefix", r#"["X-Remote-Extra-"]"#.to_owned()),
    ])
}

#[tokio::test]
async fn a_front_proxy_speaks_for_users() {
    let (proxies, clients) = (Authority::new("proxies"), Authority::new("clients"));
    let lookup = front_proxy_lookup(&proxies, &clients);
    let server = Fixture { lookup: Some(lookup), ..Fixture::default() }.start().await;
    let as_reader = |cert| {
        Ask::get("/metrics").cert(cert).header("x-remote-user", "jane").header("x-remote-group", "readers")
    };
    let proxy = proxies.client("front-proxy-client", &[]);
    assert_eq!(server.status(as_reader(&proxy)).await, 200);

    let impostor = proxies.client("someone-else", &[]);
    assert_eq!(server.status(as_reader(&impostor)).await, 401, "not an allowed name");
    let client = clients.client("joe", &[]);
    assert_eq!(server.status(as_reader(&client)).await, 403, "joe, whatever the headers say");
    let nobody = Ask::get("/metrics").header("x-remote-user", "jane").header("x-remote-group", "readers");
    assert_eq!(server.status(nobody).await, 403, "headers without a certificate mean nothing");
}

#[tokio::test]
async fn authorities_are_followed_while_running() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let lookup = Lookup::with(&[("client-ca-file", old.pem.clone())]);
    let mut fixture = Fixture { lookup: Some(lookup.clone()), ..Fixture::default() };
    fixture.timings.authority_refresh = Duration::from_millis(5);
    let server = fixture.start().await;
    let (before, after) = (old.client("jane", &["readers"]), new.client("jane", &["readers"]));
    assert_eq!(server.status(Ask::get("/metrics").cert(&before)).await, 200);
    lookup.0.lock().insert("client-ca-file".to_owned(), new.pem.clone());
    let followed = async { while server.status(Ask::get("/metrics").cert(&after)).await != 200 {} };
    tokio::time::timeout(deadline(), followed).await.unwrap();
    assert_eq!(server.status(Ask::get("/metrics").cert(&before)).await, 401);

    lookup.0.lock().insert("client-ca-file".to_owned(), "rubbish".to_owned());
    for _ in 0..5 {
        assert_eq!(server.status(Ask::get("/metrics").cert(&after)).await, 200, "the old authorities stay");
    }
}

#[tokio::test]
async fn a_failing_lookup_stops_the_start_unless_tolerated() {
    let mut fixture = Fixture { lookup: Some(Arc::new(Broken)), ..Fixture::default() };
    let error = fixture.authenticator(&ServingMetrics::default()).await.err().unwrap().to_string();
    assert!(error.contains("extension-apiserver-authentication-reader"), "{error}");
    fixture.authn.tolerate_lookup_failure = true;
    assert!(fixture.authenticator(&ServingMetrics::default()).await.is_ok());
}

#[tokio::test]
async fn files_given_by_flags_take_the_place_of_the_lookup() {
    let dir = tempfile::tempdir().unwrap();
    let (clients, proxies) = (Authority::new("clients"), Authority::new("proxies"));
    let mut fixture = Fixture { lookup: Some(Arc::new(Broken)), ..Fixture::default() };
    for (name, authority, slot) in [
        ("clients.crt", &clients, &mut fixture.authn.client_ca_file),
        ("proxies.crt", &proxies, &mut fixture.authn.request_header_client_ca_file),
    ] {
        let file = dir.path().join(name);
        std::fs::write(&file, &authority.pem).unwrap();
        *slot = Some(file);
    }
    let server = fixture.start().await;
    let proxy = proxies.client("any", &[]);
    let ask =
        Ask::get("/metrics").cert(&proxy).header("x-remote-user", "j").header("x-remote-group", "readers");
    assert_eq!(server.status(ask).await, 200);
    let reader = clients.client("jane", &["readers"]);
    assert_eq!(server.status(Ask::get("/metrics").cert(&reader)).await, 200);
}
