//! The real transport on loopback: TLS with an own CA and with client certificates, HTTP/2, limits, connections kept.

use std::{sync::atomic::Ordering, time::Duration};

use http::Version;
use openstack_client::{
    AuthOptions, Client, ClientIdentity, ErrorClass, Outcome, Roots, Settings, Timeouts, Transport,
    TransportOptions,
};
use secrecy::SecretString;

use crate::loopback::{Authority, acceptor, client, keystone, listen, login, redirecting, trusting};

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
async fn a_certificate_that_nobody_can_use_does_not_spoil_those_beside_it() {
    const BROKEN: &[u8] = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let ours = Authority::new();
    let (address, _) = keystone(Some(acceptor(&ours, "localhost", None, &["http/1.1"]))).await;
    let url = format!("https://localhost:{}/v3", address.port());
    let pem = |pem: Vec<u8>| TransportOptions { roots: Roots::Pem(pem), ..TransportOptions::default() };
    login(&url, &pem([BROKEN, &ours.pem()].concat())).await.unwrap();
    let error = Transport::https(&pem(BROKEN.to_vec())).unwrap_err();
    assert!(error.to_string().contains("CA certificates"), "{error}");
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

#[tokio::test]
async fn the_real_transport_takes_no_token_from_https_to_http() {
    let ours = Authority::new();
    let (clear, heard) = keystone(None).await;
    let target = format!("http://{clear}/v2.0/ports/p");
    let (address, _) =
        redirecting(acceptor(&ours, "localhost", None, &["h2", "http/1.1"]), target.clone()).await;
    let client = client(&format!("https://localhost:{}/v3", address.port()), &trusting(&ours));
    let port = openstack_client::PortId::new("p").unwrap();
    // Its Neutron has TLS and redirects; its Nova has none.
    let error = client.network().port(&port).await.unwrap_err();
    assert!(error.to_string().contains("a redirect to http://"), "{error}");
    let server = openstack_client::ServerId::new("11111111-2222-3333-4444-555555555555").unwrap();
    let error = client.compute().server(&server).await.unwrap_err();
    assert_eq!((error.class(), error.outcome()), (ErrorClass::Insecure, Outcome::NotSent));
    assert_eq!(heard.connections.load(Ordering::SeqCst), 0, "nobody called the address without TLS");
}
