//! Strangers who hold as many connections as they can. 127.0.0.1 is this host here, every other address of loopback a stranger's.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use bowline_testkit::deadline;
use bowline_testkit::process::Process;
use bytes::Bytes;
use futures::FutureExt;
use futures::future::join_all;
use http::Request;
use http_body_util::Empty;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::task::{JoinSet, unconstrained};
use tokio::time::{sleep, timeout};
use tokio_rustls::client::TlsStream;

use super::client::{Ask, connect_from, send_from};
use super::fixture::{Fixture, Tokens};
use crate::open_files;
use crate::serving::reviews::ReviewError;
use crate::serving::{ConnectionLimits, ServingTimings, TokenReviewer, User};

const THIS_HOST: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// Longer than [`deadline`] on the slowest machine.
const LONG: Duration = Duration::from_secs(3600);

/// A server whose limits are those that are shipped, but for time: what these tests see is not the end of a time limit.
fn fixture() -> Fixture {
    let connections = ConnectionLimits {
        local_addresses: Some(vec![IpAddr::V4(THIS_HOST)]),
        ..ConnectionLimits::default()
    };
    let timings = ServingTimings {
        handshake_timeout: LONG,
        header_timeout: LONG,
        anonymous_header_timeout: LONG,
        idle_timeout: LONG,
        anonymous_idle_timeout: LONG,
        connections,
        ..ServingTimings::default()
    };
    Fixture { timings, ..Fixture::default() }
}

/// One of many machines.
fn stranger(number: usize) -> Ipv4Addr {
    let [high, low] = u16::try_from(number).unwrap().to_be_bytes();
    Ipv4Addr::new(127, 1, high, low)
}

/// Whether the server has closed the connection.
fn is_closed(stream: &mut TlsStream<TcpStream>) -> bool {
    let mut byte = [0];
    // Unconstrained: a task may otherwise read only a hundred times before every read is pending.
    unconstrained(stream.read(&mut byte)).now_or_never().is_some_and(|read| !matches!(read, Ok(1..)))
}

