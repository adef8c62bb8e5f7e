//! Proxies on loopback: tunnels, plain requests, TLS to the proxy itself, SOCKS.

use std::{net::SocketAddr, sync::Arc};

use http::Version;
use openstack_client::{Outcome, ProxyVariables, TransportOptions};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::TcpStream,
};

use crate::loopback::{Authority, acceptor, keystone, listen, login, trusting};

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
                heads.lock().push(head.clone());
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
    let heads = heads.lock().clone();
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
    let head = heads.lock()[0].clone();
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
        shared.lock().extend([login, request].concat());
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
    let asked = String::from_utf8_lossy(&asked.lock()).into_owned();
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
