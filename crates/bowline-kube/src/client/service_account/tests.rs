//! Tests of clients with tokens of their own, in virtual time on an API server in memory that gives tokens out.

use std::{
    io::{Read, Write},
    net::TcpListener,
};

use http::Method;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::{Instant, advance};

use super::*;
use crate::scripted_api::{Answer, Asked, Log, Server, service};

const SECOND: Duration = Duration::from_secs(1);
const ACCOUNTS: &str = "/api/v1/namespaces/kube-system/serviceaccounts";

/// What the server has and does.
#[derive(Debug, Default)]
struct State {
    exists: bool,
    /// Another replica creates the account between our look and our write.
    raced: bool,
    issued: u32,
    /// How the next `TokenRequest`s fail.
    failure: Option<(u16, &'static str)>,
    refused_tokens: Vec<String>,
}

struct World {
    state: Arc<Mutex<State>>,
    clients: ServiceAccountClients,
    server: Server,
    log: Log,
    client: Option<Client>,
}

fn factory(address: &str) -> ClientFactory {
    let mut config = Config::new(address.parse().unwrap());
    config.auth_info.token =
        serde_json::from_value::<AuthInfo>(json!({"token": "root-token"})).unwrap().token;
    ClientFactory::new(config, "ccm", "v1", 0.0, 0)
}

fn answer(state: &mut State, asked: &Asked, now: Timestamp) -> Answer {
    match (&asked.method, asked.path.strip_prefix(ACCOUNTS)) {
        (&Method::GET, Some("/node-controller")) if state.exists => Answer::ok(account()),
        (&Method::GET, Some(_)) => Answer::status(404, "NotFound", "no such account"),
        (&Method::POST, Some("")) if state.raced => {
            state.exists = true;
            Answer::status(409, "AlreadyExists", "it is there")
        }
        (&Method::POST, Some("")) => {
            state.exists = true;
            Answer::Json(201, asked.body.clone())
        }
        (&Method::POST, Some("/node-controller/token")) => token(state, now),
        _ if state.refused_tokens.contains(&bearer(asked)) => {
            Answer::status(401, "Unauthorized", "Unauthorized")
        }
        _ => Answer::ok(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})),
    }
}

fn account() -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "node-controller"}})
}

fn token(state: &mut State, now: Timestamp) -> Answer {
    if let Some((code, reason)) = state.failure {
        return Answer::status(code, reason, "not now");
    }
    state.issued += 1;
    let status = json!({"token": format!("token-{}", state.issued), "expirationTimestamp": now + SignedDuration::from_hours(1)});
    Answer::Json(201, json!({"kind": "TokenRequest", "spec": {"audiences": ["api"]}, "status": status}))
}

fn bearer(asked: &Asked) -> String {
    asked.headers.get("authorization").map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
}

impl World {
    fn new(state: State) -> Self {
        let clock = Clock::simulated("2026-11-02T08:00:00Z".parse().unwrap());
        let (state, server_clock) = (Arc::new(Mutex::new(state)), clock.clone());
        let served = Arc::clone(&state);
        let (server, log) = service(move |asked| answer(&mut served.lock(), asked, server_clock.now()));
        let factory = factory("https://api.example:6443");
        let root = factory.wrap("root", server.clone());
        Self { state, clients: ServiceAccountClients::new(factory, root, clock), server, log, client: None }
    }

    /// Makes the client; its own requests go to the same server.
    async fn start(&mut self) -> Result<(), ServiceAccountError> {
        self.client = Some(self.clients.wrap("node-controller", self.server.clone()).await?);
        Ok(())
    }

    /// Sends a request and says what it carried.
    async fn sent(&self) -> Asked {
        let nodes: Api<Node> = Api::all(self.client.clone().unwrap());
        drop(nodes.get("n").await);
        self.log.all().pop().unwrap()
    }

    async fn bearer(&self) -> String {
        bearer(&self.sent().await)
    }