/// Asks for a path on a connection that stays open.
async fn ask_on(stream: &mut TlsStream<TcpStream>, request: &str) -> String {
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = vec![0; 4096];
    let length = timeout(deadline(), stream.read(&mut answer)).await.unwrap().unwrap();
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

#[tokio::test]
async fn a_thousand_idle_connections_keep_neither_probes_nor_scrapers_nor_newcomers_waiting() {
    open_files::raise_limit().unwrap();
    let server = fixture().start().await;
    let address = server.address;
    let scrape = "GET /metrics HTTP/1.1\r\nhost: x\r\nauthorization: Bearer good\r\n\r\n";
    let mut scraper =
        connect_from(Ipv4Addr::new(127, 2, 0, 1), address, "localhost", None, &[]).await.unwrap();
    assert!(ask_on(&mut scraper, scrape).await.starts_with("HTTP/1.1 200"));
    let mut idle = Vec::new();
    for number in 0..1000 {
        let connected = connect_from(stranger(number % 100), address, "localhost", None, &[]);
        idle.push(timeout(deadline(), connected).await.expect("connections do not wait").unwrap());
    }
    for source in [THIS_HOST, Ipv4Addr::new(127, 2, 0, 2)] {
        let probe = timeout(deadline(), send_from(source, address, Ask::get("/livez")));
        assert_eq!(probe.await.unwrap().status, 200, "from {source}");
    }
    assert!(ask_on(&mut scraper, scrape).await.starts_with("HTTP/1.1 200"), "on the same connection");
    let kept = ConnectionLimits::default().anonymous;
    let closed = async {
        // What was closed may still be on its way.
        while idle.iter_mut().map(is_closed).filter(|is_closed| !is_closed).count() > kept {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(deadline(), closed).await.expect("no more than the limit stay open");
    let open: Vec<usize> = (0..1000).filter(|number| !is_closed(&mut idle[*number])).collect();
    assert!(open.len() + 2 >= kept, "no more are closed than have to be: {}", open.len());
    assert!(open.iter().all(|number| *number >= 1000 - kept), "those that are idle for longest go: {open:?}");
}

/// Reviews that begin and do not end.
#[derive(Default)]
struct Stuck(Notify);

#[async_trait]
impl TokenReviewer for Stuck {
    async fn review(&self, _token: &str) -> Result<Option<User>, ReviewError> {
        self.0.notify_one();
        std::future::pending().await
    }
}

#[tokio::test]
async fn requests_of_strangers_beyond_the_limit_are_answered_at_once_and_those_of_all_others_are_served() {
    let stuck = Arc::new(Stuck::default());
    let mut fixture = Fixture { tokens: Some(stuck.clone()), ..fixture() };
    fixture.timings.connections.anonymous_requests = 1;
    let server = fixture.start().await;
    let address = server.address;
    let under_way = tokio::spawn(send_from(stranger(1), address, Ask::get("/metrics").token("any")));
    stuck.0.notified().await;
    let refused = send_from(stranger(1), address, Ask::get("/metrics")).await;
    assert_eq!((refused.status.as_u16(), &refused.headers["retry-after"]), (429, &"1".parse().unwrap()));
    let refused = send_from(stranger(1), address, Ask::get("/livez").token("any")).await;
    assert_eq!(refused.status, 429, "a token needs a review on every path");
    for source in [THIS_HOST, stranger(1), stranger(2)] {
        assert_eq!(send_from(source, address, Ask::get("/livez")).await.status, 200, "from {source}");
    }
    assert_eq!(send_from(stranger(2), address, Ask::get("/metrics")).await.status, 403, "its only one");
    under_way.abort();
}

#[tokio::test]
async fn only_a_permitted_request_for_a_page_that_few_may_read_makes_a_caller_known() {
    let mut fixture = fixture();
    fixture.timings.connections.anonymous = 1;
    let server = fixture.start().await;
    // Kubernetes lets each ServiceAccount read these two.
    for path in ["/livez", "/version", "/metrics"] {
        let mut caller = connect_from(stranger(1), server.address, "localhost", None, &[]).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer good\r\n\r\n");
        ask_on(&mut caller, &request).await;
        assert_eq!(send_from(stranger(2), server.address, Ask::get("/livez")).await.status, 200);
        caller.write_all(request.as_bytes()).await.ok();
        let answered =
            timeout(deadline(), caller.read(&mut [0; 64])).await.unwrap().is_ok_and(|read| read > 0);
        assert_eq!(answered, path == "/metrics", "{path}");
    }
}

#[tokio::test]
async fn a_token_that_is_too_long_is_refused_without_a_review() {
    let tokens = Arc::new(Tokens::default());
    let server = Fixture { tokens: Some(tokens.clone()), ..fixture() }.start().await;
    let reply = server.ask(Ask::get("/metrics").token(&"t".repeat(16 * 1024 + 1))).await;
    assert_eq!((reply.status.as_u16(), tokens.calls.load(Ordering::SeqCst)), (401, 0));
    assert_eq!(server.status(Ask::get("/metrics").token(&"t".repeat(16 * 1024))).await, 401);
    assert_eq!(tokens.calls.load(Ordering::SeqCst), 1);
}

/// Only the scraper's token has a review that ends.
struct StuckButScraper(Arc<Tokens>);

#[async_trait]
impl TokenReviewer for StuckButScraper {
    async fn review(&self, token: &str) -> Result<Option<User>, ReviewError> {
        match token {
            "good" => self.0.review(token).await,
            _ => {
                self.0.calls.fetch_add(1, Ordering::SeqCst);
                std::future::pending().await
            }
        }
    }
}

/// An HTTP/2 connection whose caller has been permitted to read `/metrics`.
async fn authenticated_connection(source: Ipv4Addr, address: SocketAddr) -> SendRequest<Empty<Bytes>> {
    let stream = connect_from(source, address, "localhost", None, &[b"h2"]).await.unwrap();
    let (mut sender, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let reply = sender.send_request(with_token("good")).await.unwrap();
    assert_eq!(reply.status(), 200);
    sender
}

fn with_token(token: &str) -> Request<Empty<Bytes>> {
    let request =
        Request::get("https://localhost/metrics").header("authorization", format!("Bearer {token}"));
    request.body(Empty::new()).unwrap()
}

/// Sends as many requests as HTTP/2 allows on each connection, each with a bad token of its own, and returns the first `answers`
/// status codes. The requests that are not answered stay under way as long as the tasks are held.
async fn bad_tokens(
    connections: &[SendRequest<Empty<Bytes>>],
    bytes: usize,
    answers: usize,
) -> (Vec<u16>, JoinSet<Option<u16>>) {
    let mut requests = JoinSet::new();
    for (number, connection) in connections.iter().enumerate() {
        for stream in 0..STREAMS {
            let token = format!("{number}-{stream}-{bytes}-{}", "t".repeat(bytes));
            let mut connection = connection.clone();
            requests.spawn(async move {
                let reply = connection.send_request(with_token(&token)).await;
                reply.ok().map(|reply| reply.status().as_u16())
            });
        }
    }
    let mut statuses = Vec::new();
    while statuses.len() < answers {
        let answer = timeout(deadline(), requests.join_next()).await.expect("answers at once").unwrap();
        statuses.extend(answer.unwrap());
    }
    (statuses, requests)
}

/// Requests on each connection: the limit of streams is 100.
const STREAMS: usize = 90;

#[tokio::test]
async fn an_authenticated_caller_with_bad_tokens_has_few_reviews_under_way_and_others_are_served() {
    let tokens = Arc::new(Tokens::default());
    let reviewer = Arc::new(StuckButScraper(tokens.clone()));
    let server = Fixture { tokens: Some(reviewer), ..fixture() }.start().await;
    let attacker = join_all((0..4).map(|_| authenticated_connection(stranger(1), server.address))).await;
    let limit = ConnectionLimits::default().requests_per_source;
    let (statuses, _under_way) = bad_tokens(&attacker, 100, 4 * STREAMS - limit).await;
    assert!(statuses.iter().all(|status| *status == 429), "{statuses:?}");
    assert_eq!(tokens.calls.load(Ordering::SeqCst), limit + 1);
    let scrape =
        timeout(deadline(), send_from(stranger(2), server.address, Ask::get("/metrics").token("good")));
    assert_eq!(scrape.await.unwrap().status, 200);
}

/// Marks the process that serves: its memory is measured, without that of the clients.
const SERVES: &str = "BOWLINE_TEST_SERVES_CROWDS";

/// The shape of an attack: how many connections, and how many bytes of a request head without its end on each.
const ATTACKS: [(usize, usize); 2] = [(300, 60 * 1024), (300, 1 << 20)];

/// The most that all attacks together may cost, as `docs/reference/serving.md` says.
const MEMORY_BYTES_MAX: usize = 64 << 20;

/// Serves in a process of its own if this is that process, and never returns then.
async fn serve_crowds() {
    if std::env::var_os(SERVES).is_some() {
        let reviewer = Arc::new(StuckButScraper(Arc::default()));
        let server = Fixture { tokens: Some(reviewer), ..fixture() }.start().await;
        println!("\nserves {}", server.address);
        // Until the test is done with it.
        std::future::pending::<()>().await;
    }
}

/// A process that serves.
struct ServingProcess {
    process: Process,
    address: SocketAddr,
    resident_bytes_at_start: usize,
    _folder: TempDir,
}

impl ServingProcess {
    /// Runs `test` again, which has to begin with [`serve_crowds`].
    async fn start(test: &str) -> Self {
        open_files::raise_limit().unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", &format!("serving::tests::crowds::{test}"), "--nocapture", "--test-threads=1"])
            .env(SERVES, "1");
        let folder = tempfile::tempdir().unwrap();
        let mut process = Process::start(command, folder.path().join("log")).unwrap();
        let address = process.line("serves ").await.unwrap()["serves ".len()..].parse().unwrap();
        let mut this = Self { process, address, resident_bytes_at_start: 0, _folder: folder };
        this.answers().await;
        this.resident_bytes_at_start = resident_bytes(this.process.pid(), "VmRSS:");
        this
    }

    async fn answers(&self) {
        assert_eq!(send_from(THIS_HOST, self.address, Ask::get("/livez")).await.status, 200);
    }

    /// Checks that the server still answers, and how much memory it took at most since its start.
    async fn assert_little_memory(&self) {
        self.answers().await;
        let before = self.resident_bytes_at_start;
        let grown = resident_bytes(self.process.pid(), "VmHWM:").saturating_sub(before);
        println!("the server's memory grew by {} KiB at most, from {} KiB", grown >> 10, before >> 10);
        assert!(grown < MEMORY_BYTES_MAX, "{grown} bytes");
    }
}

#[tokio::test]
async fn request_heads_without_an_end_cost_little_memory() {
    serve_crowds().await;
    let server = ServingProcess::start("request_heads_without_an_end_cost_little_memory").await;
    let mut held = Vec::new();
    for (connections, bytes) in ATTACKS {
        let heads = (0..connections).map(|number| unfinished_head(server.address, number, bytes));
        held.extend(join_all(heads).await);
    }
    server.assert_little_memory().await;
}

#[tokio::test]
async fn bad_tokens_of_authenticated_callers_cost_little_memory() {
    serve_crowds().await;
    let server = ServingProcess::start("bad_tokens_of_authenticated_callers_cost_little_memory").await;
    let mut held = Vec::new();
    let limit = ConnectionLimits::default().requests_per_source;
    for source in 1..=4 {
        let connections = (0..4).map(|_| authenticated_connection(stranger(source), server.address));
        let connections = join_all(connections).await;
        let (statuses, _) = bad_tokens(&connections, 60 << 10, 4 * STREAMS).await;
        assert!(statuses.iter().all(|status| matches!(status, 401 | 429)), "{statuses:?}");
        let (_, under_way) = bad_tokens(&connections, 15 << 10, 4 * STREAMS - limit).await;
        held.push((connections, under_way));
    }
    server.assert_little_memory().await;
}

/// Sends as much of a head as the server takes. The connection stays open as long as the answer is held.
async fn unfinished_head(address: SocketAddr, number: usize, bytes: usize) -> Option<TlsStream<TcpStream>> {
    // A connection that the server closes meanwhile, for another one, costs nothing any more.
    let mut stream = connect_from(stranger(number), address, "localhost", None, &[]).await.ok()?;
    stream.write_all(b"GET /livez HTTP/1.1\r\nhost: x\r\nx-long: ").await.ok()?;
    for _ in 0..bytes / 4096 {
        stream.write_all(&[b'a'; 4096]).await.ok()?;
    }
    stream.flush().await.ok()?;
    Some(stream)
}

/// A figure of a process's memory, as Linux has it.
fn resident_bytes(process: u32, name: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}
