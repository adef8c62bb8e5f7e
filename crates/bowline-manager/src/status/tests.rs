//! What is gathered from the parts of a process, and the page that is open to whoever looks.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{CallNote, Note};
use bowline_kube::clock::Clock;
use bowline_testkit::fence::TestFence;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::open::{self, OpenError};
use super::{Query, fixture};

fn call(status: Option<u16>) -> Note {
    Note::Call(CallNote {
        service: "load-balancer",
        method: "GET".to_owned(),
        path: "/v2.0/lbaas/loadbalancers".to_owned(),
        status,
        took: Duration::from_millis(3),
        request_id: Some("req-1".to_owned()),
    })
}

#[tokio::test(start_paused = true)]
async fn three_calls_without_a_good_answer_are_a_problem_and_one_good_answer_ends_it() {
    let page = fixture::blank(Clock::simulated("2026-11-15T08:00:00Z".parse().unwrap()));
    let problems = || page.overview(&Query::default()).problems;
    page.journal().note(|| call(Some(200)));
    for _ in 0..2 {
        page.journal().note(|| call(None));
    }
    assert_eq!(problems(), []);
    page.journal().note(|| call(Some(503)));
    let [problem] = problems().try_into().unwrap();
    assert!(problem.text.contains("load-balancer") && problem.text.contains("08:00:00 UTC"), "{problem:?}");
    // What nobody asks any more is not known to be silent.
    tokio::time::advance(Duration::from_secs(600)).await;
    assert_eq!(problems(), []);
    for _ in 0..3 {
        page.journal().note(|| call(None));
    }
    assert_eq!(problems().len(), 1);
    page.journal().note(|| call(Some(404)));
    assert_eq!(problems(), [], "that something is not there is an answer");
    let row = page.overview(&Query::default()).cloud.remove(0);
    assert_eq!((row.last_minute, row.failed_last_minute), (4, 3));
}

#[tokio::test]
async fn a_pause_is_a_problem_and_a_rail_that_holds() {
    let page = fixture::blank(Clock::system());
    let rail = || {
        let rails = page.overview(&Query::default()).rails;
        rails.into_iter().find(|rail| rail.id == "SR-15").unwrap()
    };
    assert!(!rail().holds);
    page.asks(Arc::new(TestFence::paused_for("rack 7 moves")));
    assert!(rail().holds && rail().says.contains("rack 7 moves"), "{:?}", rail());
    assert_eq!(page.overview(&Query::default()).problems[0].what, "Paused");
}

async fn ask(address: std::net::SocketAddr, path: &str, host: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn an_open_page_is_for_loopback_only_shows_nothing_else_and_closes() {
    let (page, closing) = (fixture::blank(Clock::system()), CancellationToken::new());
    for address in ["0.0.0.0:0", "192.0.2.1:80", "[::]:0"] {
        let refused = open::serve(&page, address.parse().unwrap(), closing.clone()).await;
        assert!(matches!(refused, Err(OpenError::NotLoopback(_))), "{address}");
    }
    let open = open::serve(&page, "127.0.0.1:0".parse().unwrap(), closing.clone()).await.unwrap();
    let address = open.address;
    let answer = ask(address, "/bowline", "localhost:1").await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("content-security-policy"), "{answer}");
    assert!(ask(address, "/", "127.0.0.1").await.contains("location: /bowline"));
    assert!(ask(address, "/bowline.json", "[::1]:8080").await.contains("\"cluster\":\"kubernetes\""));
    for path in ["/metrics", "/configz", "/flagz", "/debug/flags/v"] {
        assert!(ask(address, path, "localhost").await.starts_with("HTTP/1.1 404"), "{path}");
    }
    let rebound = ask(address, "/bowline", "evil.example").await;
    assert!(rebound.starts_with("HTTP/1.1 421"), "{rebound}");
    closing.cancel();
    tokio::time::timeout(Duration::from_secs(10), open.ended()).await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}