    fn asked(&self) -> Vec<String> {
        let line = |asked: &Asked| format!("{} {}", asked.method, asked.path.trim_start_matches(ACCOUNTS));
        self.log.all().iter().map(line).collect()
    }

    /// Time passes, and what is due gets done.
    async fn pass(&self, time: Duration) {
        sleep(time).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_account_is_created_and_its_token_is_what_requests_carry() {
    let mut world = World::new(State::default());
    world.start().await.unwrap();
    assert_eq!(world.asked(), ["GET /node-controller", "POST ", "POST /node-controller/token"]);
    let asked = world.log.all();
    assert_eq!(asked[1].body["metadata"], json!({"name": "node-controller", "namespace": "kube-system"}));
    assert_eq!(asked[2].body["spec"]["expirationSeconds"], 3_600);
    let sent = world.sent().await;
    assert_eq!((sent.path.as_str(), bearer(&sent).as_str()), ("/api/v1/nodes/n", "Bearer token-1"));
    assert!(sent.headers["authorization"].is_sensitive(), "or it would be shown wherever headers are");
    let agent = sent.headers["user-agent"].to_str().unwrap();
    assert!(agent.ends_with("/system:serviceaccount:kube-system:node-controller"), "{agent}");
}

#[tokio::test(start_paused = true)]
async fn an_existing_account_is_used_as_it_is() {
    let mut world = World::new(State { exists: true, ..State::default() });
    world.start().await.unwrap();
    assert_eq!(world.asked(), ["GET /node-controller", "POST /node-controller/token"]);
}

#[tokio::test(start_paused = true)]
async fn an_account_that_another_replica_creates_at_the_same_moment_is_used() {
    let mut world = World::new(State { raced: true, ..State::default() });
    let start = Instant::now();
    world.start().await.unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO, "without another try");
    assert_eq!(world.bearer().await, "Bearer token-1");
}

#[tokio::test(start_paused = true)]
async fn a_token_is_renewed_when_a_fifth_of_its_life_remains_and_then_again() {
    let mut world = World::new(State::default());
    world.start().await.unwrap();
    world.pass(48 * 60 * SECOND - SECOND).await;
    assert_eq!(world.bearer().await, "Bearer token-1");
    world.pass(2 * SECOND).await;
    assert_eq!(world.bearer().await, "Bearer token-2");
    world.pass(48 * 60 * SECOND).await;
    assert_eq!(world.bearer().await, "Bearer token-3");
    assert_eq!(world.state.lock().issued, 3);
}

#[tokio::test(start_paused = true)]
async fn without_a_token_there_is_an_error_after_four_tries_that_names_the_rights_needed() {
    let mut world = World::new(State { failure: Some((403, "Forbidden")), ..State::default() });
    let start = Instant::now();
    let error = world.start().await.unwrap_err().to_string();
    assert_eq!(start.elapsed(), Duration::from_millis(500 + 1_000 + 2_000));
    assert_eq!(world.asked().iter().filter(|line| line.ends_with("/token")).count(), 4);
    for part in [
        "--use-service-account-credentials",
        "cannot request a token for ServiceAccount kube-system/node-controller",
        "not now",
        "\"get\" and \"create\" on resource \"serviceaccounts\"",
        "\"create\" on \"serviceaccounts/token\"",
    ] {
        assert!(error.contains(part), "{part} is missing in: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_passes_within_the_tries_is_not_told() {
    let mut world = World::new(State { failure: Some((503, "ServiceUnavailable")), ..State::default() });
    let state = Arc::clone(&world.state);
    let heal = async {
        sleep(SECOND).await;
        state.lock().failure = None;
    };
    let (started, ()) = tokio::join!(world.start(), heal);
    started.unwrap();
}

#[tokio::test(start_paused = true)]
async fn while_the_renewal_fails_the_old_token_stays_in_use_and_the_server_is_not_pressed() {
    let mut world = World::new(State::default());
    world.start().await.unwrap();
    world.state.lock().failure = Some((500, "InternalError"));
    let before = world.log.count();
    world.pass(58 * 60 * SECOND).await;
    let tries = world.asked()[before..].iter().filter(|line| line.ends_with("/token")).count();
    assert!((40..=80).contains(&tries), "four tries every half minute for ten minutes, not {tries}");
    assert_eq!(world.bearer().await, "Bearer token-1");
    world.state.lock().failure = None;
    world.pass(PAUSE + 4 * SECOND).await;
    assert_eq!(world.bearer().await, "Bearer token-2");
}

#[tokio::test(start_paused = true)]
async fn a_token_that_the_server_refuses_is_replaced_soon_but_not_with_every_refusal() {
    let mut world = World::new(State::default());
    world.start().await.unwrap();
    world.pass(600 * SECOND).await;
    world.state.lock().refused_tokens = vec!["Bearer token-1".into(), "Bearer token-2".into()];
    world.sent().await;
    world.pass(SECOND).await;
    assert_eq!(world.bearer().await, "Bearer token-2");
    for _ in 0..20 {
        world.sent().await;
        world.pass(SECOND).await;
    }
    assert_eq!(world.state.lock().issued, 2);
    world.pass(PAUSE).await;
    assert_eq!(world.bearer().await, "Bearer token-3");
}

#[tokio::test(start_paused = true)]
async fn an_account_that_was_deleted_comes_back_with_the_next_token() {
    let mut world = World::new(State::default());
    world.start().await.unwrap();
    world.state.lock().exists = false;
    world.pass(49 * 60 * SECOND).await;
    assert!(world.state.lock().exists);
}

#[tokio::test(start_paused = true)]
async fn the_renewal_ends_with_the_last_client_and_not_before() {
    let mut world = World::new(State::default());
    world.start().await.unwrap();
    let clone = world.client.clone();
    world.client = None;
    world.pass(49 * 60 * SECOND).await;
    assert_eq!(world.state.lock().issued, 2, "a clone is still there");
    drop(clone);
    advance(SECOND).await;
    let before = world.log.count();
    world.pass(24 * 3_600 * SECOND).await;
    assert_eq!(world.log.count(), before);
}

#[tokio::test(start_paused = true)]
async fn no_debug_output_shows_a_token() {
    let world = World::new(State::default());
    let shown = format!("{:?} {:?}", world.clients, world.clients.factory);
    assert!(!shown.contains("root-token"), "{shown}");
}

/// Answers one request on a real socket and returns what came over the wire.
fn answer_one(listener: &TcpListener) -> String {
    let (mut stream, _) = listener.accept().unwrap();
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
        text.extend(byte);
    }
    let node = r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}"#;
    write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{node}", node.len()).unwrap();
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn a_real_client_sends_its_own_token_and_nothing_of_the_root_identity() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let mut world = World::new(State::default());
    world.clients.factory = factory(&address);
    let server = std::thread::spawn(move || answer_one(&listener));
    let client = world.clients.client("node-controller").await.unwrap();
    Api::<Node>::all(client).get("n").await.unwrap();
    let wire = server.join().unwrap().to_lowercase();
    assert_eq!(wire.matches("authorization:").count(), 1, "{wire}");
    assert!(wire.contains("authorization: bearer token-1\r\n"), "{wire}");
    let config = without_identity(&certified());
    assert_eq!(serde_json::to_value(&config.auth_info).unwrap(), json!({}));
    assert_eq!(config.root_cert, certified().root_cert, "the server is still checked");
}

/// A root identity with everything that an identity can have.
fn certified() -> Config {
    let mut config = Config::new("https://api.example:6443".parse().unwrap());
    config.root_cert = Some(vec![vec![1, 2, 3]]);
    config.auth_info = serde_json::from_value(json!({
        "client-certificate-data": "YQ==", "client-key-data": "Yg==", "as": "admin", "tokenFile": "/token", "token": "t",
    }))
    .unwrap();
    config
}
