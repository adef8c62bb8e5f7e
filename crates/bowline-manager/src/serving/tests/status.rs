//! The status page behind authentication and authorization.

use std::time::Duration;

use bowline_cloud::Note;
use bowline_kube::clock::Clock;
use bowline_testkit::deadline;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;

use super::client::{Ask, connect};
use super::fixture::{Fixture, TestServer};
use crate::serving::ServingTimings;
use crate::status::{StatusPage, fixture};

const PATHS: [&str; 3] = ["/bowline", "/bowline/live", "/bowline.json"];

fn with_page() -> (Fixture, StatusPage) {
    let page = fixture::blank(Clock::system());
    (Fixture { status_page: Some(page.clone()), ..Fixture::default() }, page)
}

/// Asks for the stream and leaves it open.
async fn watch(server: &TestServer) -> TlsStream<TcpStream> {
    let mut stream = connect(server.address, "localhost", None, &[b"http/1.1"]).await;
    let ask = "GET /bowline/live HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer good\r\n\r\n";
    stream.write_all(ask.as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
    stream
}

/// Reads until `wanted` was said, or the end; gives what was said.
async fn read_until(stream: &mut (impl AsyncRead + Unpin), wanted: &str) -> String {
    let mut said = Vec::new();
    let reading = async {
        let mut buffer = [0; 4096];
        while !String::from_utf8_lossy(&said).contains(wanted) {
            match stream.read(&mut buffer).await {
                Ok(0) | Err(_) => break,
                Ok(bytes) => said.extend_from_slice(&buffer[..bytes]),
            }
        }
    };
    timeout(deadline(), reading).await.expect("it is said in time");
    String::from_utf8_lossy(&said).into_owned()
}

#[tokio::test]
async fn who_may_not_look_sees_nothing_and_nobody_may_write() {
    let (fixture, _page) = with_page();
    let server = fixture.start().await;
    for path in PATHS {
        assert_eq!(server.status(Ask::get(path)).await, 403, "{path}");
        let post = Ask { method: http::Method::POST, ..Ask::get(path).token("admin") };
        assert_eq!(server.status(post).await, 405, "{path}");
    }
    let index = server.ask(Ask::get("/").token("admin")).await;
    assert!(PATHS.iter().all(|path| index.body.contains(&format!("{path:?}"))), "{}", index.body);
}

#[tokio::test]
async fn the_page_runs_nothing_but_its_own_script_and_asks_nobody_else() {
    let (fixture, _page) = with_page();
    let server = fixture.start().await;
    let reply =
        server.ask(Ask::get("/bowline?service=%3Cscript%3Ealert(1)%3C/script%3E").token("good")).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.headers["content-type"], "text/html; charset=utf-8");
    let policy = reply.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha384-"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains('*'), "{policy}");
    assert!(!reply.body.contains("<script>alert(1)"), "{}", reply.body);
    assert!(reply.body.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{}", reply.body);
    let json = server.ask(Ask::get("/bowline.json").token("good")).await;
    let value: Value = serde_json::from_str(&json.body).unwrap();
    assert_eq!(json.headers["content-type"], "application/json");
    assert_eq!(value["replica"]["version"], "v9.9.9");
    assert_eq!(value["replica"]["leader"]["role"], "alone");
}

#[tokio::test]
async fn a_stream_outlives_idle_limits_tells_what_is_new_and_ends_with_the_server() {
    let (mut fixture, page) = with_page();
    let soon = Duration::from_millis(300);
    fixture.timings =
        ServingTimings { idle_timeout: soon, header_timeout: soon, ..ServingTimings::default() };
    let server = fixture.start().await;
    let mut stream = watch(&server).await;
    let first = read_until(&mut stream, "timeline-body").await;
    assert!(first.contains("content-type: text/event-stream") && first.contains("event: parts"), "{first}");
    for news in ["first news", "second news"] {
        // A look is due a second after the last one, which is longer than the limits on idle connections.
        page.journal().note(|| Note::Leader(news.to_owned()));
        let said = read_until(&mut stream, news).await;
        assert!(said.contains(news) && !said.contains("rails-body"), "only what changed: {said}");
    }
    server.shutdown.cancel();
    let last = read_until(&mut stream, "event: bye").await;
    assert!(last.contains("event: bye"), "{last}");
    timeout(Duration::from_secs(10), server.server.ended()).await.expect("a stream does not hold up the end");
}

#[tokio::test]
async fn too_many_who_watch_are_refused_with_words_and_a_place_that_is_left_is_free() {
    let (fixture, page) = with_page();
    let server = fixture.start().await;
    let mut streams = Vec::new();
    while page.free_places() > 0 {
        let mut stream = watch(&server).await;
        read_until(&mut stream, "event: parts").await;
        streams.push(stream);
    }
    let refused = server.ask(Ask::get("/bowline/live").token("good")).await;
    assert_eq!(refused.status, 503);
    assert!(refused.body.contains("others watch this page live already"), "{}", refused.body);
    assert_eq!(server.status(Ask::get("/bowline").token("good")).await, 200, "the page itself is for all");
    drop(streams);
    let left = async {
        while page.free_places() == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(deadline(), left).await.expect("the places are free again");
}
